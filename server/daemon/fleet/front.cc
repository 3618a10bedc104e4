#include "server/daemon/fleet/front.h"

#include <grpc/grpc.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/impl/server_builder_option.h>
#include <grpcpp/impl/server_builder_plugin.h>

#include <algorithm>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/time/clock.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "server/daemon/fleet/forwarded_call.h"
#include "server/daemon/fleet/http_sender.h"
#include "server/daemon/fleet/leader_gate.h"
#include "server/daemon/fleet/leader_link.h"
#include "server/daemon/transport/bounds.h"
#include "server/http/server.h"
#include "server/process/connections.h"
#include "server/serving/access/bearer_token.h"
#include "server/serving/access/method_table.h"
#include "server/serving/gate/access_gate.h"
#include "server/serving/gate/byte_load.h"

namespace coppice::daemon {
namespace {

constexpr char kReadyService[] = "ready";
constexpr absl::Duration kIdleGrace = absl::Milliseconds(200);

// A leader of another version may have methods missing from this table; it sets their deadlines.
absl::Duration ForwardingDeadlineOf(std::string_view path) {
  const access::Method* const method = access::FindMethod(path);
  return method == nullptr ? absl::InfiniteDuration() : method->deadline;
}

// Removes reflection, which a process gives all its servers once one of them wants it. Here the
// leader answers it, to callers whom the policy lets ask.
class WithoutPlugins final : public grpc::ServerBuilderOption {
 public:
  void UpdateArguments(grpc::ChannelArguments* /*arguments*/) override {}
  void UpdatePlugins(std::vector<std::unique_ptr<grpc::ServerBuilderPlugin>>* plugins) override {
    plugins->clear();
  }
};

class GrpcFront final : public Front, private grpc::CallbackGenericService {
 public:
  explicit GrpcFront(const FrontOptions& options)
      : limits_(options.limits),
        gate_(options.log),
        credentials_(
            MakePeerCredentials(options.peer_ca_pem, options.certificate_pem, options.key_pem)) {}

  Status Listen(const FrontOptions& options) {
    if (!options.http.listen.empty()) {
      COPPICE_ASSIGN_OR_RETURN(http_secret_, access::MakeBearerToken());
      http_secret_hash_ = access::HashOfToken(http_secret_);
    }
    grpc::EnableDefaultHealthCheckService(true);
    grpc::ServerBuilder builder;
    // Without this two processes would share a port, and each would see half of the calls.
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    SetTransportLimits(limits_, builder);
    SetConnectionLimits(builder);
    builder.AddListeningPort(options.listen,
                             options.certificates == nullptr ? grpc::InsecureServerCredentials()
                                                             : ServeWith(*options.certificates),
                             &port_);
    builder.RegisterCallbackGenericService(this);
    builder.SetOption(std::make_unique<WithoutPlugins>());
    server_ = builder.BuildAndStart();
    if (server_ == nullptr || port_ == 0) {
      return UnavailableError(
          StrCat("--listen ", options.listen,
                 ": cannot be had. Is another process on this port, or the address "
                 "of another machine? Port 0 takes a free port"));
    }
    SetReady(false);
    return options.http.listen.empty() ? OkStatus() : ListenToHttp(options);
  }

  int port() const override { return port_; }
  int http_port() const override { return http_ == nullptr ? 0 : http_->port(); }

  void SetLeader(const std::string& address) override {
    const MutexLock lock(mutex_);
    if (address == leader_) return;
    leader_ = address;
    Connect();
  }

  bool ReachesLeader() const override { return gate_.ReachesLeader(); }

  void SetReady(bool ready) override {
    if (auto* health = server_->GetHealthCheckService()) {
      health->SetServingStatus(kReadyService, ready);
    }
  }

  void Replace(const std::string& peer_ca_pem, const std::string& certificate_pem,
               const std::string& key_pem) override {
    const MutexLock lock(mutex_);
    credentials_ = MakePeerCredentials(peer_ca_pem, certificate_pem, key_pem);
    Connect();
  }

  void Stop(absl::Duration grace) override {
    if (auto* health = server_->GetHealthCheckService()) health->Shutdown();
    if (http_ != nullptr) http_->Drain();
    gate_.Stop();
    // Without calls, do not wait for connections: an idle client may take 5 s to close its own.
    if (!gate_.has_calls()) grace = std::min(grace, kIdleGrace);
    const absl::Time last = absl::Now() + grace;
    server_->Shutdown(absl::ToChronoTime(last));
    if (http_ != nullptr) http_->Stop(last);
  }

 private:
  Status ListenToHttp(const FrontOptions& options) {
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(-1);
    arguments.SetMaxSendMessageSize(-1);
    sender_ = std::make_unique<HttpSender>(server_->InProcessChannel(arguments), http_secret_);
    COPPICE_ASSIGN_OR_RETURN(http_, StartHttp(options.http, options.certificates, limits_,
                                              {.methods = methods_,
                                               .gate = open_gate_,
                                               .answers = answers_,
                                               .sender = sender_.get()}));
    return OkStatus();
  }

  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* context) override {
    auto* const call = new ForwardedCall(gate_, bounds_, *context, http_secret_hash_);
    gate_.Admit(*call);
    return call;
  }

  void Connect() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    gate_.SetLeader(leader_.empty() ? nullptr
                                    : std::make_shared<LeaderLink>(leader_, credentials_, limits_));
  }

  const DaemonLimits limits_;
  calls::ByteLoad answers_{limits_.max_answer_bytes};
  CallBounds bounds_{answers_, ForwardingDeadlineOf};
  LeaderGate gate_;
  Mutex mutex_;
  std::string leader_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<grpc::ChannelCredentials> credentials_ ABSL_GUARDED_BY(mutex_);
  // For calls over HTTP. Only the leader judges access.
  std::string http_secret_;
  std::optional<Sha256Digest> http_secret_hash_;
  const std::deque<service::RegisteredMethod> methods_ = MethodsWithoutHandlers();
  calls::AccessGate open_gate_{nullptr};
  std::unique_ptr<HttpSender> sender_;
  // Destroyed first: their calls use all of the above.
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<http::Server> http_;
  int port_ = 0;
};

}  // namespace

StatusOr<std::unique_ptr<Front>> Front::Start(const FrontOptions& options) {
  auto front = std::make_unique<GrpcFront>(options);
  const Status status = front->Listen(options);
  if (!status.ok()) return status;
  return front;
}

}  // namespace coppice::daemon
