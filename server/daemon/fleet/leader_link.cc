#include "server/daemon/fleet/leader_link.h"

#include <grpc/grpc.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/support/channel_arguments.h>

#include <utility>

namespace coppice::daemon {
namespace {

grpc::ChannelArguments ArgumentsOf(const DaemonLimits& limits) {
  grpc::ChannelArguments arguments;
  // The leader decides how large its answers are; requests were checked on arrival.
  arguments.SetMaxReceiveMessageSize(-1);
  arguments.SetMaxSendMessageSize(-1);
  arguments.SetInt(GRPC_ARG_MAX_METADATA_SIZE, 64 << 10);
  grpc::ResourceQuota quota("front");
  quota.Resize(limits.max_transport_bytes);
  arguments.SetResourceQuota(quota);
  // Keeps most data that a client does not read at the leader. gRPC's own estimate would let 30 MB
  // of each stream through over a fast line.
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  arguments.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, 256 << 10);
  // A connection of its own, not one that another channel left in back-off.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 3000);  // how long an attempt may take
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 2000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 2000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  // gRPC's own retries would hold requests until the leader answers.
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  // Keeps proxies and external settings out of connections between curators.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
  return arguments;
}

}  // namespace

LeaderLink::LeaderLink(std::string address,
                       const std::shared_ptr<grpc::ChannelCredentials>& credentials,
                       const DaemonLimits& limits)
    : address_(std::move(address)),
      channel_(grpc::CreateCustomChannel(address_, credentials, ArgumentsOf(limits))) {
  FindConnected();
}

std::shared_ptr<grpc::Channel> LeaderLink::FindConnected() const {
  return channel_->GetState(/*try_to_connect=*/true) == GRPC_CHANNEL_READY ? channel_ : nullptr;
}

std::shared_ptr<grpc::ChannelCredentials> MakePeerCredentials(const std::string& peer_ca_pem,
                                                              const std::string& certificate_pem,
                                                              const std::string& key_pem) {
  if (peer_ca_pem.empty()) return grpc::InsecureChannelCredentials();
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = peer_ca_pem;
  options.pem_private_key = key_pem;
  options.pem_cert_chain = certificate_pem;
  return grpc::SslCredentials(options);
}

}  // namespace coppice::daemon
