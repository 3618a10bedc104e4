// Checks a log, and removes old entries (behind a seal) and what does not verify.

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "server/store/audit_log/audit_log.h"
#include "server/store/audit_log/ledger_links.h"
#include "server/store/store_record.h"

namespace coppice::audit {
namespace {

constexpr int64_t kSecondsOfDay = 86400;
// The limit of one write. The next day continues with the rest.
constexpr uint64_t kMaxDropped = 100'000;

StatusOr<Baselines> ReadBaselines(const storage::Store& store) {
  Baselines baselines;
  COPPICE_RETURN_IF_ERROR(
      store.Scan(kBaselinePrefix, [&](std::string_view key, std::string_view bytes) {
        const std::string_view id =
            key.substr(kBaselinePrefix.size(), key.size() - kBaselinePrefix.size() - 1);
        COPPICE_ASSIGN_OR_RETURN(baselines[std::string(id)],
                                 storage::ParseRecord<v1::AuditBaselineRecord>(key, bytes));
        return OkStatus();
      }));
  return baselines;
}

// Moves what dropped entries say of a ledger to its baseline.
void MoveToBaseline(const LinkedLedger& ledger, const LoggedLedger& dropped,
                    v1::AuditBaselineRecord& baseline) {
  baseline.set_hold_link(dropped.hold);
  for (const std::string& link : dropped.links) {
    const auto found = std::find(ledger.entries.begin(), ledger.entries.end(), link);
    if (found == ledger.entries.end()) continue;  // of a closed ledger
    const uint64_t through = static_cast<uint64_t>(found - ledger.entries.begin()) + 1;
    if (through <= baseline.entries()) continue;
    baseline.set_entries(through);
    baseline.set_link(link);
  }
}

}  // namespace

Status AuditLog::DropOld(int64_t now, LogWrite& write, v1::AuditHead& seal) const {
  if (days_kept_ == 0 || signer_ == nullptr) return OkStatus();
  const std::string oldest = AuditDay(now - int64_t{days_kept_} * kSecondsOfDay);
  COPPICE_ASSIGN_OR_RETURN(AuditChain chain,
                           seal.hash().empty() ? AuditChain() : AuditChain::After(seal));
  COPPICE_ASSIGN_OR_RETURN(const Baselines before, ReadBaselines(store_));
  LoggedLedgers logged = LedgersFromBaselines(before);
  uint64_t dropped = 0;
  // The last entry stays, whatever its age, because the chain continues from it.
  for (; dropped < kMaxDropped && chain.entries() + 1 < state_.end.chain.entries(); ++dropped) {
    const std::string key = EntryKey(chain.entries());
    COPPICE_ASSIGN_OR_RETURN(const v1::AuditEntry entry,
                             storage::ReadRecord<v1::AuditEntry>(store_, key));
    if (entry.day() >= oldest) break;
    COPPICE_RETURN_IF_ERROR(chain.Follow(entry));
    if (entry.sequence() >= state_.end.ledgers_from) AddLogEntry(entry, logged);
    write.batch().Delete(key);
  }
  if (dropped == 0) return OkStatus();
  COPPICE_ASSIGN_OR_RETURN(LinkedLedgers ledgers, ReadLedgers(store_, state_.salt));
  Baselines after;
  for (const auto& [dataset, of_log] : logged) {
    v1::AuditBaselineRecord& baseline = after[dataset] = of_log.baseline;
    MoveToBaseline(ledgers[dataset], of_log, baseline);
    write.batch().Put(BaselineKey(dataset), baseline.SerializeAsString());
  }
  write.end().baseline_hash = BaselineHash(write.end().ledgers_from, after);
  COPPICE_ASSIGN_OR_RETURN(seal, SignedHead(chain));
  write.batch().Put(std::string(kSealKey), seal.SerializeAsString());
  return OkStatus();
}

StatusOr<LogReport> InspectLog(const storage::Store& store) {
  std::vector<v1::AuditEntry> of_ledgers;
  COPPICE_ASSIGN_OR_RETURN(const StoredLog stored,
                           ReadLog(store, [&of_ledgers](const v1::AuditEntry& entry) {
                             if (TellsOfLedger(entry)) of_ledgers.push_back(entry);
                           }));
  LogReport report{.entries = stored.state.end.chain.entries(),
                   .problem = stored.problem,
                   .problem_key = stored.problem_key};
  if (!stored.problem.ok() || stored.state.salt.empty()) return report;
  LoggedLedgers logged = LedgersFromBaselines(stored.baselines);
  for (const v1::AuditEntry& entry : of_ledgers) {
    if (entry.sequence() >= stored.state.end.ledgers_from) AddLogEntry(entry, logged);
  }
  for (const auto& [number, record] : stored.state.open) {
    if (record.ended()) AddLogEntry(record.entry(), logged);
  }
  COPPICE_ASSIGN_OR_RETURN(const LinkedLedgers ledgers, ReadLedgers(store, stored.state.salt));
  report.mismatches = Compare(ledgers, logged);
  return report;
}

Status CheckLog(const storage::Store& store) {
  COPPICE_ASSIGN_OR_RETURN(const LogReport report, InspectLog(store));
  COPPICE_RETURN_IF_ERROR(report.problem);
  if (report.mismatches.empty()) return OkStatus();
  return storage::CorruptRecord(report.mismatches.front().key, report.mismatches.front().what);
}

StatusOr<std::string> ResumeLog(storage::Store& store, int64_t now, std::string_view quarantine) {
  COPPICE_ASSIGN_OR_RETURN(StoredLog log, ReadLog(store, [](const v1::AuditEntry&) {}));
  if (log.problem.ok()) return std::string();
  storage::StoreBatch batch;
  std::string salt = log.state.salt;
  if (salt.size() != kSaltBytes) {
    COPPICE_ASSIGN_OR_RETURN(salt, MakeSalt());
    batch.Put(std::string(kSaltKey), salt);
  }
  LogEnd next{.chain = log.problem_key == kSealKey ? AuditChain() : log.state.end.chain,
              .open_sum = OpenSum(salt)};
  const bool seal_is_sound = log.problem_key != kSealKey;
  std::optional<std::string> first;
  COPPICE_RETURN_IF_ERROR(
      store.Scan(kAuditPrefix, [&](std::string_view key, std::string_view bytes) {
        const bool is_sound_entry =
            seal_is_sound && StartsWith(key, kEntryPrefix) && key < EntryKey(next.chain.entries());
        if (is_sound_entry || (seal_is_sound && key == kSealKey)) return OkStatus();
        batch.Put(StrCat(quarantine, key), std::string(bytes));
        batch.Delete(key);
        if (!first.has_value()) first = std::string(key);
        return OkStatus();
      }));
  COPPICE_ASSIGN_OR_RETURN(const LinkedLedgers ledgers, ReadLedgers(store, salt));
  const Baselines baselines = BaselinesOf(ledgers);
  for (const auto& [dataset, baseline] : baselines) {
    batch.Put(BaselineKey(dataset), baseline.SerializeAsString());
  }
  next.ledgers_from = next.chain.entries();
  next.baseline_hash = BaselineHash(next.ledgers_from, baselines);
  v1::AuditEntry entry = NewAuditEvent(kOfflineActor, "log/resume").entry;
  entry.set_outcome("DATA_LOSS");
  entry.set_day(AuditDay(now));
  COPPICE_RETURN_IF_ERROR(next.chain.Append(entry));
  batch.Put(EntryKey(entry.sequence()), entry.SerializeAsString());
  batch.Put(std::string(kHeadKey), EncodeHead(next));
  COPPICE_RETURN_IF_ERROR(store.Apply(batch));
  return first.value_or(log.problem_key);
}

}  // namespace coppice::audit
