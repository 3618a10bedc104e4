#include "server/daemon/maintenance/restore.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string_view>
#include <system_error>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "coppice/v1/storage.pb.h"
#include "server/daemon/maintenance/check_records.h"
#include "server/datasets/ledger/ledger_record.h"
#include "server/store/audit_log/audit_log.h"
#include "server/store/rocksdb/backups.h"
#include "server/store/rocksdb/database_files.h"
#include "server/store/store_format.h"
#include "server/store/store_record.h"
#include "server/store/vault/keyed_store.h"

namespace coppice::maintenance {
namespace {

namespace fs = std::filesystem;

StatusOr<storage::StoreBackup> FindBackup(const std::string& folder, uint32_t id) {
  COPPICE_ASSIGN_OR_RETURN(const std::vector<storage::StoreBackup> backups,
                           storage::ListBackups(folder));
  if (id == 0 && !backups.empty()) return backups.back();
  for (const storage::StoreBackup& backup : backups) {
    if (backup.id == id) return backup;
  }
  return NotFoundError(StrCat("there is no backup ", id, " in ", folder));
}

std::string EncodeRestoreRecord(const storage::StoreBackup& backup, int64_t now) {
  v1::RestoredRecord record;
  record.set_unix_seconds(now);
  record.set_backup_id(backup.id);
  record.set_backup_unix_seconds(backup.unix_seconds);
  return record.SerializeAsString();
}

// Checks and marks the store in `data_dir`, which nobody uses yet.
Status MarkRestored(const std::string& data_dir, int64_t now, const ProgressCallback& progress,
                    rocksdb::Env* env, const vault::KeyOptions& keys, RestoreResult& result) {
  COPPICE_ASSIGN_OR_RETURN(const vault::KeyedStore store,
                           vault::OpenKeyedStore(data_dir, keys, env));
  COPPICE_RETURN_IF_ERROR(storage::OpenFormat(*store));
  if (store.sealed() != nullptr) CheckSeals(*store.sealed(), progress, result.findings);
  CheckRecords(*store, progress, result.findings);
  storage::StoreBatch batch;
  batch.Put(std::string(kRestoredKey), EncodeRestoreRecord(result.backup, now));
  COPPICE_ASSIGN_OR_RETURN(result.on_hold, HoldLedgers(*store, now, batch));
  // An unsound log is a finding; `repair` holds the ledgers anew and resumes the log.
  const StatusOr<std::unique_ptr<audit::AuditLog>> log = audit::AuditLog::Open(
      *store, [now] { return now; }, audit::kOfflineActor);
  if (IsDataLoss(log.status())) return store->Apply(batch);
  COPPICE_RETURN_IF_ERROR(log.status());
  return (*log)->Apply(std::move(batch),
                       {audit::NewAuditEvent(audit::kOfflineActor, "store/restore")});
}

}  // namespace

StatusOr<std::optional<RestoreRecord>> ReadRestoreRecord(const storage::Store& store) {
  COPPICE_ASSIGN_OR_RETURN(const std::optional<std::string> bytes,
                           store.Get(std::string(kRestoredKey)));
  if (!bytes.has_value()) return std::nullopt;
  COPPICE_ASSIGN_OR_RETURN(const v1::RestoredRecord record,
                           storage::ParseRecord<v1::RestoredRecord>(kRestoredKey, *bytes));
  return RestoreRecord{.unix_seconds = record.unix_seconds(),
                       .backup_id = record.backup_id(),
                       .backup_unix_seconds = record.backup_unix_seconds()};
}

StatusOr<std::vector<std::string>> HoldLedgers(const storage::Store& store, int64_t now,
                                               storage::StoreBatch& batch) {
  ledger::Holds holds;
  COPPICE_RETURN_IF_ERROR(
      store.Scan(ledger::kHoldPrefix, [&](std::string_view key, std::string_view value) {
        ledger::LoadHold(key, value, holds).IgnoreError();  // the check has reported it
        return OkStatus();
      }));
  // Loads each ledger as far as it is sound; a repair closes the damaged ones.
  ledger::AccountBooks books;
  COPPICE_RETURN_IF_ERROR(
      store.Scan(ledger::kLedgerPrefix, [&](std::string_view key, std::string_view value) {
        ledger::LoadEntry(key, value, books).IgnoreError();
        return OkStatus();
      }));
  std::vector<std::string> held;
  for (const auto& [dataset, book] : books) {
    const auto hold = holds.find(dataset);
    if (hold != holds.end() && hold->second.reason == ledger::HoldReason::kClosed) continue;
    held.push_back(dataset);
    // An existing hold keeps its head: nobody has been shown a newer one since.
    if (hold != holds.end()) continue;
    batch.Put(ledger::HoldKey(dataset),
              ledger::EncodeHold({.reason = ledger::HoldReason::kUnconfirmed,
                                  .unix_seconds = now,
                                  .head = book.head()}));
  }
  return held;
}

StatusOr<std::vector<std::string>> HoldAfterFailover(storage::Store& store, audit::AuditLog& log,
                                                     int64_t now) {
  COPPICE_ASSIGN_OR_RETURN(const std::optional<std::string> failover,
                           store.Get(storage::kFailoverKey));
  if (!failover.has_value()) return std::vector<std::string>();
  storage::StoreBatch batch;
  COPPICE_ASSIGN_OR_RETURN(std::vector<std::string> held, HoldLedgers(store, now, batch));
  batch.Delete(storage::kFailoverKey);
  COPPICE_RETURN_IF_ERROR(log.Apply(
      std::move(batch), {audit::NewAuditEvent(audit::kDaemonActor, "store/failover", *failover)}));
  return held;
}

StatusOr<RestoreResult> RestoreStore(const std::string& folder, uint32_t id,
                                     const std::string& data_dir, int64_t now,
                                     const ProgressCallback& progress, rocksdb::Env* env,
                                     const std::optional<vault::KeyFile>& keys) {
  const vault::KeyOptions options{.keys = keys, .unreadable = vault::UnreadableRecords::kShow};
  COPPICE_ASSIGN_OR_RETURN(const bool holds_store,
                           storage::HoldsStore(storage::StoreFolder(data_dir)));
  if (holds_store) {
    return FailedPreconditionError(StrCat(
        data_dir, " holds a store already: restore into another folder, or move that one away"));
  }
  RestoreResult result;
  COPPICE_ASSIGN_OR_RETURN(result.backup, FindBackup(folder, id));
  progress(StrCat("backup ", result.backup.id));
  COPPICE_RETURN_IF_ERROR(storage::VerifyBackup(folder, result.backup.id));
  // Removes what an earlier attempt left: it was not a store yet.
  const std::string staging = data_dir + "/restoring";
  std::error_code error;
  fs::remove_all(staging, error);
  COPPICE_RETURN_IF_ERROR(storage::MakeFolder(data_dir));
  COPPICE_RETURN_IF_ERROR(storage::MakePrivateFolder(staging));
  progress("copying");
  Status status = storage::CopyBackup(folder, result.backup.id, storage::StoreFolder(staging), env);
  if (status.ok()) status = MarkRestored(staging, now, progress, env, options, result);
  if (status.ok())
    status = storage::SwapIn(storage::StoreFolder(staging), storage::StoreFolder(data_dir));
  fs::remove_all(staging, error);
  if (!status.ok()) return status;
  return result;
}

}  // namespace coppice::maintenance
