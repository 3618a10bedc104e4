// How coppice-relay watches itself: the self-test at its start, its readiness, its metrics.

#ifndef COPPICE_SERVER_RELAY_DAEMON_UPKEEP_H_
#define COPPICE_SERVER_RELAY_DAEMON_UPKEEP_H_

#include <memory>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/terms/signature.h"
#include "server/process/certificates.h"
#include "server/process/log.h"
#include "server/process/metrics_page.h"
#include "server/process/readiness.h"
#include "server/relay/daemon/flags.h"
#include "server/relay/daemon/relay_server.h"
#include "server/relay/dealing/relay.h"

namespace coppice::relay {

// Logs a line for each failure and one for the result. FailedPrecondition if any test failed.
Status RunRelaySelfTest(const std::string& data_dir, const SigningKey& key, const Log& log);

// These must outlive everything that is made from them.
struct RelayParts {
  const RelayFlags& flags;
  const Relay& relay;
  const RelayServer& server;
  const Certificates* certificates;  // null without TLS
};

std::vector<ReadinessCheck> RelayReadinessChecks(const RelayParts& parts);

// Serves totals by study and outcome, and nothing about one report, one device or one ticket. Null
// if the flags ask for no page.
StatusOr<std::unique_ptr<metrics::MetricsPage>> ServeRelayMetrics(const RelayParts& parts,
                                                                  const Readiness& readiness);

}  // namespace coppice::relay

#endif  // COPPICE_SERVER_RELAY_DAEMON_UPKEEP_H_
