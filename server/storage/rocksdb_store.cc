#include "server/storage/rocksdb_store.h"

#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/options.h>
#include <rocksdb/table.h>
#include <rocksdb/wal_filter.h>
#include <rocksdb/write_batch.h>

#include <atomic>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"

namespace coppice {
namespace {

namespace fs = std::filesystem;

rocksdb::Slice ToSlice(absl::string_view bytes) { return {bytes.data(), bytes.size()}; }
absl::string_view ToView(const rocksdb::Slice& slice) { return {slice.data(), slice.size()}; }

// Besides its subcodes RocksDB has the operating system's text, where it wraps one error in
// another.
bool IsFullDisk(const rocksdb::Status& status) {
  return status.subcode() == rocksdb::Status::kNoSpace ||
         status.subcode() == rocksdb::Status::kSpaceLimit ||
         absl::StrContains(status.ToString(), "No space left");
}

absl::Status FullDisk(const std::string& folder) {
  return absl::ResourceExhaustedError(
      absl::StrCat("the disk is full: free space on the file system of ", folder));
}

absl::Status ToStatus(const rocksdb::Status& status, const std::string& folder) {
  if (status.ok()) return absl::OkStatus();
  if (IsFullDisk(status)) return FullDisk(folder);
  if (status.IsCorruption()) {
    return absl::DataLossError(
        absl::StrCat("the store in ", folder, " is corrupt (", status.ToString(),
                     "); nothing was changed. Restore a copy of the folder"));
  }
  return absl::UnavailableError(absl::StrCat("the store in ", folder, ": ", status.ToString()));
}

absl::Status ToOpenStatus(const rocksdb::Status& status, const std::string& folder) {
  // The lock has no code of its own; its file name is in the message.
  if (status.IsIOError() && absl::StrContains(status.ToString(), folder + "/LOCK")) {
    return absl::FailedPreconditionError(absl::StrCat(
        "another process uses ", folder, ": stop it, or choose another data directory"));
  }
  return ToStatus(status, folder);
}

// The first key after all that start with `prefix`; none if there is no such key.
std::optional<std::string> EndOfPrefix(std::string prefix) {
  while (!prefix.empty() && prefix.back() == '\xff') prefix.pop_back();
  if (prefix.empty()) return std::nullopt;
  ++prefix.back();
  return prefix;
}

constexpr size_t kMiB = size_t{1} << 20;
constexpr size_t kWriteBuffer = 16 * kMiB;
// Space that RocksDB needs to write out its buffers and to recover.
constexpr size_t kReservedSpace = 2 * kWriteBuffer;

// RocksDB's own log of what it does. It goes nowhere: errors come back as statuses, and Debian's
// build ends the process when this log meets a full disk.
class SilentLogger final : public rocksdb::Logger {
 public:
  using rocksdb::Logger::Logv;
  void Logv(const char*, va_list) override {}
};

rocksdb::Options MakeOptions(rocksdb::Env* env) {
  rocksdb::Options options;
  options.env = env;
  // A torn last record is what a crash leaves, and was never acknowledged. Damage anywhere else in
  // the log is reported: other modes would drop acknowledged batches without a word.
  options.wal_recovery_mode = rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords;
  options.write_buffer_size = kWriteBuffer;
  options.max_write_buffer_number = 2;
  options.max_open_files = 256;
  options.max_background_jobs = 2;
  options.info_log = std::make_shared<SilentLogger>();
  // Nearly all of it is random ids, which do not compress.
  options.compression = rocksdb::kNoCompression;
  rocksdb::BlockBasedTableOptions table;
  table.cache_index_and_filter_blocks = true;
  table.block_cache = rocksdb::NewLRUCache(24 * kMiB);
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return options;
}

// The sequence number of the first change of a batch that was written: its first eight bytes.
uint64_t SequenceOf(const rocksdb::WriteBatch& batch) {
  const std::string& bytes = batch.Data();
  uint64_t sequence = 0;
  for (size_t i = 8; i-- > 0;) sequence = sequence << 8 | static_cast<uint8_t>(bytes[i]);
  return sequence;
}

// How far the log was acknowledged. When it is read again after a failed write, what comes later is
// passed over: a write whose sync failed may stand there whole, and its caller was told that it
// failed.
class Acknowledged final : public rocksdb::WalFilter {
 public:
  // Before the caller lets go of the database, so before anybody can open it again.
  void Add(const rocksdb::WriteBatch& batch) {
    if (batch.Count() > 0) Add(SequenceOf(batch) + batch.Count() - 1);
  }
  void Add(uint64_t last) {
    uint64_t known = last_;
    while (known < last && !last_.compare_exchange_weak(known, last)) {
    }
  }

  const char* Name() const override { return "coppice.Acknowledged"; }
  WalProcessingOption LogRecordFound(unsigned long long, const std::string&,
                                     const rocksdb::WriteBatch& batch, rocksdb::WriteBatch*,
                                     bool*) override {
    return SequenceOf(batch) > last_ ? WalProcessingOption::kIgnoreCurrentRecord
                                     : WalProcessingOption::kContinueProcessing;
  }

 private:
  std::atomic<uint64_t> last_{0};
};

using Database = std::shared_ptr<rocksdb::DB>;

// `filter`, which must outlive the database, chooses what of the log is read; null for all of it.
absl::StatusOr<Database> OpenDatabase(rocksdb::Env* env, const std::string& folder, bool create,
                                      rocksdb::WalFilter* filter) {
  rocksdb::Options options = MakeOptions(env);
  options.create_if_missing = create;
  options.wal_filter = filter;
  rocksdb::DB* db = nullptr;
  COPPICE_RETURN_IF_ERROR(ToOpenStatus(rocksdb::DB::Open(options, folder, &db), folder));
  return Database(db);
}

class RocksDbStore final : public Store {
 public:
  RocksDbStore(Database db, rocksdb::Env* env, std::string folder)
      : db_(std::move(db)), env_(env), folder_(std::move(folder)) {
    acknowledged_.Add(db_->GetLatestSequenceNumber());
  }

  absl::StatusOr<std::optional<std::string>> Get(absl::string_view key) const override {
    COPPICE_ASSIGN_OR_RETURN(const Database db, Acquire());
    std::string value;
    const rocksdb::Status status = db->Get(rocksdb::ReadOptions(), ToSlice(key), &value);
    if (status.IsNotFound()) return std::nullopt;
    COPPICE_RETURN_IF_ERROR(ToStatus(status, folder_));
    return value;
  }

  absl::Status Apply(const StoreBatch& batch) override {
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

  absl::Status Purge(absl::string_view prefix) override {
    const std::optional<std::string> end = EndOfPrefix(std::string(prefix));
    if (!end) return absl::InvalidArgumentError("a prefix to purge must have a byte below 255");
    COPPICE_ASSIGN_OR_RETURN(const Database db, Acquire());
    // Ends the log: the next one begins empty.
    COPPICE_RETURN_IF_ERROR(ToStatus(db->Flush(rocksdb::FlushOptions()), folder_));
    rocksdb::CompactRangeOptions all;
    all.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForce;
    const rocksdb::Slice first = ToSlice(prefix);
    const rocksdb::Slice last = ToSlice(*end);
    COPPICE_RETURN_IF_ERROR(ToStatus(db->CompactRange(all, &first, &last), folder_));
    // Removes the files that this made superfluous now, and not some time later.
    return ToStatus(db->EnableFileDeletions(/*force=*/true), folder_);
  }

  absl::Status Scan(absl::string_view prefix,
                    absl::FunctionRef<absl::Status(absl::string_view key, absl::string_view value)>
                        visit) const override {
    COPPICE_ASSIGN_OR_RETURN(const Database db, Acquire());
    const std::unique_ptr<rocksdb::Iterator> it(db->NewIterator(rocksdb::ReadOptions()));
    for (it->Seek(ToSlice(prefix)); it->Valid() && it->key().starts_with(ToSlice(prefix));
         it->Next()) {
      COPPICE_RETURN_IF_ERROR(visit(ToView(it->key()), ToView(it->value())));
    }
    return ToStatus(it->status(), folder_);
  }

 private:
  // The open database; opens it again if a failed write has closed it.
  absl::StatusOr<Database> Acquire() const {
    const std::lock_guard lock(mutex_);
    if (db_ != nullptr) return db_;
    absl::StatusOr<Database> opened = OpenDatabase(env_, folder_, /*create=*/false, &acknowledged_);
    if (absl::IsFailedPrecondition(opened.status())) {  // Another thread still holds the old one.
      return absl::UnavailableError(absl::StrCat("the store in ", folder_, " is being reopened"));
    }
    if (opened.ok()) db_ = *opened;
    return opened;
  }

  // A failed write leaves the end of the log undefined, and RocksDB takes no more. Opening again
  // reads the log as far as it was acknowledged.
  void Close(const Database& failed) {
    const std::lock_guard lock(mutex_);
    if (db_ == failed) db_.reset();
  }

  absl::Status Translate(const StoreBatch& batch, rocksdb::WriteBatch& writes) const {
    for (const std::string& prefix : batch.deleted_prefixes()) {
      const std::optional<std::string> end = EndOfPrefix(prefix);
      if (!end) return absl::InvalidArgumentError("a prefix to delete must have a byte below 255");
      COPPICE_RETURN_IF_ERROR(ToStatus(writes.DeleteRange(prefix, *end), folder_));
    }
    for (const auto& [key, value] : batch.puts()) {
      COPPICE_RETURN_IF_ERROR(ToStatus(writes.Put(key, value), folder_));
    }
    return absl::OkStatus();
  }

  // Refusing early keeps the database open for reading while the disk is full.
  absl::Status CheckSpace(size_t bytes) const {
    uint64_t available = 0;
    const rocksdb::Status known = env_->GetFreeSpace(folder_, &available);
    if (!known.ok() || available >= bytes + kReservedSpace) return absl::OkStatus();
    return FullDisk(folder_);
  }

  mutable Acknowledged acknowledged_;
  mutable std::mutex mutex_;
  mutable Database db_;  // guarded by mutex_; null after a failed write
  rocksdb::Env* const env_;
  const std::string folder_;
};

absl::Status MakeFolder(const fs::path& folder, fs::perms mode) {
  std::error_code error;
  if (fs::is_directory(folder, error)) return absl::OkStatus();
  if (fs::create_directory(folder, error)) fs::permissions(folder, mode, error);
  if (!error) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("cannot make the folder ", folder.string(), ": ", error.message()));
}

// Whether `folder` has held a store. Without this, a store that lost its CURRENT file would be
// taken for a new one, and what is left of it removed.
absl::StatusOr<bool> HoldsStore(const fs::path& folder) {
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const fs::path name = it->path().filename();
    if (name == "CURRENT" || name.extension() == ".sst" || name.extension() == ".log") return true;
  }
  if (!error) return false;
  return absl::UnavailableError(
      absl::StrCat("cannot list the folder ", folder.string(), ": ", error.message()));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Store>> OpenRocksDbStore(const std::string& path,
                                                        rocksdb::Env* env) {
  if (env == nullptr) env = rocksdb::Env::Default();
  COPPICE_RETURN_IF_ERROR(MakeFolder(path, fs::perms::owner_all));
  const fs::path folder = fs::path(path) / "rocksdb";
  COPPICE_RETURN_IF_ERROR(MakeFolder(folder, fs::perms::owner_all));
  COPPICE_ASSIGN_OR_RETURN(const bool holds_store, HoldsStore(folder));
  std::error_code error;
  if (holds_store && !fs::exists(folder / "CURRENT", error)) {
    return ToStatus(rocksdb::Status::Corruption("the file CURRENT is missing"), folder.string());
  }
  COPPICE_ASSIGN_OR_RETURN(Database db, OpenDatabase(env, folder.string(), /*create=*/!holds_store,
                                                     /*filter=*/nullptr));
  return std::make_unique<RocksDbStore>(std::move(db), env, folder.string());
}

}  // namespace coppice
