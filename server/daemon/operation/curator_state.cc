#include "server/daemon/operation/curator_state.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/wire/proto/convert.h"
#include "server/daemon/maintenance/restore.h"
#include "server/daemon/operation/training_memory.h"
#include "server/serving/metrics/all_pages.h"
#include "server/store/store_format.h"
#include "server/trainers/registry.h"

namespace coppice::daemon {
namespace {

int64_t Clock() { return absl::ToUnixSeconds(absl::Now()); }

// Keeps the journal's path, which its errors name, from callers.
class DiscreetJournal final : public ledger::SpendingJournal {
 public:
  DiscreetJournal(std::unique_ptr<ledger::SpendingJournal> journal, const Log& log)
      : journal_(std::move(journal)), log_(log) {}

  const std::vector<ledger::SpendingLine>& lines() const override { return journal_->lines(); }
  Status Append(const ledger::SpendingLine& line) override {
    const Status appended = journal_->Append(line);
    if (appended.ok()) return appended;
    log_.Error("spending journal error", {{"reason", std::string(appended.message())}});
    return Status(appended.code(),
                  "the curator's spending journal cannot be written; try again later. The "
                  "operator's log has the reason");
  }

 private:
  const std::unique_ptr<ledger::SpendingJournal> journal_;
  const Log& log_;
};

// Warns because an unmounted disk looks like a journal that does not exist yet.
void WarnOfNewJournal(const central::Datasets& datasets, const Log& log) {
  bool any_spent = false;
  metrics::ForEachOf([&](const Page& page) { return datasets.List(page); },
                     [&](const central::DatasetInfo& dataset) {
                       any_spent |= dataset.account.spent != ledger::Cost() ||
                                    dataset.account.reserve_spent != ledger::Cost();
                     });
  if (!any_spent) return;
  log.Warning(
      "spending journal is new",
      {{"advice",
        "datasets were charged before it began. If there was an earlier journal, stop, find it (is "
        "its disk mounted?) and remove this one: it covers only later charges"}});
}

void WarnOfFailover(const std::vector<std::string>& held, const Log& log) {
  log.Warning("ledgers on hold",
              {{"datasets", StrJoin(held, " ")},
               {"advice",
                "the database failed over, or was restored, while no daemon could tell that it "
                "lost no charge: confirm each head with coppice dataset confirm, or write off "
                "what is lost (docs/postgresql.md#failover)"}});
}

void WarnOfLostCharges(const ledger::Ledger& ledger, const central::Datasets& datasets,
                       const Log& log) {
  metrics::ForEachOf([&](const Page& page) { return datasets.List(page); },
                     [&](const central::DatasetInfo& dataset) {
                       const std::optional<ledger::Cost>& lost = dataset.account.hold.lost;
                       if (!lost.has_value()) return;
                       log.Write(LogLevel::kWarning, "ledger on hold",
                                 {{"dataset", dataset.id},
                                  {"epsilon_lost", ledger::EpsilonText(lost->epsilon_nanos)},
                                  {"advice",
                                   "the spending journal lists charges that the store has lost; "
                                   "coppice dataset write-off charges them"}});
                     });
  for (const auto& [dataset, spent] : ledger.LostAccounts()) {
    log.Write(LogLevel::kWarning, "ledger lost",
              {{"dataset", dataset},
               {"epsilon_spent", ledger::EpsilonText(spent.epsilon_nanos)},
               {"advice",
                "the spending journal reserves its name; coppice dataset free-name releases it for "
                "a dataset about other people"}});
  }
}

}  // namespace

StatusOr<std::unique_ptr<CuratorState>> CuratorState::Load(
    const CuratorOptions& options, const service::BackupSettings& backups,
    const curator::SigningKeys& signing_keys, std::unique_ptr<ledger::SpendingJournal> journal,
    storage::Store& store, const Log& log) {
  std::unique_ptr<CuratorState> loaded(new CuratorState);
  loaded->store_ = std::make_unique<storage::DiscreetStore>(store, [&log](const Status& error) {
    log.Error("store error", {{"reason", std::string(error.message())}});
  });
  storage::DiscreetStore& discreet = *loaded->store_;
  if (journal != nullptr) {
    loaded->journal_ = std::make_unique<DiscreetJournal>(std::move(journal), log);
  }
  COPPICE_RETURN_IF_ERROR(loaded->OpenStudies(options, signing_keys, discreet));
  COPPICE_RETURN_IF_ERROR(loaded->OpenDatasets(options, discreet, log));
  discreet.Hide();
  loaded->parts_.emplace(Curator{.studies = *loaded->studies_,
                                 .models = loaded->models_,
                                 .endpoints = *loaded->endpoints_,
                                 .datasets = *loaded->datasets_,
                                 .jobs = *loaded->jobs_,
                                 .evaluations = *loaded->evaluations_,
                                 .store = discreet,
                                 .audit = loaded->audit_.get(),
                                 .backups = backups});
  return loaded;
}

Status CuratorState::OpenStudies(const CuratorOptions& options,
                                 const curator::SigningKeys& signing_keys, storage::Store& store) {
  // Comes first, because it detects a store made by a newer version.
  COPPICE_RETURN_IF_ERROR(storage::OpenFormat(store));
  COPPICE_ASSIGN_OR_RETURN(
      audit_, audit::AuditLog::Open(store, Clock, audit::kDaemonActor, options.audit_days));
  COPPICE_RETURN_IF_ERROR(audit::CheckLog(store));
  COPPICE_ASSIGN_OR_RETURN(studies_, curator::Studies::Open(store, models_, Clock, signing_keys,
                                                            options.limits.OfStudies()));
  models_.SetCacheBytes(options.limits.model_cache_bytes);
  models_.FindOwnersBy([this](const std::string& source) { return OwnerOf(source); });
  COPPICE_RETURN_IF_ERROR(models_.Load(store));
  // Comes after the studies, whose Open() carries out a change of keys.
  COPPICE_ASSIGN_OR_RETURN(const std::unique_ptr<curator::ManifestAuthority> authority,
                           curator::ManifestAuthority::Open(store, signing_keys, Clock()));
  audit_->SignWith(authority->SignerOfAuditHeads());
  COPPICE_ASSIGN_OR_RETURN(endpoints_, models::Endpoints::Open(store, models_, Clock));
  return OkStatus();
}

std::string CuratorState::OwnerOf(const std::string& source) const {
  if (const StatusOr<std::string> study = ParseName(kStudies, source); study.ok()) {
    return studies_->OwnerOf(*study).value_or("");
  }
  const StatusOr<std::string> job = ParseName(kJobs, source);
  if (!job.ok()) return "";
  const std::optional<std::string> dataset = jobs_->DatasetOf(*job);
  return dataset.has_value() ? datasets_->OwnerOf(*dataset).value_or("") : "";
}

Status CuratorState::OpenDatasets(const CuratorOptions& options, storage::Store& store,
                                  const Log& log) {
  COPPICE_ASSIGN_OR_RETURN(const std::vector<std::string> held,
                           maintenance::HoldAfterFailover(store, *audit_, Clock()));
  if (!held.empty()) WarnOfFailover(held, log);
  audited_store_ = std::make_unique<audit::AuditedStore>(store, *audit_);
  COPPICE_ASSIGN_OR_RETURN(ledger_, ledger::Ledger::Open(*audited_store_, Clock, journal_.get()));
  COPPICE_ASSIGN_OR_RETURN(datasets_, central::Datasets::Open(store, *ledger_, Clock));
  if (journal_ != nullptr && journal_->lines().empty()) WarnOfNewJournal(*datasets_, log);
  WarnOfLostCharges(*ledger_, *datasets_, log);
  COPPICE_ASSIGN_OR_RETURN(
      jobs_,
      central::Jobs::Open(store, *ledger_, *datasets_, models_, trainers::AllTrainers(), Clock,
                          {.threads = options.training_jobs,
                           .threads_of_job = options.training_threads,
                           .max_model_bytes = options.limits.max_model_bytes,
                           .training_memory = options.limits.training_memory > 0
                                                  ? options.limits.training_memory
                                                  : MemoryForTraining(options.training_jobs)}));
  COPPICE_ASSIGN_OR_RETURN(evaluations_,
                           central::Evaluations::Open(store, *ledger_, *datasets_, models_, Clock));
  return OkStatus();
}

}  // namespace coppice::daemon
