#include "server/relay/daemon/relay_server.h"

#include <grpc/grpc.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/resource_quota.h>

#include "absl/time/clock.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "server/http/tls.h"
#include "server/process/connections.h"

namespace coppice::relay {
namespace {

constexpr int kConnectionGraceMs = 30'000;

void SetRelayLimits(const RelayServerOptions& options, grpc::ServerBuilder& builder) {
  SetConnectionLimits(builder);
  builder.SetMaxReceiveMessageSize(static_cast<int>(kMaxRequestBytes));
  grpc::ResourceQuota quota("coppice-relay");
  quota.Resize(options.max_transport_bytes);
  builder.SetResourceQuota(quota);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_MS,
                             static_cast<int>(options.max_connection_age * 1000));
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS, kConnectionGraceMs);
  // Without this, two relays would share a port, and each would get half of the calls.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
}

}  // namespace

RelayServer::RelayServer(const RelayServerOptions& options, Relay& relay, Admission& admission)
    : relay_(relay), calls_(relay, admission, options.limits) {}

RelayServer::~RelayServer() = default;

StatusOr<std::unique_ptr<RelayServer>> RelayServer::Start(const RelayServerOptions& options,
                                                          Relay& relay, Admission& admission) {
  std::unique_ptr<RelayServer> server(new RelayServer(options, relay, admission));
  grpc::ServerBuilder builder;
  SetRelayLimits(options, builder);
  builder.AddListeningPort(options.listen,
                           options.certificates == nullptr ? grpc::InsecureServerCredentials()
                                                           : ServeWith(*options.certificates),
                           &server->port_);
  server->service_.RegisterWith(builder);
  builder.RegisterService(&server->health_);
  server->server_ = builder.BuildAndStart();
  if (server->server_ == nullptr || server->port_ == 0) {
    return UnavailableError(StrCat("--listen ", options.listen,
                                   ": cannot listen there. Does another process use this port, or "
                                   "is it another machine's address? Port 0 picks a free port"));
  }
  if (!options.http.listen.empty()) COPPICE_RETURN_IF_ERROR(server->ListenToHttp(options));
  return server;
}

Status RelayServer::ListenToHttp(const RelayServerOptions& options) {
  http::ServerOptions http{.listen = options.http.listen,
                           .allowed_origins = options.http.allowed_origins,
                           .max_message_bytes = kMaxHttpRequestBytes,
                           .max_request_bytes = options.max_transport_bytes,
                           .max_connections = options.http.max_connections,
                           .max_connection_age = absl::Seconds(options.max_connection_age)};
  if (options.certificates != nullptr) {
    http.tls = http::MakeTlsSource(*options.certificates);
    if (http.tls() == nullptr) return InternalError("OpenSSL refuses the certificate");
  }
  COPPICE_ASSIGN_OR_RETURN(http_, http::Server::Start(http, http_methods_));
  return OkStatus();
}

void RelayServer::SetReady(bool ready) { health_.SetReady(ready); }

void RelayServer::Stop(absl::Duration grace) {
  health_.Stop();
  relay_.Drain();
  const absl::Time deadline = absl::Now() + grace;
  if (http_ != nullptr) http_->Drain();
  server_->Shutdown(absl::ToChronoTime(deadline));
  if (http_ != nullptr) http_->Stop(deadline);
}

}  // namespace coppice::relay
