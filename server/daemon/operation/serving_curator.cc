#include "server/daemon/operation/serving_curator.h"

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/base/status_macros.h"

namespace coppice::daemon {
namespace {

constexpr absl::Duration kGrace = absl::Seconds(10);
constexpr absl::Duration kBetweenChecks = absl::Seconds(5);

}  // namespace

ServingCurator::ServingCurator(const ServingOptions& options, const LoadedCurator& curator,
                               const Log& log)
    : curator_(curator),
      log_(log),
      daemon_{options.flags, curator.parts().store, curator.parts(), options.certificates},
      upkeep_(curator.parts().studies, log) {}

absl::StatusOr<std::unique_ptr<ServingCurator>> ServingCurator::Start(const ServingOptions& options,
                                                                      const LoadedCurator& curator,
                                                                      const Log& log) {
  COPPICE_RETURN_IF_ERROR(
      curator.audit().Add(audit::NewAuditEvent(audit::kDaemonActor, "daemon/start")));
  std::unique_ptr<ServingCurator> serving(new ServingCurator(options, curator, log));
  COPPICE_ASSIGN_OR_RETURN(serving->server_,
                           DaemonServer::Start({.listen = options.listen,
                                                .certificates = options.certificates,
                                                .access = options.access,
                                                .ticket_limits = options.flags.ticket_limits,
                                                .limits = options.flags.limits,
                                                .log = &log,
                                                .call_metrics = &serving->call_metrics_},
                                               curator.parts()));
  serving->readiness_ = std::make_unique<Readiness>(
      ReadinessChecks(serving->daemon_), kBetweenChecks, log,
      [server = serving->server_.get()](bool ready) { server->SetReady(ready); });
  COPPICE_ASSIGN_OR_RETURN(
      serving->metrics_, ServeMetrics(serving->daemon_, *serving->readiness_, serving->registry_));
  if (serving->metrics_ != nullptr) {
    log.Info("metrics", {{"port", absl::StrCat(serving->metrics_->port())}});
  }
  return serving;
}

void ServingCurator::Stop() {
  readiness_->Stop();
  server_->Stop(kGrace);
  const absl::Status noted =
      curator_.audit().Add(audit::NewAuditEvent(audit::kDaemonActor, "daemon/stop"));
  if (!noted.ok()) log_.Error("audit log", {{"reason", std::string(noted.message())}});
}

}  // namespace coppice::daemon
