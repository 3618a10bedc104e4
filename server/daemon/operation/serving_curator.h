// A loaded curator at work.

#ifndef COPPICE_SERVER_DAEMON_OPERATION_SERVING_CURATOR_H_
#define COPPICE_SERVER_DAEMON_OPERATION_SERVING_CURATOR_H_

#include <prometheus/registry.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/process/log.h"
#include "common/process/readiness.h"
#include "common/serving/certificates.h"
#include "common/serving/metrics_page.h"
#include "server/access/access_control.h"
#include "server/daemon/config/flags.h"
#include "server/daemon/operation/daemon_context.h"
#include "server/daemon/operation/loaded_curator.h"
#include "server/daemon/operation/standby_alarm.h"
#include "server/daemon/operation/status_report.h"
#include "server/daemon/operation/study_sweeper.h"
#include "server/daemon/transport/server.h"
#include "server/metrics/call_metrics.h"

namespace coppice::daemon {

// All of it must outlive the curator that serves.
struct ServingOptions {
  const DaemonFlags& flags;
  std::string listen;
  Certificates* certificates = nullptr;           // null: no TLS
  const access::AccessControl* access = nullptr;  // null: whoever reaches it may call everything
  HttpOptions http{};                             // by default none
  bool behind_fronts = false;                     // as in ServerOptions
  rpc::AnswerCheck may_answer{};                  // likewise
  std::function<void(bool ready)> tell_ready{};   // besides health checks
  std::optional<FleetLead> lead{};                // none: it is in no fleet
};

// The server of a curator, with its upkeep, its readiness and its page of metrics.
//
// Guarantee  the start and the stop are in the audit log. Stop() answers what was accepted.
// Errors     Unavailable if an address cannot be had; those of the audit log.
// Threads    for one, but for what it starts.
class ServingCurator {
 public:
  // `curator` and `log` must outlive it.
  static absl::StatusOr<std::unique_ptr<ServingCurator>> Start(const ServingOptions& options,
                                                               const LoadedCurator& curator,
                                                               const Log& log);

  ~ServingCurator();
  ServingCurator(const ServingCurator&) = delete;
  ServingCurator& operator=(const ServingCurator&) = delete;

  int port() const { return server_->port(); }

  // Waits for jobs that run and calls that are left, for some seconds. Once.
  void Stop();

 private:
  ServingCurator(const ServingOptions& options, const LoadedCurator& curator, const Log& log);

  const LoadedCurator& curator_;
  const Log& log_;
  const std::unique_ptr<StandbyAlarm> standby_alarm_;
  const DaemonContext daemon_;
  const StudySweeper upkeep_;
  const std::shared_ptr<prometheus::Registry> registry_ = std::make_shared<prometheus::Registry>();
  metrics::CallMetrics call_metrics_{*registry_, ServedMethods()};
  PeerCalls peers_;
  StatusReport status_;
  // The status reads it, so it is there until the server is gone; it is stopped before.
  std::unique_ptr<Readiness> readiness_;
  std::unique_ptr<DaemonServer> server_;
  std::unique_ptr<metrics::MetricsPage> metrics_;
};

}  // namespace coppice::daemon

#endif  // COPPICE_SERVER_DAEMON_OPERATION_SERVING_CURATOR_H_
