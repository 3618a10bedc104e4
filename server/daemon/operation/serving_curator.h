// Serves a loaded curator.

#ifndef COPPICE_SERVER_DAEMON_OPERATION_SERVING_CURATOR_H_
#define COPPICE_SERVER_DAEMON_OPERATION_SERVING_CURATOR_H_

#include <prometheus/registry.h>

#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "server/daemon/config/options.h"
#include "server/daemon/operation/curator_state.h"
#include "server/daemon/operation/daemon_context.h"
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
  const StoreOptions& store;
  const WebOptions& web;
  const MetricsOptions& metrics;
  RateLimit tickets;
  TransportLimits transport;
  uint64_t max_model_bytes;
  std::string listen;
  Certificates* certificates = nullptr;           // null: no TLS
  const access::AccessControl* access = nullptr;  // null: every caller may do everything
  HttpOptions http{};                             // default: none
  rpc::AnswerCheck may_answer{};                  // as in ServerOptions
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
                                                         const CuratorState& curator,
                                                         const Log& log);

  ~ServingCurator();
  ServingCurator(const ServingCurator&) = delete;
  ServingCurator& operator=(const ServingCurator&) = delete;

  int port() const { return server_->port(); }

  // Whether the curator still leads its fleet; true at first. Not ready while it does not, however
  // long the checks of readiness take.
  void SetLeads(bool leads);

  // Waits some seconds for running jobs and remaining calls. Call it once.
  void Stop();

 private:
  ServingCurator(const ServingOptions& options, const CuratorState& curator, const Log& log);

  void SetChecksPass(bool pass);

  const CuratorState& curator_;
  const Log& log_;
  const std::unique_ptr<StandbyAlarm> standby_alarm_;
  const DaemonContext daemon_;
  const StudySweeper sweeper_;
  const std::shared_ptr<prometheus::Registry> registry_ = std::make_shared<prometheus::Registry>();
  metrics::CallMetrics call_metrics_{*registry_, ServedMethods()};
  StatusReport status_;
  // The status reads it, so it lives longer than the server; Stop() stops it earlier.
  std::unique_ptr<Readiness> readiness_;
  std::unique_ptr<DaemonServer> server_;
  std::unique_ptr<metrics::MetricsPage> metrics_;
  Mutex mutex_;
  bool leads_ ABSL_GUARDED_BY(mutex_) = true;
  bool checks_pass_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace coppice::daemon

#endif  // COPPICE_SERVER_DAEMON_OPERATION_SERVING_CURATOR_H_
