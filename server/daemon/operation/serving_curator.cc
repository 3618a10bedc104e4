#include "server/daemon/operation/serving_curator.h"

#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "server/daemon/transport/console.h"
#include "server/store/postgres/postgres_store.h"
#include "server/store/store_location.h"

namespace coppice::daemon {
namespace {

constexpr absl::Duration kGrace = absl::Seconds(10);
constexpr absl::Duration kBetweenChecks = absl::Seconds(5);

// Null unless the store is a database.
std::unique_ptr<StandbyAlarm> WatchStandbys(const StoreOptions& store, const Log& log) {
  const auto location = storage::StoreLocation::Parse(store.location);
  if (!location.ok() || !location->is_postgres()) return nullptr;
  return std::make_unique<StandbyAlarm>(storage::MakeStandbyCheck(location->address()), log);
}

std::vector<ReadinessCheck> ChecksOf(const ServingOptions& options, const DaemonContext& daemon) {
  std::vector<ReadinessCheck> checks = ReadinessChecks(daemon);
  if (options.may_answer != nullptr) checks.push_back({"lease", options.may_answer});
  return checks;
}

}  // namespace

ServingCurator::ServingCurator(const ServingOptions& options, const CuratorState& curator,
                               const Log& log)
    : curator_(curator),
      log_(log),
      standby_alarm_(WatchStandbys(options.store, log)),
      daemon_{options.store, curator.parts().store, curator.parts(), options.certificates,
              standby_alarm_.get()},
      sweeper_([&studies = curator.parts().studies] { return studies.Sweep(); }, log),
      status_(daemon_, options.access, options.lead) {}

ServingCurator::~ServingCurator() {
  if (readiness_ != nullptr) readiness_->Stop();
}

StatusOr<std::unique_ptr<ServingCurator>> ServingCurator::Start(const ServingOptions& options,
                                                                const CuratorState& curator,
                                                                const Log& log) {
  COPPICE_RETURN_IF_ERROR(
      curator.audit().Add(audit::NewAuditEvent(audit::kDaemonActor, "daemon/start")));
  std::unique_ptr<ServingCurator> serving(new ServingCurator(options, curator, log));
  COPPICE_ASSIGN_OR_RETURN(
      serving->server_,
      DaemonServer::Start({.listen = options.listen,
                           .http = options.http,
                           .certificates = options.certificates,
                           .access = options.access,
                           .ticket_limits = options.tickets,
                           .limits = options.transport,
                           .max_model_bytes = options.max_model_bytes,
                           .log = &log,
                           .call_metrics = &serving->call_metrics_,
                           .may_answer = options.may_answer,
                           .status = [status = &serving->status_] { return status->Read(); }},
                          curator.parts()));
  TellHttp(options.web, serving->server_->http_port(), log);
  serving->readiness_ = std::make_unique<Readiness>(
      ChecksOf(options, serving->daemon_), kBetweenChecks, log,
      [serving = serving.get()](bool ready) { serving->SetChecksPass(ready); });
  serving->status_.SetReadiness(*serving->readiness_);
  COPPICE_ASSIGN_OR_RETURN(
      serving->metrics_,
      ServeMetrics(options.metrics, serving->daemon_, *serving->readiness_, serving->registry_));
  if (serving->metrics_ != nullptr) {
    log.Info("metrics", {{"port", StrCat(serving->metrics_->port())}});
  }
  return serving;
}

void ServingCurator::SetLeads(bool leads) {
  const MutexLock lock(mutex_);
  leads_ = leads;
  server_->SetReady(leads_ && checks_pass_);
}

void ServingCurator::SetChecksPass(bool pass) {
  const MutexLock lock(mutex_);
  checks_pass_ = pass;
  server_->SetReady(leads_ && checks_pass_);
}

void ServingCurator::Stop() {
  readiness_->Stop();
  server_->Stop(kGrace);
  const Status noted =
      curator_.audit().Add(audit::NewAuditEvent(audit::kDaemonActor, "daemon/stop"));
  if (!noted.ok()) log_.Error("audit log", {{"reason", std::string(noted.message())}});
}

}  // namespace coppice::daemon
