#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "server/daemon/maintenance/check_records.h"
#include "server/datasets/central_keys.h"
#include "server/datasets/dataset_record.h"
#include "server/datasets/evaluations.h"
#include "server/datasets/job_record.h"
#include "server/datasets/ledger/ledger_record.h"

namespace coppice::maintenance {
namespace {

class CentralCheck {
 public:
  CentralCheck(const storage::Store& store, const ProgressCallback& progress, Findings& findings)
      : store_(store), progress_(progress), findings_(findings) {}

  void Run() {
    CheckLedgers();
    CheckHolds();
    CheckDatasets();
    CheckChunksOfNoDataset();
    CheckJobs();
    CheckEvaluations();
    CheckReservations();
  }

 private:
  using Visitor = absl::FunctionRef<void(std::string_view key, std::string_view value)>;
  void Visit(std::string_view prefix, Visitor visit) {
    VisitRecords(store_, prefix, findings_, visit);
  }

  bool IsClosed(const std::string& dataset) const {
    const auto it = holds_.find(dataset);
    return (it != holds_.end() && it->second.reason == ledger::HoldReason::kClosed) ||
           findings_.Has(Remedy::kCloseLedger, dataset);
  }

  void CloseLedger(const std::string& dataset, std::string_view key, const std::string& why) {
    if (IsClosed(dataset)) return;
    findings_.Add({.key = std::string(key),
                   .what = StrCat(why, ": the ledger no longer proves what is left of the budget"),
                   .remedy = Remedy::kCloseLedger,
                   .id = dataset});
  }

  // Reads each ledger as far as it is sound.
  void CheckLedgers() {
    progress_("ledgers");
    Visit(ledger::kLedgerPrefix, [&](std::string_view key, std::string_view value) {
      const std::string dataset = IdInKey(key);
      ++findings_.counts["ledger entry"];
      if (findings_.Has(Remedy::kCloseLedger, dataset)) return;
      const Status status = ledger::LoadEntry(key, value, books_);
      if (!status.ok()) CloseLedger(dataset, key, ReasonOf(status, key));
    });
  }

  void CheckHolds() {
    Visit(ledger::kHoldPrefix, [&](std::string_view key, std::string_view value) {
      const Status status = ledger::LoadHold(key, value, holds_);
      const std::string dataset = IdInKey(key);
      if (!status.ok()) return CloseLedger(dataset, key, ReasonOf(status, key));
      findings_.notes.push_back(
          {.key = std::string(key),
           .what = IsClosed(dataset) ? "the ledger was damaged: its dataset is closed for good"
                                     : "the ledger waits for an admin to confirm its head"});
    });
  }

  void CheckDatasets() {
    Visit(central::kDatasetPrefix, [&](std::string_view key, std::string_view bytes) {
      const std::string id = IdInKey(key);
      progress_(StrCat("dataset ", id));
      ++findings_.counts["dataset"];
      datasets_.insert(id);
      const StatusOr<central::DatasetEntry> entry = central::DecodeDataset(key, bytes);
      if (!entry.ok()) {
        findings_.Add(
            {.key = std::string(key),
             .what = StrCat(ReasonOf(entry.status(), key), ": its rows cannot be used without it"),
             .remedy = Remedy::kQuarantineRecord});
        return;
      }
      if (books_.find(id) == books_.end()) CloseLedger(id, key, "has no ledger");
      CheckChunks(id, *entry);
      CheckPublicRows(id, *entry);
    });
  }

  void CheckPublicRows(const std::string& id, const central::DatasetEntry& entry) {
    const auto rows = central::ReadPublicRows(store_, id, entry);
    const std::string key = central::PublicRowsKey(id);
    if (!rows.ok()) AddDamagedRows(key, ReasonOf(rows.status(), key));
  }

  void CheckChunks(const std::string& id, const central::DatasetEntry& entry) {
    uint64_t rows = 0;
    if (entry.schema == nullptr) return;  // deleted, and its rows with it
    const central::BlockFormat format(entry.schema);
    for (const auto part : {central::Part::kTraining, central::Part::kReserve}) {
      const bool reserve = part == central::Part::kReserve;
      for (uint64_t chunk = 0; chunk < (reserve ? entry.reserve_chunks : entry.chunks); ++chunk) {
        ++findings_.counts["chunk"];
        const std::string key = central::ChunkKey(id, chunk, part);
        const StatusOr<Table> found = central::ReadChunk(store_, key, format);
        if (!found.ok()) return AddDamagedRows(key, ReasonOf(found.status(), key));
        rows += found->num_rows();
      }
    }
    if (rows != entry.rows)
      AddDamagedRows(central::DatasetKey(id), "does not have as many rows as its chunks");
  }

  void AddDamagedRows(const std::string& key, const std::string& why) {
    findings_.Add({.key = key,
                   .what = StrCat(why,
                                  ": no job can be run on the dataset. Nothing is spent "
                                  "by trying; delete it, and upload its rows anew")});
  }

  void CheckChunksOfNoDataset() {
    std::set<std::string> told;
    Visit("chunk/", [&](std::string_view key, std::string_view) {
      const std::string id = IdInKey(key);
      if (datasets_.contains(id) || !told.insert(id).second) return;
      const std::string what =
          "is of a dataset without a record: private rows that nobody can use; "
          "coppice dataset delete takes them away";
      if (IsInQuarantine(store_, central::DatasetKey(id))) {
        findings_.notes.push_back({.key = std::string(key), .what = what});
      } else {
        findings_.Add({.key = std::string(key), .what = what});
      }
    });
  }

  void CheckJobs() {
    progress_("jobs");
    Visit(central::kJobPrefix, [&](std::string_view key, std::string_view bytes) {
      ++findings_.counts["job"];
      jobs_.insert(IdInKey(key));
      const StatusOr<central::JobEntry> entry = central::DecodeJob(key, bytes);
      if (!entry.ok()) {
        findings_.Add(
            {.key = std::string(key),
             .what = StrCat(ReasonOf(entry.status(), key), ": what it was charged stays spent"),
             .remedy = Remedy::kQuarantineRecord});
        return;
      }
      CheckCharge(key, {.noun = "job",
                        .id = entry->info.id,
                        .dataset = entry->info.spec.dataset,
                        .has_ended = central::HasEnded(entry->info.state)});
    });
  }

  // Of a job, or an evaluation.
  struct Charged {
    std::string_view noun;
    std::string id;
    std::string dataset;
    bool has_ended;
  };

  // A job's record and its ledger entry are written in one batch, so neither may be ahead.
  void CheckCharge(std::string_view key, const Charged& job) {
    const auto book = books_.find(job.dataset);
    const bool charged = book != books_.end() && HasEntry(book->second, job.id);
    const bool open = charged && book->second.ReservedFor(job.id).ok();
    if (job.has_ended) {
      if (charged && !open) return;
      CloseLedger(job.dataset, LastKey(job.dataset),
                  StrCat("lacks its last entries: ", job.noun, " ", job.id,
                         charged ? " has ended" : " was charged"));
    } else if (!open) {
      if (!charged) {
        CloseLedger(job.dataset, LastKey(job.dataset),
                    StrCat("lacks its last entries: ", job.noun, " ", job.id, " was charged"));
      }
      const std::string_view article = job.noun == "job" ? "a " : "an ";
      findings_.Add({.key = std::string(key),
                     .what = StrCat("is of ", article, job.noun,
                                    " that has not ended, and for which nothing is reserved"),
                     .remedy = Remedy::kQuarantineRecord});
    }
  }

  void CheckEvaluations() {
    progress_("evaluations");
    Visit(central::kEvaluationPrefix, [&](std::string_view key, std::string_view bytes) {
      ++findings_.counts["evaluation"];
      evaluations_.insert(IdInKey(key));
      const StatusOr<central::ChargedEvaluation> found = central::ReadEvaluation(key, bytes);
      if (!found.ok()) {
        findings_.Add(
            {.key = std::string(key),
             .what = StrCat(ReasonOf(found.status(), key), ": what it was charged stays spent"),
             .remedy = Remedy::kQuarantineRecord});
        return;
      }
      CheckCharge(key, {.noun = "evaluation",
                        .id = found->id,
                        .dataset = found->dataset,
                        .has_ended = found->has_ended});
    });
  }

  static bool HasEntry(const ledger::AccountBook& book, std::string_view job) {
    for (const ledger::LedgerEntry& entry : book.entries()) {
      if (entry.job == job) return true;
    }
    return false;
  }

  // Returns the key after the last entry, so that no entry goes into quarantine.
  std::string LastKey(const std::string& dataset) const {
    const auto book = books_.find(dataset);
    return ledger::LedgerKey(dataset, book == books_.end() ? 0 : book->second.next_sequence());
  }

  void CheckReservations() {
    for (const auto& [dataset, book] : books_) {
      if (!datasets_.contains(dataset) && !IsInQuarantine(store_, central::DatasetKey(dataset))) {
        findings_.Add({.key = ledger::LedgerKey(dataset, 0),
                       .what = "is of a dataset whose record is lost; its name stays taken"});
      }
      for (const ledger::LedgerEntry& entry : book.entries()) {
        if (entry.kind != ledger::EntryKind::kReserve) continue;
        const auto& known = entry.is_evaluation ? evaluations_ : jobs_;
        if (known.contains(entry.job)) continue;
        const std::string record =
            entry.is_evaluation ? central::EvaluationKey(entry.job) : central::JobKey(entry.job);
        if (IsInQuarantine(store_, record)) continue;
        findings_.Add({.key = ledger::LedgerKey(dataset, entry.sequence),
                       .what = StrCat("charges ", entry.is_evaluation ? "an evaluation " : "a job ",
                                      entry.job, " whose record is lost; it stays spent")});
      }
    }
  }

  const storage::Store& store_;
  const ProgressCallback& progress_;
  Findings& findings_;
  ledger::AccountBooks books_;
  ledger::Holds holds_;
  std::set<std::string> datasets_;
  std::set<std::string> jobs_;
  std::set<std::string> evaluations_;
};

}  // namespace

void CheckCentral(const storage::Store& store, const ProgressCallback& progress,
                  Findings& findings) {
  CentralCheck(store, progress, findings).Run();
}

}  // namespace coppice::maintenance
