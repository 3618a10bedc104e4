#include "server/daemon/transport/fronts.h"

#include <grpc/grpc.h>
#include <grpc/grpc_security_constants.h>
#include <grpcpp/security/auth_context.h>
#include <grpcpp/server_context.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "server/process/connections.h"

namespace coppice::daemon {
namespace {

using grpc::experimental::InterceptionHookPoints;

void NoteFront(const grpc::AuthContext& connection, PeerCalls& peers) {
  if (!connection.IsPeerAuthenticated()) return;
  const std::vector<grpc::string_ref> shown =
      connection.FindPropertyValues(GRPC_X509_PEM_CERT_PROPERTY_NAME);
  if (!shown.empty()) peers.Note({shown[0].data(), shown[0].size()});
}

class AnswerMarker final : public grpc::experimental::Interceptor {
 public:
  AnswerMarker(const grpc::ServerContextBase& context, PeerCalls* peers)
      : context_(context), peers_(peers) {}

  void Intercept(grpc::experimental::InterceptorBatchMethods* call) override {
    if (peers_ != nullptr &&
        call->QueryInterceptionHookPoint(InterceptionHookPoints::POST_RECV_INITIAL_METADATA)) {
      NoteFront(*context_.auth_context(), *peers_);
    }
    if (call->QueryInterceptionHookPoint(InterceptionHookPoints::PRE_SEND_STATUS)) {
      call->GetSendTrailingMetadata()->emplace(kAnsweredKey, "1");
    }
    call->Proceed();
  }

 private:
  const grpc::ServerContextBase& context_;  // outlives this object
  PeerCalls* const peers_;
};

class MarkerFactory final : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  explicit MarkerFactory(PeerCalls* peers) : peers_(peers) {}

  grpc::experimental::Interceptor* CreateServerInterceptor(
      grpc::experimental::ServerRpcInfo* info) override {
    return new AnswerMarker(*info->server_context(), peers_);
  }

 private:
  PeerCalls* const peers_;
};

}  // namespace

std::optional<Sha256Digest> ForwardedCertificate(
    const std::multimap<grpc::string_ref, grpc::string_ref>& metadata) {
  Sha256Digest digest;
  const auto found = metadata.find(kClientCertificateKey);
  if (found == metadata.end() || metadata.count(kClientCertificateKey) > 1) return std::nullopt;
  if (found->second.size() != digest.size()) return std::nullopt;
  std::copy(found->second.begin(), found->second.end(), digest.begin());
  return digest;
}

std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> MarkAnswers(
    PeerCalls* peers) {
  return std::make_unique<MarkerFactory>(peers);
}

void SetLimitsBehindFronts(const DaemonLimits& limits, grpc::ServerBuilder& builder) {
  constexpr uint64_t kWeek = 7 * 24 * 60 * 60;
  // Calls end with their clients' connections; a second age here would end them earlier.
  DaemonLimits lasting = limits;
  lasting.max_connection_age = kWeek;
  lasting.connection_grace = kWeek;
  SetTransportLimits(lasting, builder);
  RefuseCompression(builder);
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, 20 * 1000);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, std::numeric_limits<int>::max());
  // A client's 8 KiB, and the front's additions.
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, 16 << 10);
  // Fronts often check that this curator is alive, also without calls under way.
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 500);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 10 * 1000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10 * 1000);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
}

}  // namespace coppice::daemon
