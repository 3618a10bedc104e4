// Serves a loaded curator.

#ifndef COPPICE_SERVER_DAEMON_OPERATION_SERVING_CURATOR_H_
#define COPPICE_SERVER_DAEMON_OPERATION_SERVING_CURATOR_H_

#include <prometheus/registry.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "common/base/status.h"
#include "server/daemon/config/flags.h"
#include "server/daemon/operation/daemon_context.h"
#include "server/daemon/operation/loaded_curator.h"
#include "server/daemon/operation/standby_alarm.h"
#include "server/daemon/operation/status_report.h"
#include "server/daemon/operation/study_sweeper.h"
#include "server/daemon/transport/server.h"
#include "server/process/certificates.h"
#include "server/process/log.h"
#include "server/process/metrics_page.h"
#include "server/process/readiness.h"
#include "server/serving/access/access_control.h"
#include "server/serving/metrics/call_metrics.h"

namespace coppice::daemon {

// All of it must outlive the serving curator.
struct ServingOptions {
  const DaemonFlags& flags;
  std::string listen;
  Certificates* certificates = nullptr;           // null: no TLS
  const access::AccessControl* access = nullptr;  // null: every caller may do everything
  HttpOptions http{};                             // default: none
  bool behind_fronts = false;                     // as in ServerOptions
  rpc::AnswerCheck may_answer{};                  // as in ServerOptions
  std::function<void(bool ready)> tell_ready{};   // told in addition to health checks
  std::optional<FleetLead> lead{};                // none: not in a fleet
};

// The server of a curator, with its sweeper, its readiness checks and its metrics page.
//
// Guarantee  The audit log records the start and the stop. Stop() answers what was accepted.
// Errors     Unavailable if an address cannot be used; those of the audit log.
// Threads    one at a time; it starts threads of its own.
class ServingCurator {
 public:
  // `curator` and `log` must outlive it.
  static StatusOr<std::unique_ptr<ServingCurator>> Start(const ServingOptions& options,
                                                         const LoadedCurator& curator,
                                                         const Log& log);

  ~ServingCurator();
  ServingCurator(const ServingCurator&) = delete;
  ServingCurator& operator=(const ServingCurator&) = delete;

  int port() const { return server_->port(); }

  // Waits some seconds for running jobs and remaining calls. Call it once.
  void Stop();

 private:
  ServingCurator(const ServingOptions& options, const LoadedCurator& curator, const Log& log);

  const LoadedCurator& curator_;
  const Log& log_;
  const std::unique_ptr<StandbyAlarm> standby_alarm_;
  const DaemonContext daemon_;
  const StudySweeper sweeper_;
  const std::shared_ptr<prometheus::Registry> registry_ = std::make_shared<prometheus::Registry>();
  metrics::CallMetrics call_metrics_{*registry_, ServedMethods()};
  PeerCalls peers_;
  StatusReport status_;
  // The status reads it, so it lives longer than the server; Stop() stops it earlier.
  std::unique_ptr<Readiness> readiness_;
  std::unique_ptr<DaemonServer> server_;
  std::unique_ptr<metrics::MetricsPage> metrics_;
};

}  // namespace coppice::daemon

#endif  // COPPICE_SERVER_DAEMON_OPERATION_SERVING_CURATOR_H_
