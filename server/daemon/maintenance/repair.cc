#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "coppice/v1/storage.pb.h"
#include "server/curator/keys/store_keys.h"
#include "server/curator/studies/models_with_lost_reports.h"
#include "server/curator/study/study_record.h"
#include "server/daemon/maintenance/check_records.h"
#include "server/daemon/maintenance/maintenance.h"
#include "server/daemon/maintenance/restore.h"
#include "server/datasets/central_keys.h"
#include "server/datasets/ledger/ledger_record.h"
#include "server/store/audit_log/audit_log.h"
#include "server/store/models/model_record.h"
#include "server/store/rocksdb/database_files.h"
#include "server/store/store_format.h"
#include "server/store/vault/keyed_store.h"

namespace coppice::maintenance {
namespace {

namespace fs = std::filesystem;

bool NeedsSalvage(const Problem& problem) { return problem.remedy == Remedy::kSalvageFiles; }

std::string DescribeStep(const Problem& problem) {
  switch (problem.remedy) {
    case Remedy::kNone:
      return StrCat("left as it is: ", problem.what);
    case Remedy::kSalvageFiles:
      return "what can be read of the files is put into new ones; the rest is lost, what was "
             "deleted or replaced may be there again, and every ledger waits for an admin";
    case Remedy::kQuarantineRecord:
      return StrCat("put into quarantine: ", problem.what);
    case Remedy::kReplaceSummary:
      return StrCat("written anew from the model: ", problem.what);
    case Remedy::kNoteLostReports:
      return StrCat("noted, so that it counts as no mismatch: ", problem.what);
    case Remedy::kQuarantineStudy:
      return StrCat("study ", problem.id,
                    " is put into quarantine, its reports are lost, its "
                    "id stays taken; models that were made of it stay");
    case Remedy::kReplaceTombstone:
      return StrCat("written anew: the id of the deleted study ", problem.id, " stays taken");
    case Remedy::kResumeAuditLog:
      return StrCat("put into quarantine with all that follows: ", problem.what,
                    "; the log goes on with an entry that says so, and every ledger waits "
                    "for an admin");
    case Remedy::kCloseLedger:
      return StrCat("dataset ", problem.id,
                    " is closed: nothing more is spent of its budget, "
                    "and it can be deleted. Entries that are not sound go into quarantine");
  }
  return "";
}

// Moves the keys that start with `prefix`, from the key `from` on, into quarantine.
Status Quarantine(const storage::Store& store, std::string_view prefix, std::string_view from,
                  storage::StoreBatch& batch) {
  return store.Scan(prefix, [&](std::string_view key, std::string_view value) {
    if (key < from) return OkStatus();
    batch.Put(StrCat(kQuarantinePrefix, key), std::string(value));
    batch.Delete(key);
    return OkStatus();
  });
}

Status QuarantineRecord(const storage::Store& store, const std::string& key,
                        storage::StoreBatch& batch) {
  COPPICE_ASSIGN_OR_RETURN(const std::optional<std::string> value, store.Get(key));
  if (!value.has_value()) return OkStatus();
  batch.Put(StrCat(kQuarantinePrefix, key), *value);
  batch.Delete(key);
  if (models::IsModelKey(key)) batch.Delete(models::SummaryKey(key));
  return OkStatus();
}

Status ReplaceSummary(const storage::Store& store, const std::string& key,
                      storage::StoreBatch& batch) {
  const std::string model(StripPrefix(key, models::kSummariesPrefix));
  COPPICE_ASSIGN_OR_RETURN(const std::optional<std::string> bytes, store.Get(model));
  if (!bytes.has_value()) return OkStatus();  // put into quarantine meanwhile
  COPPICE_ASSIGN_OR_RETURN(const models::ModelInfo info, models::DecodeModel(model, *bytes));
  COPPICE_ASSIGN_OR_RETURN(const std::optional<std::string> damaged, store.Get(key));
  if (damaged.has_value()) batch.Put(StrCat(kQuarantinePrefix, key), *damaged);
  batch.Put(key, models::EncodeSummary(models::Summarize(info, bytes->size())));
  return OkStatus();
}

// Returns the request that made the study, which must not make another; empty if it is not known.
curator::StudyOrigin OriginOf(const storage::Store& store, const std::string& study) {
  const auto bytes = store.Get(curator::StudyKey(study));
  v1::StudyRecord record;
  if (!bytes.ok() || !bytes->has_value() || !record.ParseFromString(**bytes)) return {};
  return {.owner = record.owner(), .request_id = record.request_id()};
}

Status QuarantineStudy(const storage::Store& store, const std::string& study, int64_t now,
                       storage::StoreBatch& batch) {
  for (const std::string& prefix : curator::PrefixesToDelete(study)) {
    COPPICE_RETURN_IF_ERROR(Quarantine(store, prefix, "", batch));
  }
  COPPICE_ASSIGN_OR_RETURN(const std::optional<std::string> gone,
                           store.Get(curator::TombstoneKey(study)));
  if (!gone.has_value()) {
    batch.Put(curator::TombstoneKey(study), curator::EncodeTombstone(OriginOf(store, study), now));
  }
  return OkStatus();
}

Status NoteLostReports(const storage::Store& store, const Problem& problem, int64_t now,
                       storage::StoreBatch& batch) {
  COPPICE_ASSIGN_OR_RETURN(const std::optional<std::string> bytes, store.Get(problem.key));
  if (!bytes.has_value()) return OkStatus();  // put into quarantine meanwhile
  COPPICE_ASSIGN_OR_RETURN(const models::ModelInfo info, models::DecodeModel(problem.key, *bytes));
  const std::string counts_key = curator::CountsKey(problem.id);
  COPPICE_ASSIGN_OR_RETURN(const std::optional<std::string> counted, store.Get(counts_key));
  COPPICE_ASSIGN_OR_RETURN(const curator::Counts counts,
                           curator::DecodeCounts(counts_key, counted.value_or("")));
  const curator::ModelReports model{
      .study = problem.id, .model = info.id, .reports = info.model->certificate().reports};
  batch.Put(curator::OutlivedKey(model.study, model.model),
            curator::EncodeOutlived(model, counts.of(curator::ReportOutcome::kAccepted), now));
  return OkStatus();
}

Status CloseLedger(const storage::Store& store, const Problem& problem, int64_t now,
                   storage::StoreBatch& batch) {
  const std::string prefix = StrCat(ledger::kLedgerPrefix, problem.id, "/");
  const bool within = StartsWith(problem.key, prefix);
  if (within) COPPICE_RETURN_IF_ERROR(Quarantine(store, prefix, problem.key, batch));
  batch.Put(ledger::HoldKey(problem.id),
            ledger::EncodeHold({.reason = ledger::HoldReason::kClosed, .unix_seconds = now}));
  return OkStatus();
}

Status ApplyRemedy(const storage::Store& store, const Problem& problem, int64_t now,
                   storage::StoreBatch& batch) {
  switch (problem.remedy) {
    case Remedy::kNone:
    case Remedy::kSalvageFiles:
    case Remedy::kResumeAuditLog:
      return OkStatus();
    case Remedy::kQuarantineRecord:
      return QuarantineRecord(store, problem.key, batch);
    case Remedy::kReplaceSummary:
      return ReplaceSummary(store, problem.key, batch);
    case Remedy::kNoteLostReports:
      return NoteLostReports(store, problem, now, batch);
    case Remedy::kQuarantineStudy:
      return QuarantineStudy(store, problem.id, now, batch);
    case Remedy::kReplaceTombstone:
      COPPICE_RETURN_IF_ERROR(QuarantineRecord(store, problem.key, batch));
      batch.Put(curator::TombstoneKey(problem.id), curator::EncodeTombstone({}, now));
      return OkStatus();
    case Remedy::kCloseLedger:
      return CloseLedger(store, problem, now, batch);
  }
  return OkStatus();
}

StatusOr<std::unique_ptr<audit::AuditLog>> OpenAuditLog(storage::Store& store, int64_t now) {
  return audit::AuditLog::Open(
      store, [now] { return now; }, audit::kOfflineActor);
}

Status PutHolds(const storage::Store& store, int64_t now, storage::StoreBatch& batch,
                std::vector<RepairStep>& done) {
  COPPICE_ASSIGN_OR_RETURN(const std::vector<std::string> held, HoldLedgers(store, now, batch));
  for (const std::string& dataset : held) {
    done.push_back({.key = ledger::HoldKey(dataset),
                    .what = StrCat("the ledger of dataset ", dataset,
                                   " waits for an admin to confirm its head")});
  }
  return OkStatus();
}

Status ResumeAuditLog(storage::Store& store, int64_t now, std::vector<RepairStep>& done) {
  COPPICE_ASSIGN_OR_RETURN(const std::string first,
                           audit::ResumeLog(store, now, kQuarantinePrefix));
  done.push_back({.key = first,
                  .what = "what does not hold of the audit log is in quarantine; the log goes on "
                          "with the entry log/resume"});
  return OkStatus();
}

// An unsound log cannot witness what a repair does, so it is resumed afterwards.
Status RepairAndAudit(storage::Store& store, const Findings& findings, int64_t now,
                      std::vector<RepairStep>& done) {
  StatusOr<std::unique_ptr<audit::AuditLog>> log = OpenAuditLog(store, now);
  if (log.ok()) {
    audit::AuditedStore audited(store, **log);
    COPPICE_RETURN_IF_ERROR(RepairRecords(audited, findings, now, done));
    return (*log)->Add(audit::NewAuditEvent(audit::kOfflineActor, "store/repair"));
  }
  if (!IsDataLoss(log.status())) return log.status();
  COPPICE_RETURN_IF_ERROR(RepairRecords(store, findings, now, done));
  storage::StoreBatch batch;
  COPPICE_RETURN_IF_ERROR(PutHolds(store, now, batch, done));
  COPPICE_RETURN_IF_ERROR(store.Apply(batch));
  return ResumeAuditLog(store, now, done);
}

// A repair may bring back records of another time, and checkpoints with them: jobs that were
// running end at the next start, charged.
Status DropCheckpoints(storage::Store& store, std::vector<RepairStep>& done) {
  std::vector<std::string> prefixes;
  COPPICE_RETURN_IF_ERROR(
      store.Scan(central::kDatasetPrefix, [&prefixes](std::string_view key, std::string_view) {
        prefixes.push_back(central::CheckpointsPrefix(IdInKey(key)));
        return OkStatus();
      }));
  storage::StoreBatch batch;
  for (const std::string& prefix : prefixes) {
    bool is_there = false;
    COPPICE_RETURN_IF_ERROR(store.Scan(prefix, [&is_there](std::string_view, std::string_view) {
      is_there = true;
      return OkStatus();
    }));
    if (!is_there) continue;
    batch.DeletePrefix(prefix);
    done.push_back({.key = prefix,
                    .what = "a job was running and does not go on in a repaired store: it ends at "
                            "the next start, and its cost stays spent"});
  }
  return batch.deleted_prefixes().empty() ? OkStatus() : store.Apply(batch);
}

// Opens the salvaged files, and puts every ledger on hold.
Status HoldAllLedgers(const std::string& data_dir, int64_t now, const vault::KeyOptions& keys,
                      std::vector<RepairStep>& done) {
  COPPICE_ASSIGN_OR_RETURN(const vault::KeyedStore store, vault::OpenKeyedStore(data_dir, keys));
  const StatusOr<bool> has_format = storage::HasFormat(*store);
  if (!has_format.ok() || !*has_format) {
    return DataLossError(
        "too little could be got back of the files to open the store again; nothing was changed: "
        "restore a backup");
  }
  StatusOr<std::unique_ptr<audit::AuditLog>> log = OpenAuditLog(*store, now);
  if (!log.ok() && !IsDataLoss(log.status())) return log.status();
  storage::StoreBatch batch;
  COPPICE_RETURN_IF_ERROR(PutHolds(*store, now, batch, done));
  if (log.ok()) {
    return (*log)->Apply(std::move(batch),
                         {audit::NewAuditEvent(audit::kOfflineActor, "store/salvage")});
  }
  COPPICE_RETURN_IF_ERROR(store->Apply(batch));
  return ResumeAuditLog(*store, now, done);
}

// Works in a copy, so that nobody ever opens salvaged files before their ledgers are on hold.
Status Salvage(const std::string& data_dir, int64_t now, const vault::KeyOptions& keys,
               std::vector<RepairStep>& done) {
  const std::string staging = data_dir + "/repairing";
  std::error_code error;
  fs::remove_all(staging, error);
  COPPICE_RETURN_IF_ERROR(storage::MakePrivateFolder(staging));
  Status status = storage::CopyFiles(storage::StoreFolder(data_dir), storage::StoreFolder(staging));
  if (status.ok()) status = storage::SalvageFiles(storage::StoreFolder(staging));
  if (status.ok()) status = HoldAllLedgers(staging, now, keys, done);
  if (status.ok())
    status = storage::SwapIn(storage::StoreFolder(staging), storage::StoreFolder(data_dir));
  fs::remove_all(staging, error);
  return status;
}

}  // namespace

std::vector<RepairStep> PlanRepair(const Findings& findings) {
  std::vector<RepairStep> steps;
  for (const Problem& problem : findings.problems) {
    steps.push_back({.key = problem.key, .what = DescribeStep(problem)});
  }
  return steps;
}

Status RepairRecords(storage::Store& store, const Findings& findings, int64_t now,
                     std::vector<RepairStep>& done) {
  for (const Problem& problem : findings.problems) {
    storage::StoreBatch batch;
    COPPICE_RETURN_IF_ERROR(ApplyRemedy(store, problem, now, batch));
    if (!batch.puts().empty()) COPPICE_RETURN_IF_ERROR(store.Apply(batch));
    if (!NeedsSalvage(problem)) done.push_back({.key = problem.key, .what = DescribeStep(problem)});
  }
  return OkStatus();
}

Status RunAudited(storage::Store& store, int64_t now, std::string_view action,
                  absl::FunctionRef<Status()> run) {
  COPPICE_ASSIGN_OR_RETURN(const std::unique_ptr<audit::AuditLog> log, OpenAuditLog(store, now));
  COPPICE_ASSIGN_OR_RETURN(const uint64_t call,
                           log->Begin(audit::NewAuditEvent(audit::kOfflineActor, action)));
  const Status status = run();
  log->End(call, audit::CodeName(status.code()));
  return status;
}

StatusOr<RepairResult> RepairStore(const std::string& data_dir, const std::string& keep,
                                   int64_t now, const ProgressCallback& progress,
                                   const std::optional<vault::KeyFile>& keys) {
  const vault::KeyOptions options{.keys = keys, .unreadable = vault::UnreadableRecords::kShow};
  RepairResult result;
  COPPICE_ASSIGN_OR_RETURN(Findings found, CheckStore(data_dir, progress, keys));
  result.left = found;
  if (found.problems.empty()) return result;
  progress("copying the files as they are");
  COPPICE_RETURN_IF_ERROR(storage::CopyFiles(storage::StoreFolder(data_dir), keep));
  if (std::any_of(found.problems.begin(), found.problems.end(), NeedsSalvage)) {
    progress("mending files");
    result.done.push_back(
        {.key = storage::StoreFolder(data_dir),
         .what = DescribeStep({.key = "", .what = "", .remedy = Remedy::kSalvageFiles})});
    COPPICE_RETURN_IF_ERROR(Salvage(data_dir, now, options, result.done));
    COPPICE_ASSIGN_OR_RETURN(found, CheckStore(data_dir, progress, keys));
  }
  {
    COPPICE_ASSIGN_OR_RETURN(const vault::KeyedStore store,
                             vault::OpenKeyedStore(data_dir, options));
    COPPICE_RETURN_IF_ERROR(storage::OpenFormat(*store));  // fails if it is missing
    COPPICE_RETURN_IF_ERROR(RepairAndAudit(*store, found, now, result.done));
    COPPICE_RETURN_IF_ERROR(DropCheckpoints(*store, result.done));
  }
  COPPICE_ASSIGN_OR_RETURN(result.left, CheckStore(data_dir, progress, keys));
  return result;
}

}  // namespace coppice::maintenance
