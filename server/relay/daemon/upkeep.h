// What coppice-relay looks at of itself: the self-test at its start, its readiness, its metrics.

#ifndef COPPICE_SERVER_RELAY_DAEMON_UPKEEP_H_
#define COPPICE_SERVER_RELAY_DAEMON_UPKEEP_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/process/log.h"
#include "common/process/readiness.h"
#include "common/serving/certificates.h"
#include "common/serving/metrics_page.h"
#include "common/study/signature.h"
#include "server/relay/daemon/flags.h"
#include "server/relay/daemon/relay_server.h"
#include "server/relay/dealing/relay.h"

namespace coppice::relay {

// A line in the log for each failure, and one for the whole. FailedPrecondition if there was any.
absl::Status RunRelaySelfTest(const std::string& data_dir, const SigningKey& key, const Log& log);

// All of it must outlive what is made from it.
struct RelayParts {
  const RelayFlags& flags;
  const Relay& relay;
  const RelayServer& server;
  const Certificates* certificates;  // null without TLS
};

std::vector<ReadinessCheck> RelayReadinessChecks(const RelayParts& parts);

// Totals by study and outcome: nothing about one report, one device or one ticket. Null if no page
// is asked for.
absl::StatusOr<std::unique_ptr<metrics::MetricsPage>> ServeRelayMetrics(const RelayParts& parts,
                                                                        const Readiness& readiness);

}  // namespace coppice::relay

#endif  // COPPICE_SERVER_RELAY_DAEMON_UPKEEP_H_
