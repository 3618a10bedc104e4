// The daemon's limits. docs/protocol.md#limits says what happens beyond each.

#ifndef COPPICE_SERVER_DAEMON_CONFIG_LIMITS_H_
#define COPPICE_SERVER_DAEMON_CONFIG_LIMITS_H_

#include <grpcpp/server_builder.h>

#include <cstdint>

#include "absl/time/time.h"
#include "server/curator/studies/studies.h"
#include "server/serving/reports/load_limits.h"
#include "server/store/models/models.h"

namespace CLI {
class App;
}

namespace coppice::daemon {

// What gRPC and HTTP hold for connections and calls. Only the largest message is a setting: the
// rest follows from what clients do, and no operator has had a reason to change it.
struct TransportLimits {
  uint64_t max_message_bytes = uint64_t{64} << 20;
  uint64_t max_streams = 4096;                       // of reports
  uint64_t max_stream_bytes = uint64_t{256} << 20;   // of all report streams together
  uint64_t max_transport_bytes = uint64_t{1} << 30;  // of all connections together
  uint64_t max_answer_bytes = uint64_t{256} << 20;   // of large answers that wait to be read
  absl::Duration connection_age = absl::Hours(1);    // then it takes no further calls
  absl::Duration connection_grace = absl::Hours(1);  // as long as the longest call of one request

  service::LoadLimits OfStreams() const {
    return {.max_streams = max_streams, .max_stream_bytes = max_stream_bytes};
  }
};

// What a curator holds for reports and models.
struct CuratorLimits {
  uint64_t max_queued_bytes = uint64_t{64} << 20;
  uint64_t max_report_rate = 0;                       // per study and second; 0: no limit
  uint64_t max_model_bytes = models::kMaxModelBytes;  // of one model's message
  uint64_t model_cache_bytes = models::Models::kDefaultCacheBytes;
  uint64_t training_memory = 0;  // of each job; 0: a part of the machine's (MemoryForTraining())
  curator::SpoolLimits spool{};

  curator::StudiesLimits OfStudies() const {
    return {
        .queued_bytes = max_queued_bytes, .reports_per_second = max_report_rate, .spool = spool};
  }
};

void AddLimitFlags(CLI::App& app, TransportLimits& transport, CuratorLimits& limits);

// Sets the limits that gRPC enforces.
void SetTransportLimits(const TransportLimits& limits, grpc::ServerBuilder& builder);

}  // namespace coppice::daemon

#endif  // COPPICE_SERVER_DAEMON_CONFIG_LIMITS_H_
