#include "server/process/connections.h"

#include <grpc/grpc.h>
#include <sys/resource.h>

namespace coppice {
namespace {

constexpr int kSecond = 1000;
constexpr int kMinute = 60 * kSecond;

}  // namespace

// gRPC checks a message's size before it decompresses it, and a megabyte may decompress to a
// gigabyte. Honest clients do not compress, so a compressed call is UNIMPLEMENTED.
void RefuseCompression(grpc::ServerBuilder& builder) {
  builder.AddChannelArgument(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0);
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_DEFLATE, false);
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_GZIP, false);
}

void SetConnectionLimits(grpc::ServerBuilder& builder) {
  RefuseCompression(builder);
  // Time from accepting to the client's HTTP/2 settings, TLS included. gRPC's default of 2 minutes
  // lets stalling clients hold six times as many connections.
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, 20 * kSecond);
  // Open calls per connection; a client queues further ones. Without a limit one connection could
  // open calls until memory is exhausted: each takes about 16 kB before its first message.
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, 128);
  // All headers of a call together. A bearer token is 51 bytes.
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, 8 << 10);
  // A connection without calls is closed; clients make a new one when they call again.
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, 5 * kMinute);
  // A connection with calls must answer pings, even if no data flows (WatchJob): otherwise a device
  // that lost its network would hold its stream for gRPC's default of 2 hours.
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kMinute);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 20 * kSecond);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
}

void RaiseFileLimit() {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);  // on failure the limit stays
}

}  // namespace coppice
