// The daemon's limits as settings, with defaults. docs/protocol.md#limits says what happens beyond
// each.

#ifndef COPPICE_SERVER_DAEMON_CONFIG_LIMITS_H_
#define COPPICE_SERVER_DAEMON_CONFIG_LIMITS_H_

#include <grpcpp/server_builder.h>

#include <cstdint>

#include "server/curator/studies/studies.h"
#include "server/serving/reports/load_limits.h"
#include "server/store/models/models.h"

namespace CLI {
class App;
}

namespace coppice::daemon {

struct DaemonLimits {
  uint64_t max_message_bytes = uint64_t{64} << 20;
  uint64_t max_queued_bytes = uint64_t{64} << 20;
  uint64_t max_stream_bytes = uint64_t{256} << 20;
  uint64_t max_streams = 4096;
  uint64_t max_transport_bytes = uint64_t{1} << 30;
  uint64_t max_answer_bytes = uint64_t{256} << 20;
  uint64_t max_connection_age = 3600;  // seconds
  uint64_t connection_grace = 3600;    // seconds; as long as the longest call of one request
  uint64_t max_report_rate = 0;        // per study and second; 0: no limit
  uint64_t max_model_bytes = models::kMaxModelBytes;  // of one model's message
  uint64_t model_cache_bytes = models::Models::kDefaultCacheBytes;
  curator::SpoolLimits spool{};

  curator::StudiesLimits OfStudies() const {
    return {
        .queued_bytes = max_queued_bytes, .reports_per_second = max_report_rate, .spool = spool};
  }
  service::LoadLimits OfStreams() const {
    return {.max_streams = max_streams, .max_stream_bytes = max_stream_bytes};
  }
};

void AddLimitFlags(CLI::App& app, DaemonLimits& limits);

// Sets the limits that gRPC enforces.
void SetTransportLimits(const DaemonLimits& limits, grpc::ServerBuilder& builder);

}  // namespace coppice::daemon

#endif  // COPPICE_SERVER_DAEMON_CONFIG_LIMITS_H_
