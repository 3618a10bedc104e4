#include "server/daemon/transport/standby_server.h"

#include <grpc/grpc.h>
#include <grpcpp/grpcpp.h>

#include <chrono>

#include "absl/time/time.h"
#include "common/base/status.h"
#include "server/daemon/transport/server.h"
#include "server/process/connections.h"
#include "server/process/retry_after.h"
#include "server/serving/grpc/status_conversion.h"

namespace coppice::daemon {
namespace {

constexpr absl::Duration kRetryStandbyAfter = absl::Milliseconds(500);

// gRPC owns it; it deletes itself.
class RefusedCall final : public grpc::ServerGenericBidiReactor {
 public:
  explicit RefusedCall(grpc::GenericCallbackServerContext& context) {
    Finish(rpc::EndStatus(
        context,
        service::AskToWait(UnavailableError("this curator stands by while another one leads, or "
                                            "is about to lead: call again"),
                           kRetryStandbyAfter)));
  }

  void OnDone() override { delete this; }
};

}  // namespace

grpc::ServerGenericBidiReactor* StandbyServer::RefusingService::CreateReactor(
    grpc::GenericCallbackServerContext* context) {
  return new RefusedCall(*context);
}

StatusOr<std::unique_ptr<StandbyServer>> StandbyServer::Start(const std::string& listen,
                                                              Certificates* certificates,
                                                              const TransportLimits& limits) {
  std::unique_ptr<StandbyServer> standby(new StandbyServer);
  grpc::ServerBuilder builder;
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  TransportLimits brief = limits;
  brief.connection_age = absl::Seconds(5);
  brief.connection_grace = absl::Seconds(1);
  SetTransportLimits(brief, builder);
  SetConnectionLimits(builder);
  builder.AddListeningPort(
      listen,
      certificates == nullptr ? grpc::InsecureServerCredentials() : ServeWith(*certificates),
      &standby->port_);
  builder.RegisterService(&standby->health_);
  builder.RegisterCallbackGenericService(&standby->service_);
  standby->server_ = builder.BuildAndStart();
  if (standby->server_ == nullptr || standby->port_ == 0) return CannotListen(listen);
  return standby;
}

StandbyServer::~StandbyServer() {
  if (server_ != nullptr) server_->Shutdown(std::chrono::system_clock::now());
}

}  // namespace coppice::daemon
