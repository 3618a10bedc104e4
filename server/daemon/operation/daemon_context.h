// The daemon's self-test, readiness checks and metrics.

#ifndef COPPICE_SERVER_DAEMON_OPERATION_DAEMON_CONTEXT_H_
#define COPPICE_SERVER_DAEMON_OPERATION_DAEMON_CONTEXT_H_

#include <prometheus/registry.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "server/daemon/config/options.h"
#include "server/daemon/operation/standby_alarm.h"
#include "server/daemon/transport/server.h"
#include "server/process/certificates.h"
#include "server/process/log.h"
#include "server/process/metrics_page.h"
#include "server/process/readiness.h"
#include "server/store/store.h"

namespace coppice::daemon {

// All of it must outlive whatever is made from it.
struct DaemonContext {
  const StoreOptions& location;
  storage::Store& store;
  const Curator& curator;
  const Certificates* certificates;             // null without TLS
  const StandbyAlarm* standby_alarm = nullptr;  // null unless the store is a database
};

// Runs the start-up self-test. Logs each failure, and success. FailedPrecondition if any part
// failed.
Status RunStartupSelfTest(const DaemonContext& daemon, absl::Duration clock_tolerance,
                          const Log& log);

std::vector<ReadinessCheck> ReadinessChecks(const DaemonContext& daemon);

// The names of all served methods: "coppice.v1.StudyService/GetOffer" and so on.
std::vector<std::string> ServedMethods();

// Serves the page of `registry` and of the readings of `daemon` and `readiness`. Null unless
// --metrics-listen is set.
StatusOr<std::unique_ptr<metrics::MetricsPage>> ServeMetrics(
    const MetricsOptions& options, const DaemonContext& daemon, const Readiness& readiness,
    std::shared_ptr<prometheus::Registry> registry);

// Serves the page of a curator that stands by in its fleet. Null unless --metrics-listen is set.
StatusOr<std::unique_ptr<metrics::MetricsPage>> ServeStandbyMetrics(const MetricsOptions& options,
                                                                    std::function<bool()> can_lead);

}  // namespace coppice::daemon

#endif  // COPPICE_SERVER_DAEMON_OPERATION_DAEMON_CONTEXT_H_
