#include "server/daemon/transport/server.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <memory>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "server/daemon/transport/access.h"
#include "server/daemon/transport/bounds.h"
#include "server/daemon/transport/calls.h"
#include "server/http/server.h"
#include "server/http/tls.h"
#include "server/process/byte_load.h"
#include "server/process/connections.h"
#include "server/process/health_service.h"
#include "server/serving/access/method_table.h"
#include "server/serving/calls/audited_calls.h"
#include "server/serving/calls/handler_registry.h"
#include "server/serving/calls/worker_pool.h"
#include "server/serving/gate/token_use.h"
#include "server/serving/grpc/services.h"
#include "server/serving/http/calls.h"
#include "server/serving/reports/report_handlers.h"
#include "server/serving/service/handlers.h"

namespace coppice::daemon {
namespace {

constexpr size_t kMaxWaitingWork = 256;
constexpr size_t kMaxWaitingBuilds = 256;
constexpr size_t kMaxWaitingPreviews = 16;
// Every stream of reports may have a message waiting, and single calls are brief.
constexpr size_t kMaxWaitingOpenings = 8192;

std::shared_ptr<grpc::ServerCredentials> MakeCredentials(const ServerOptions& options,
                                                         calls::AccessGate& gate) {
  if (options.certificates == nullptr) return grpc::InsecureServerCredentials();
  std::shared_ptr<grpc::ServerCredentials> credentials = ServeWith(*options.certificates);
  if (options.access != nullptr) {
    credentials->SetAuthMetadataProcessor(MakeAccessProcessor(gate));
  }
  return credentials;
}

std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>> Interceptors(
    const calls::CallObservers& observers, CallBounds& bounds) {
  std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>> factories;
  factories.push_back(BoundCalls(bounds));
  if (observers.log != nullptr) factories.push_back(ObserveCalls(observers));
  return factories;
}

// `certificates`, null for none, must outlive it. Unavailable if the address cannot be used.
StatusOr<std::unique_ptr<http::Server>> StartHttp(const HttpOptions& options,
                                                  const Certificates* certificates,
                                                  const TransportLimits& limits,
                                                  http::Methods& methods) {
  http::ServerOptions http{.listen = options.listen,
                           .allowed_origins = options.allowed_origins,
                           .console = options.console,
                           .site = options.site,
                           .max_message_bytes = limits.max_message_bytes,
                           .max_request_bytes = limits.max_transport_bytes,
                           .max_connections = options.max_connections,
                           .max_connection_age = limits.connection_age};
  if (certificates != nullptr) {
    http.tls = http::MakeTlsSource(*certificates);
    if (http.tls() == nullptr) return InternalError("OpenSSL refuses the certificate");
  }
  return http::Server::Start(http, methods);
}

}  // namespace

class DaemonServer::Parts {
 public:
  Parts(const ServerOptions& options, const Curator& curator)
      : curator_(curator),
        limits_(options.limits),
        max_model_bytes_(options.max_model_bytes),
        limiter_(options.ticket_limits, absl::Now),
        access_(options.access),
        may_answer_(options.may_answer),
        status_(options.status),
        observers_{.log = options.log, .metrics = options.call_metrics},
        auditor_(curator.audit == nullptr
                     ? nullptr
                     : std::make_unique<service::CallAuditor>(
                           *curator.audit, [] { return absl::ToUnixSeconds(absl::Now()); })),
        gate_(options.access, {.on_refusal = EnterRefusals(), .on_use = NoteUses()},
              options.call_metrics),
        pool_(std::max(2u, std::thread::hardware_concurrency()), kMaxWaitingWork) {}

  Status Listen(const ServerOptions& options) {
    grpc::ServerBuilder builder;
    // Without this two daemons would share a port, and each would see half of the calls.
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    SetTransportLimits(limits_, builder);
    SetConnectionLimits(builder);
    builder.AddListeningPort(options.listen, MakeCredentials(options, gate_), &port_);
    builder.experimental().SetInterceptorCreators(Interceptors(observers_, bounds_));
    services_.RegisterWith(builder);
    builder.RegisterService(&health_);
    server_ = builder.BuildAndStart();
    if (server_ == nullptr || port_ == 0) {
      return CannotListen(options.listen);
    }
    return options.http.listen.empty() ? OkStatus() : ListenToHttp(options);
  }

  int port() const { return port_; }
  int http_port() const { return http_ == nullptr ? 0 : http_->port(); }

  void SetReady(bool ready) { health_.SetReady(ready); }

  void Stop(absl::Duration grace) {
    health_.Stop();
    const absl::Time deadline = absl::Now() + grace;
    for (service::WorkerPool* pool : {&pool_, &builds_, &previews_, &plans_, &evaluations_})
      pool->Drain();
    admin_.Drain();
    curator_.studies.Drain();
    curator_.evaluations.Drain();
    curator_.jobs.Drain(deadline);
    // Calls that arrived meanwhile get their answers even if jobs took all the time.
    const absl::Time last = std::max(deadline, absl::Now() + absl::Seconds(1));
    if (http_ != nullptr) http_->Drain();
    server_->Shutdown(absl::ToChronoTime(last));
    if (http_ != nullptr) http_->Stop(last);
  }

 private:
  Status ListenToHttp(const ServerOptions& options) {
    COPPICE_ASSIGN_OR_RETURN(http_,
                             StartHttp(options.http, options.certificates, limits_, http_methods_));
    return OkStatus();
  }

  service::HandlerRegistry MakeRegistry() {
    service::HandlerRegistry registry(guard_, auditor_.get());
    studies_.Register(registry);
    reports_.Register(registry);
    batches_.Register(registry);
    models_.Register(registry);
    datasets_.Register(registry);
    training_.Register(registry);
    admin_.Register(registry);
    return registry;
  }

  // The pool writes the first use of a day. If it is full, the next such write includes it.
  calls::UseObserver NoteUses() {
    if (access_ == nullptr) return {};
    return [this](absl::Span<const Sha256Digest> entries, absl::Time now) {
      if (!token_use_.Note(entries, now)) return;
      const auto write = [this] { token_use_.Write(*access_->policy()).IgnoreError(); };
      pool_.Run(write).IgnoreError();
    };
  }

  service::TokenLister ListTokens() {
    if (access_ == nullptr) return {};
    return [this] { return token_use_.Describe(*access_->policy()); };
  }

  // The pool writes, because this is a transport's own thread. If it is full, the log's next write
  // enters the refusal. Callers without a name are left out, as they could fill the log.
  calls::RefusalObserver EnterRefusals() {
    if (auditor_ == nullptr) return {};
    return [this](const std::string& name, std::string_view path) {
      const access::Method* const method = access::FindMethod(path);
      if (method == nullptr || !method->changes || name == access::kAnonymousName) return;
      auditor_->EnterRefusalLater(name, *method, PermissionDeniedError(""));
      pool_.Run([this] { auditor_->WriteLate(); }).IgnoreError();
    };
  }

  const Curator curator_;
  const TransportLimits limits_;
  const uint64_t max_model_bytes_;
  calls::ByteLoad answers_{limits_.max_answer_bytes};
  CallBounds bounds_{answers_, access::DeadlineOf};
  RateLimiter limiter_;
  const access::AccessControl* const access_;
  const rpc::AnswerCheck may_answer_;
  const service::StatusReader status_;
  const calls::CallObservers observers_;
  calls::TokenUse token_use_{curator_.store};
  const std::unique_ptr<service::CallAuditor> auditor_;  // null without a log
  calls::AccessGate gate_;
  service::WorkerPool pool_;
  // Long work makes only its own kind wait.
  service::WorkerPool builds_{/*threads=*/2, kMaxWaitingBuilds};
  service::WorkerPool previews_{/*threads=*/1, kMaxWaitingPreviews};
  service::WorkerPool plans_{/*threads=*/1, kMaxWaitingPreviews};
  // Reads the policy that is in force at the time of the call.
  const owners::QuotaFinder quotas_ = [this](const std::string& owner) {
    return access_ == nullptr ? owners::Quota() : access_->policy()->QuotaOf(owner);
  };
  const service::ResourceGuard guard_{
      service::MakeResourceFinder(curator_.studies, curator_.datasets, curator_.jobs,
                                  curator_.evaluations, curator_.models, curator_.endpoints)};
  service::StudyHandlers studies_{curator_.studies, limiter_, quotas_};
  service::ReportHandlers reports_{curator_.studies, guard_, limits_.OfStreams()};
  service::BatchHandlers batches_{curator_.studies};
  service::ModelHandlers models_{curator_.store,     curator_.studies, curator_.models,
                                 curator_.endpoints, guard_,           quotas_,
                                 max_model_bytes_};
  service::DatasetHandlers datasets_{curator_.datasets, curator_.jobs, curator_.evaluations, guard_,
                                     quotas_};
  service::TrainingHandlers training_{curator_.datasets, curator_.jobs, curator_.evaluations,
                                      quotas_};
  service::AdminHandlers admin_{curator_.store, curator_.backups, curator_.audit, ListTokens(),
                                status_};
  const service::HandlerRegistry registry_ = MakeRegistry();
  // After the handlers, which work that is left uses when the server is gone.
  service::WorkerPool openings_{std::max(2u, std::thread::hardware_concurrency()),
                                kMaxWaitingOpenings};
  // One call of each owner at a time: so many owners wait for nobody.
  service::WorkerPool evaluations_{/*threads=*/4, kMaxWaitingPreviews};
  service::MessageIntake intake_;
  const service::Lanes lanes_{.pool = pool_,
                              .builds = builds_,
                              .previews = previews_,
                              .plans = plans_,
                              .openings = openings_,
                              .evaluations = evaluations_,
                              .intake = intake_};
  rpc::Services services_{registry_, lanes_, MakeCallerFinder(gate_), may_answer_};
  http::ServedMethods http_methods_{{.methods = registry_.methods(),
                                     .lanes = lanes_,
                                     .gate = gate_,
                                     .observers = observers_,
                                     .answers = answers_,
                                     .may_answer = may_answer_,
                                     .max_message_bytes = limits_.max_message_bytes}};
  HealthService health_{access::MaxRequestBytesOf(kHealthCheckPath)};
  // Destroyed first: their calls use all of the above.
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<http::Server> http_;
  int port_ = 0;
};

Status CannotListen(const std::string& listen) {
  return UnavailableError(StrCat("--listen ", listen,
                                 ": cannot listen there. Does another process use this port, or is "
                                 "it another machine's address? Port 0 picks a free port"));
}

StatusOr<std::unique_ptr<DaemonServer>> DaemonServer::Start(const ServerOptions& options,
                                                            const Curator& curator) {
  auto parts = std::make_unique<Parts>(options, curator);
  COPPICE_RETURN_IF_ERROR(parts->Listen(options));
  return std::unique_ptr<DaemonServer>(new DaemonServer(std::move(parts)));
}

DaemonServer::DaemonServer(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

DaemonServer::~DaemonServer() = default;

int DaemonServer::port() const { return parts_->port(); }

int DaemonServer::http_port() const { return parts_->http_port(); }

void DaemonServer::SetReady(bool ready) { parts_->SetReady(ready); }

void DaemonServer::Stop(absl::Duration grace) { parts_->Stop(grace); }

}  // namespace coppice::daemon
