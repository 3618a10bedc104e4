// The daemon's self-test, readiness and metrics, each put together from what there is to look at.

#ifndef COPPICE_SERVER_DAEMON_OPERATION_DAEMON_CONTEXT_H_
#define COPPICE_SERVER_DAEMON_OPERATION_DAEMON_CONTEXT_H_

#include <prometheus/registry.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/process/log.h"
#include "common/process/readiness.h"
#include "common/serving/certificates.h"
#include "common/serving/metrics_page.h"
#include "server/daemon/config/flags.h"
#include "server/daemon/operation/standby_alarm.h"
#include "server/daemon/transport/server.h"
#include "server/storage/store.h"

namespace coppice::daemon {

// All of it must outlive what is made from it.
struct DaemonContext {
  const DaemonFlags& flags;
  storage::Store& store;
  const Curator& curator;
  const Certificates* certificates;             // null without TLS
  const StandbyAlarm* standby_alarm = nullptr;  // null unless the store is in a database
};

// The start-up self-test: a line in the log for each failure, and one for the whole.
// FailedPrecondition if there was any.
absl::Status RunStartupSelfTest(const DaemonContext& daemon, const Log& log);

std::vector<ReadinessCheck> ReadinessChecks(const DaemonContext& daemon);

// "coppice.v1.StudyService/GetOffer" and so on: all that is served.
std::vector<std::string> ServedMethods();

// The page of everything in `registry` and of what is read off `daemon` and `readiness`. Null if
// none is asked for.
absl::StatusOr<std::unique_ptr<metrics::MetricsPage>> ServeMetrics(
    const DaemonContext& daemon, const Readiness& readiness,
    std::shared_ptr<prometheus::Registry> registry);

// The page of a curator of a fleet that does not lead. Null if none is asked for.
absl::StatusOr<std::unique_ptr<metrics::MetricsPage>> ServeFollowerMetrics(
    const DaemonFlags& flags, std::function<bool()> reaches_leader);

}  // namespace coppice::daemon

#endif  // COPPICE_SERVER_DAEMON_OPERATION_DAEMON_CONTEXT_H_
