#include "server/store/rocksdb/rocksdb_store.h"

#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/wal_filter.h>
#include <rocksdb/write_batch.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "server/store/prefix.h"
#include "server/store/rocksdb/backups.h"
#include "server/store/rocksdb/database_files.h"
#include "server/store/rocksdb/rocksdb_engine.h"

namespace coppice::storage {
namespace {

namespace fs = std::filesystem;

constexpr int kListTries = 20;

// Returns the sequence number of a written batch's first change: its first eight bytes.
uint64_t SequenceOf(const rocksdb::WriteBatch& batch) {
  const std::string& bytes = batch.Data();
  uint64_t sequence = 0;
  for (size_t i = 8; i-- > 0;) sequence = sequence << 8 | static_cast<uint8_t>(bytes[i]);
  return sequence;
}

// Knows up to which change the log was acknowledged. Reading the log again after a failed write
// skips later changes: a write whose sync failed may be complete there, though its caller was told
// that it failed.
class AcknowledgedLogFilter final : public rocksdb::WalFilter {
 public:
  // Must be called before the caller releases the database, so before anybody can reopen it.
  void Add(const rocksdb::WriteBatch& batch) {
    if (batch.Count() > 0) Add(SequenceOf(batch) + batch.Count() - 1);
  }
  void Add(uint64_t last) {
    uint64_t known = last_;
    while (known < last && !last_.compare_exchange_weak(known, last)) {
    }
  }

  const char* Name() const override { return "coppice.AcknowledgedLogFilter"; }
  WalProcessingOption LogRecordFound(unsigned long long, const std::string&,
                                     const rocksdb::WriteBatch& batch, rocksdb::WriteBatch*,
                                     bool*) override {
    return SequenceOf(batch) > last_ ? WalProcessingOption::kIgnoreCurrentRecord
                                     : WalProcessingOption::kContinueProcessing;
  }

 private:
  std::atomic<uint64_t> last_{0};
};

// `filter`, which must outlive the database, selects which log records are read; null reads all.
StatusOr<Database> OpenDatabase(rocksdb::Env* env, const std::string& folder, bool create,
                                rocksdb::WalFilter* filter) {
  rocksdb::Options options = EngineOptions(env);
  options.create_if_missing = create;
  options.wal_filter = filter;
  rocksdb::DB* db = nullptr;
  COPPICE_RETURN_IF_ERROR(ToOpenStatus(rocksdb::DB::Open(options, folder, &db), folder));
  return Database(db);
}

StatusOr<std::optional<std::string>> GetFrom(rocksdb::DB& db, std::string_view key,
                                             const std::string& folder) {
  std::string value;
  const rocksdb::Status status = db.Get(rocksdb::ReadOptions(), ToSlice(key), &value);
  if (status.IsNotFound()) return std::nullopt;
  COPPICE_RETURN_IF_ERROR(ToStatus(status, folder));
  return value;
}

Status ScanIn(rocksdb::DB& db, std::string_view prefix,
              absl::FunctionRef<Status(std::string_view key, std::string_view value)> visit,
              const std::string& folder) {
  const std::unique_ptr<rocksdb::Iterator> it(db.NewIterator(rocksdb::ReadOptions()));
  for (it->Seek(ToSlice(prefix)); it->Valid() && it->key().starts_with(ToSlice(prefix));
       it->Next()) {
    COPPICE_RETURN_IF_ERROR(visit(ToView(it->key()), ToView(it->value())));
  }
  return ToStatus(it->status(), folder);
}

class RocksDbStore final : public Store {
 public:
  RocksDbStore(Database db, rocksdb::Env* env, std::string folder)
      : db_(std::move(db)), env_(env), folder_(std::move(folder)) {
    acknowledged_.Add(db_->GetLatestSequenceNumber());
  }

  StatusOr<std::optional<std::string>> Get(std::string_view key) const override {
    COPPICE_ASSIGN_OR_RETURN(const Database db, Acquire());
    return GetFrom(*db, key, folder_);
  }

  Status Apply(const StoreBatch& batch) override {
    rocksdb::WriteBatch writes;
    COPPICE_RETURN_IF_ERROR(Translate(batch, writes));
    COPPICE_RETURN_IF_ERROR(CheckSpace(writes.GetDataSize()));
    COPPICE_ASSIGN_OR_RETURN(const Database db, Acquire());
    rocksdb::WriteOptions synced;
    synced.sync = true;
    const rocksdb::Status status = db->Write(synced, &writes);
    if (status.ok()) {
      acknowledged_.Add(writes);
    } else {
      Close(db);
    }
    return ToStatus(status, folder_);
  }

  Status Purge(std::string_view prefix) override {
    const std::optional<std::string> end = EndOfPrefix(std::string(prefix));
    if (!end) return InvalidArgumentError("a prefix to purge must have a byte below 255");
    const MutexLock no_backup(files_mutex_);  // a backup holds on to old files
    COPPICE_ASSIGN_OR_RETURN(const Database db, Acquire());
    // Ends the log: the next one begins empty.
    COPPICE_RETURN_IF_ERROR(ToStatus(db->Flush(rocksdb::FlushOptions()), folder_));
    rocksdb::CompactRangeOptions all;
    all.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForce;
    const rocksdb::Slice first = ToSlice(prefix);
    const rocksdb::Slice last = ToSlice(*end);
    COPPICE_RETURN_IF_ERROR(ToStatus(db->CompactRange(all, &first, &last), folder_));
    // RocksDB's own threads may hold old files, or be about to remove them, so this waits for them.
    COPPICE_RETURN_IF_ERROR(ToStatus(db->PauseBackgroundWork(), folder_));
    COPPICE_RETURN_IF_ERROR(ToStatus(db->ContinueBackgroundWork(), folder_));
    // Removes the files that this made obsolete now rather than later.
    return ToStatus(db->EnableFileDeletions(/*force=*/true), folder_);
  }

  Status Scan(std::string_view prefix,
              absl::FunctionRef<Status(std::string_view key, std::string_view value)> visit)
      const override {
    COPPICE_ASSIGN_OR_RETURN(const Database db, Acquire());
    return ScanIn(*db, prefix, visit, folder_);
  }

  StatusOr<StoreBackup> Backup(const BackupOptions& options) override {
    const MutexLock copying(files_mutex_);
    COPPICE_ASSIGN_OR_RETURN(const Database db, Acquire());
    BackupOptions ours = options;
    ours.progress = [&](uint64_t bytes) {
      // A failed write, and every later writer, waits until this copy of the handle is gone.
      const bool current = IsCurrent(db);
      return current && (!options.progress || options.progress(bytes));
    };
    return MakeBackup(*db, ours);
  }

  StatusOr<std::vector<StoreBackup>> ListBackups(const std::string& folder) const override {
    // The list fails if a backup is removed between being found and being read: making a backup
    // removes old ones. Waiting for that backup instead would take as long as its disk.
    StatusOr<std::vector<StoreBackup>> backups = storage::ListBackups(folder);
    for (int i = 0; i < kListTries && IsUnavailable(backups.status()); ++i) {
      absl::SleepFor(absl::Milliseconds(10));
      backups = storage::ListBackups(folder);
    }
    if (IsNotFound(backups.status())) return std::vector<StoreBackup>();
    return backups;
  }

 private:
  // Returns the open database; reopens it if a failed write has closed it.
  StatusOr<Database> Acquire() const {
    const MutexLock lock(mutex_);
    if (db_ != nullptr) return db_;
    StatusOr<Database> opened = OpenDatabase(env_, folder_, /*create=*/false, &acknowledged_);
    if (IsFailedPrecondition(opened.status())) {  // another thread still holds the old one
      return UnavailableError(StrCat("the store in ", folder_, " is being reopened"));
    }
    if (opened.ok()) db_ = *opened;
    return opened;
  }

  // A failed write leaves the end of the log undefined, and RocksDB accepts no more writes.
  // Reopening reads the log as far as it was acknowledged.
  void Close(const Database& failed) {
    const MutexLock lock(mutex_);
    if (db_ == failed) db_.reset();
  }

  bool IsCurrent(const Database& db) const {
    const MutexLock lock(mutex_);
    return db_ == db;
  }

  Status Translate(const StoreBatch& batch, rocksdb::WriteBatch& writes) const {
    for (const std::string& prefix : batch.deleted_prefixes()) {
      const std::optional<std::string> end = EndOfPrefix(prefix);
      if (!end) return InvalidArgumentError("a prefix to delete must have a byte below 255");
      COPPICE_RETURN_IF_ERROR(ToStatus(writes.DeleteRange(prefix, *end), folder_));
    }
    for (const std::string& key : batch.deleted_keys()) {
      COPPICE_RETURN_IF_ERROR(ToStatus(writes.Delete(key), folder_));
    }
    for (const auto& [key, value] : batch.puts()) {
      COPPICE_RETURN_IF_ERROR(ToStatus(writes.Put(key, value), folder_));
    }
    return OkStatus();
  }

  // Refusing early keeps the database open for reading while the disk is full.
  Status CheckSpace(size_t bytes) const {
    uint64_t available = 0;
    const rocksdb::Status known = env_->GetFreeSpace(folder_, &available);
    if (!known.ok() || available >= bytes + kReservedSpace) return OkStatus();
    return FullDisk(folder_);
  }

  Mutex files_mutex_;  // held while files are copied or purged; taken before mutex_
  mutable AcknowledgedLogFilter acknowledged_;
  mutable Mutex mutex_;
  mutable Database db_ ABSL_GUARDED_BY(mutex_);  // null after a failed write
  rocksdb::Env* const env_;
  const std::string folder_;
};

// Reads without changing anything. Holds the lock, so that no daemon changes the store meanwhile.
class ReadOnlyStore final : public Store {
 public:
  ReadOnlyStore(Database db, std::string folder, FolderLock lock)
      : lock_(std::move(lock)), folder_(std::move(folder)), db_(std::move(db)) {}

  StatusOr<std::optional<std::string>> Get(std::string_view key) const override {
    return GetFrom(*db_, key, folder_);
  }
  Status Scan(std::string_view prefix,
              absl::FunctionRef<Status(std::string_view key, std::string_view value)> visit)
      const override {
    return ScanIn(*db_, prefix, visit, folder_);
  }
  Status Apply(const StoreBatch&) override { return OnlyRead(); }
  Status Purge(std::string_view) override { return OnlyRead(); }

 private:
  static Status OnlyRead() { return FailedPreconditionError("the store is open for reading only"); }

  const FolderLock lock_;
  const std::string folder_;
  const Database db_;
};

Status CheckCurrent(const fs::path& folder) {
  std::error_code error;
  if (fs::exists(folder / "CURRENT", error)) return OkStatus();
  return ToStatus(rocksdb::Status::Corruption("the file CURRENT is missing"), folder.string());
}

}  // namespace

StatusOr<std::unique_ptr<Store>> OpenRocksDbStore(const std::string& path, rocksdb::Env* env) {
  if (env == nullptr) env = rocksdb::Env::Default();
  COPPICE_RETURN_IF_ERROR(MakeFolder(path));
  const std::string folder = StoreFolder(path);
  COPPICE_RETURN_IF_ERROR(MakePrivateFolder(folder));
  // RocksDB would take a store without its CURRENT file for a new one, and remove what is left.
  COPPICE_ASSIGN_OR_RETURN(const bool holds_store, HoldsStore(folder));
  if (holds_store) COPPICE_RETURN_IF_ERROR(CheckCurrent(folder));
  COPPICE_ASSIGN_OR_RETURN(Database db,
                           OpenDatabase(env, folder, /*create=*/!holds_store, /*filter=*/nullptr));
  return std::make_unique<RocksDbStore>(std::move(db), env, folder);
}

StatusOr<std::unique_ptr<Store>> OpenRocksDbStoreForReading(const std::string& path) {
  const std::string folder = StoreFolder(path);
  COPPICE_ASSIGN_OR_RETURN(const bool holds_store, HoldsStore(folder));
  if (!holds_store) return NotFoundError(StrCat(path, " holds no store"));
  COPPICE_ASSIGN_OR_RETURN(FolderLock lock, FolderLock::Take(folder));
  COPPICE_RETURN_IF_ERROR(CheckCurrent(folder));
  rocksdb::DB* db = nullptr;
  COPPICE_RETURN_IF_ERROR(
      ToStatus(rocksdb::DB::OpenForReadOnly(EngineOptions(), folder, &db), folder));
  return std::make_unique<ReadOnlyStore>(Database(db), folder, std::move(lock));
}

}  // namespace coppice::storage
