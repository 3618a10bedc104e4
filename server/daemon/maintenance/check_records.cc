#include "server/daemon/maintenance/check_records.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "coppice/v1/storage.pb.h"
#include "server/curator/keys/manifest_authority.h"
#include "server/curator/keys/sealing_key_record.h"
#include "server/curator/keys/store_keys.h"
#include "server/curator/spool/sealed_reports.h"
#include "server/curator/studies/models_with_lost_reports.h"
#include "server/curator/studies/reconcile.h"
#include "server/curator/study/join_rows.h"
#include "server/curator/study/study_record.h"
#include "server/daemon/maintenance/restore.h"
#include "server/store/audit_log/audit_log.h"
#include "server/store/models/endpoint_record.h"
#include "server/store/models/model_record.h"
#include "server/store/store_format.h"
#include "server/store/store_record.h"

namespace coppice::maintenance {
namespace {

constexpr size_t kTicketKeyBytes = 32;

void CheckFormat(const storage::Store& store, Findings& findings) {
  const Status format = storage::HasFormat(store).status();
  if (format.ok()) return;
  findings.Add(
      {.key = std::string(storage::kFormatKey), .what = ReasonOf(format, storage::kFormatKey)});
}

void CheckTicketKey(const storage::Store& store, Findings& findings) {
  const auto key = store.Get(curator::kTicketKeyKey);
  if (!key.ok() || (key->has_value() && (*key)->size() != kTicketKeyBytes)) {
    findings.Add({.key = std::string(curator::kTicketKeyKey),
                  .what = "does not have 32 bytes: the daemon does not start",
                  .remedy = Remedy::kQuarantineRecord});
  } else if (!key->has_value() && findings.counts["study"] > 0) {
    findings.notes.push_back(
        {.key = std::string(curator::kTicketKeyKey),
         .what = "is missing: the daemon makes a new one, and refuses the tickets that are out"});
  }
}

void CheckManifestKey(const storage::Store& store, Findings& findings) {
  const Status status = curator::ManifestAuthority::CheckStored(store);
  const auto record = store.Get(curator::kManifestKeyKey);
  if (record.ok() && !record->has_value() && findings.counts["study"] > 0) {
    findings.notes.push_back(
        {.key = std::string(curator::kManifestKeyKey),
         .what = "is missing: the daemon makes a new one, and devices that trusted the one before "
                 "refuse until they are given it"});
  }
  if (status.ok()) return;
  findings.Add({.key = std::string(curator::kManifestKeyKey),
                .what = StrCat(ReasonOf(status, curator::kManifestKeyKey),
                               ": the daemon does not start. Without it the daemon signs "
                               "with another key, and devices that pinned this one refuse "
                               "until they are given that"),
                .remedy = Remedy::kQuarantineRecord});
}

void CheckDirectKeys(const storage::Store& store, Findings& findings) {
  bool found = false;
  VisitRecords(store, curator::kDirectKeyPrefix, findings,
               [&](std::string_view key, std::string_view value) {
                 found = true;
                 const auto decoded = curator::DecodeSealingKey(key, value);
                 if (decoded.ok() && decoded->secret.has_value()) return;
                 const std::string why =
                     decoded.ok() ? "has no secret" : ReasonOf(decoded.status(), key);
                 findings.Add({.key = std::string(key),
                               .what = StrCat(why,
                                              ": the daemon does not start. Without it devices "
                                              "seal for another key and send again"),
                               .remedy = Remedy::kQuarantineRecord});
               });
  if (found || findings.counts["study"] == 0) return;
  findings.notes.push_back(
      {.key = std::string(curator::kDirectKeyPrefix),
       .what = "has no key: the daemon makes a new one, and devices seal for it and send again"});
}

// Checks the audit log, and whether the ledgers hold what it says of them. Must run after
// CheckCentral(), which says more about a ledger that is itself damaged.
void CheckAuditLog(const storage::Store& store, const ProgressCallback& progress,
                   Findings& findings) {
  progress("audit log");
  const StatusOr<audit::LogReport> report = audit::InspectLog(store);
  if (!report.ok()) return;  // CheckKinds() has reported what cannot be read
  findings.counts["audit entry"] = report->entries;
  if (!report->problem.ok()) {
    findings.Add({.key = report->problem_key,
                  .what = StrCat(ReasonOf(report->problem, report->problem_key),
                                 ": the audit log proves nothing from there on"),
                  .remedy = Remedy::kResumeAuditLog});
  }
  for (const audit::LedgerMismatch& mismatch : report->mismatches) {
    if (findings.Has(Remedy::kCloseLedger, mismatch.dataset)) continue;
    findings.Add(
        {.key = mismatch.key,
         .what = StrCat(mismatch.what, ": the ledger no longer proves what is left of the budget"),
         .remedy = Remedy::kCloseLedger,
         .id = mismatch.dataset});
  }
}

void NoteRestored(const storage::Store& store, Findings& findings) {
  const auto restored = ReadRestoreRecord(store);
  if (!restored.ok()) {
    findings.Add({.key = std::string(kRestoredKey),
                  .what = ReasonOf(restored.status(), kRestoredKey),
                  .remedy = Remedy::kQuarantineRecord});
  } else if (restored->has_value()) {
    findings.notes.push_back(
        {.key = std::string(kRestoredKey),
         .what = StrCat("this store was restored from backup ", (*restored)->backup_id)});
  }
}

StatusOr<std::shared_ptr<curator::Study>> CheckStudy(const storage::Store& store,
                                                     std::string_view id, std::string_view bytes) {
  COPPICE_ASSIGN_OR_RETURN(std::shared_ptr<curator::Study> study,
                           curator::LoadStudy(store, id, bytes));
  if (!study->life().Get().retired)
    COPPICE_RETURN_IF_ERROR(curator::LoadRows(store, *study).status());
  COPPICE_RETURN_IF_ERROR(curator::CheckStoredJoinRows(store, *study));
  COPPICE_ASSIGN_OR_RETURN(const std::optional<std::string> tombstone,
                           store.Get(curator::TombstoneKey(id)));
  if (tombstone.has_value()) {
    return storage::CorruptRecord(curator::StudyKey(id), "is of a study that was deleted (gone/)");
  }
  return study;
}

// Checks what a relay has handed over for a study that can be loaded. A problem here keeps the
// study from its final model, and from nothing else.
void CheckBatches(const storage::Store& store, const curator::Study& study, Findings& findings) {
  if (!study.definition().settings.relay.has_value()) return;
  findings.counts["batch"] += study.batches().size();
  Status status = curator::CheckSpool(store, study);
  if (status.ok()) status = curator::ReconcileBatches(store, study);
  if (status.ok()) return;
  const std::string prefix = curator::BatchPrefix(study.id());
  findings.Add({.key = prefix,
                .what = StrCat(ReasonOf(status, prefix),
                               ": reports are lost, and the study gets no final model. "
                               "Restore a backup, or delete the study")});
}

// The sound studies, by their ids.
using SoundStudies = std::map<std::string, curator::StudyReports>;

SoundStudies CheckStudies(const storage::Store& store, const ProgressCallback& progress,
                          Findings& findings) {
  std::set<std::string> ids;
  SoundStudies sound;
  VisitRecords(
      store, curator::kStudyPrefix, findings, [&](std::string_view key, std::string_view bytes) {
        const std::string id = IdInKey(key);
        progress(StrCat("study ", id));
        ids.insert(id);
        ++findings.counts["study"];
        const auto study = CheckStudy(store, id, bytes);
        if (study.ok()) {
          sound[id] = {.accepted = (*study)->sums().counts().of(curator::ReportOutcome::kAccepted),
                       .final_model = (*study)->life().Get().final_model};
          CheckBatches(store, **study, findings);
          return;
        }
        findings.Add({.key = std::string(key),
                      .what = StrCat(ReasonOf(study.status(), key), ": the study cannot be loaded"),
                      .remedy = Remedy::kQuarantineStudy,
                      .id = id});
      });
  // Records that a study leaves behind when its own record is lost.
  for (const std::string kind :
       {"count/", "rows/", "sums/", "join/", "sealing/", "batch/", "spool/"}) {
    VisitRecords(store, kind, findings, [&](std::string_view key, std::string_view) {
      const std::string id = IdInKey(key);
      if (!ids.insert(id).second) return;
      findings.Add({.key = std::string(key),
                    .what = StrCat("is of a study ", id, " whose record is lost"),
                    .remedy = Remedy::kQuarantineStudy,
                    .id = id});
    });
  }
  return sound;
}

void CheckTombstones(const storage::Store& store, Findings& findings) {
  VisitRecords(store, curator::kTombstonePrefix, findings,
               [&](std::string_view key, std::string_view bytes) {
                 ++findings.counts["deleted study"];
                 const std::string id = IdInKey(key);
                 const Status status = curator::DecodeTombstone(id, bytes).status();
                 if (status.ok()) return;
                 findings.Add({.key = std::string(key),
                               .what = ReasonOf(status, key),
                               .remedy = Remedy::kReplaceTombstone,
                               .id = id});
               });
}

// Loads the models that repairs have noted.
curator::ModelsWithLostReports CheckLostReports(const storage::Store& store, Findings& findings) {
  curator::ModelsWithLostReports outlived;
  VisitRecords(
      store, curator::kOutlivedPrefix, findings, [&](std::string_view key, std::string_view bytes) {
        const Status status = outlived.Add(key, bytes);
        if (!status.ok()) {
          findings.Add({.key = std::string(key),
                        .what = ReasonOf(status, key),
                        .remedy = Remedy::kQuarantineRecord});
          return;
        }
        findings.notes.push_back({.key = std::string(key),
                                  .what = "the model rests on reports that its study has lost"});
      });
  return outlived;
}

// Compares a sound model with its sound study.
void CheckReports(const std::string& key, const curator::ModelReports& model,
                  const curator::StudyReports& study, Findings& findings) {
  if (curator::ReconcileModel(model, study).ok()) return;
  const std::string numbers =
      StrCat("rests on ", model.reports, " reports, and its study has ", study.accepted);
  if (model.reports > study.accepted) {
    findings.Add({.key = key,
                  .what = StrCat(numbers,
                                 ": the study has lost some. The model is as good as it was; "
                                 "until that is noted the daemon serves, but is not ready"),
                  .remedy = Remedy::kNoteLostReports,
                  .id = model.study});
  } else {
    findings.Add({.key = key,
                  .what = StrCat(numbers,
                                 ", though it is the final one: the daemon serves, but is "
                                 "not ready. Restore a backup, or delete the study")});
  }
}

// Expects `summary`, as stored beside a sound model, to say what the model does.
void CheckSummary(const storage::Store& store, const std::string& key,
                  const models::ModelInfo& info, Findings& findings) {
  const std::string summary_key = models::SummaryKey(key);
  const auto bytes = store.Get(summary_key);
  if (!bytes.ok()) return;  // CheckKinds() has reported what cannot be read
  std::string what = "is missing";
  if (bytes->has_value()) {
    const StatusOr<models::ModelSummary> summary = models::DecodeSummary(summary_key, **bytes);
    const bool fits = summary.ok() && summary->created_unix_seconds == info.created_unix_seconds &&
                      *summary->certificate == info.model->certificate();
    if (fits) return;
    what =
        summary.ok() ? "does not say what its model does" : ReasonOf(summary.status(), summary_key);
  }
  findings.Add({.key = summary_key, .what = what, .remedy = Remedy::kReplaceSummary});
}

// Finds summaries whose model is not among `keys`.
void CheckForStraySummaries(const storage::Store& store, const std::set<std::string>& keys,
                            Findings& findings) {
  VisitRecords(store, models::kSummariesPrefix, findings,
               [&](std::string_view key, std::string_view) {
                 const std::string model(StripPrefix(key, models::kSummariesPrefix));
                 if (keys.contains(model)) return;
                 findings.Add({.key = std::string(key),
                               .what = "is of a model that is not there",
                               .remedy = Remedy::kQuarantineRecord});
               });
}

void CheckModels(const storage::Store& store, const SoundStudies& studies,
                 const ProgressCallback& progress, Findings& findings) {
  progress("models");
  const curator::ModelsWithLostReports outlived = CheckLostReports(store, findings);
  std::set<std::string> ids, keys;
  for (const std::string_view prefix : {models::kStudyModelsPrefix, models::kJobModelsPrefix}) {
    VisitRecords(store, prefix, findings, [&](std::string_view key, std::string_view bytes) {
      ++findings.counts["model"];
      keys.emplace(key);
      StatusOr<models::ModelInfo> info = models::DecodeModel(key, bytes);
      if (info.ok() && !ids.insert(info->id).second) {
        info = storage::CorruptRecord(key, "has the id of another model");
      }
      if (info.ok()) {
        CheckSummary(store, std::string(key), *info, findings);
        const curator::ModelReports model{.study = IdInKey(key),
                                          .model = info->id,
                                          .reports = info->model->certificate().reports};
        const auto study = studies.find(model.study);
        if (prefix == models::kJobModelsPrefix || study == studies.end() || outlived.Has(model))
          return;
        return CheckReports(std::string(key), model, study->second, findings);
      }
      findings.Add({.key = std::string(key),
                    .what = ReasonOf(info.status(), key),
                    .remedy = Remedy::kQuarantineRecord});
    });
  }
  CheckForStraySummaries(store, keys, findings);
  VisitRecords(
      store, models::kEndpointPrefix, findings, [&](std::string_view key, std::string_view bytes) {
        ++findings.counts["endpoint"];
        const StatusOr<models::EndpointInfo> info = models::DecodeEndpoint(key, bytes);
        if (info.ok() && ids.contains(info->versions.back().model)) return;
        findings.Add(
            {.key = std::string(key),
             .what = info.ok() ? "serves a model that is not there" : ReasonOf(info.status(), key),
             .remedy = Remedy::kQuarantineRecord});
      });
}

void CheckKinds(const storage::Store& store, const ProgressCallback& progress, Findings& findings) {
  progress("all keys");
  static const auto* const known = new std::set<std::string, std::less<>>{
      "audit",   "batch",    "chunk", "count", "dataset",    "endpoint", "erased",
      "gone",    "hold",     "job",   "join",  "labels",     "ledger",   "meta",
      "model",   "outlived", "probe", "rows",  "quarantine", "sealing",  "spool",
      "summary", "sums",     "spent", "study", "trained",    "vault"};
  std::map<std::string, uint64_t> unknown;
  uint64_t aside = 0;
  VisitRecords(store, "", findings, [&](std::string_view key, std::string_view) {
    ++findings.counts["record"];
    const std::string kind(key.substr(0, key.find('/')));
    if (known->count(kind) == 0) ++unknown[kind];
    if (StartsWith(key, kQuarantinePrefix)) ++aside;
  });
  for (const auto& [kind, records] : unknown) {
    findings.notes.push_back({.key = StrCat(kind, "/"),
                              .what = StrCat(records,
                                             " records that this check does not "
                                             "look into")});
  }
  if (aside == 0) return;
  findings.notes.push_back({.key = std::string(kQuarantinePrefix),
                            .what = StrCat(aside, " records that a repair put aside")});
}

}  // namespace

void VisitRecords(const storage::Store& store, std::string_view prefix, Findings& findings,
                  absl::FunctionRef<void(std::string_view key, std::string_view value)> visit) {
  std::string last(prefix);
  const Status read = store.Scan(prefix, [&](std::string_view key, std::string_view value) {
    last = std::string(key);
    visit(key, value);
    return OkStatus();
  });
  if (read.ok()) return;
  findings.Add({.key = last,
                .what = StrCat("what follows it cannot be read: ", read.message()),
                .remedy = Remedy::kSalvageFiles});
}

std::string IdInKey(std::string_view key) {
  const std::vector<std::string_view> parts = StrSplit(key, '/');
  return parts.size() < 2 ? "" : std::string(parts[1]);
}

bool IsInQuarantine(const storage::Store& store, std::string_view key) {
  const auto found = store.Get(StrCat(kQuarantinePrefix, key));
  return found.ok() && found->has_value();
}

void CheckRecords(const storage::Store& store, const ProgressCallback& progress,
                  Findings& findings) {
  CheckFormat(store, findings);
  CheckKinds(store, progress, findings);
  const SoundStudies studies = CheckStudies(store, progress, findings);
  CheckTombstones(store, findings);
  CheckTicketKey(store, findings);
  CheckManifestKey(store, findings);
  CheckDirectKeys(store, findings);
  CheckModels(store, studies, progress, findings);
  CheckCentral(store, progress, findings);
  CheckAuditLog(store, progress, findings);
  NoteRestored(store, findings);
}

}  // namespace coppice::maintenance
