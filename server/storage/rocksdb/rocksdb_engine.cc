#include "server/storage/rocksdb/rocksdb_engine.h"

#include <rocksdb/cache.h>
#include <rocksdb/table.h>

#include <cstdarg>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace coppice::storage {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMiB = size_t{1} << 20;
constexpr size_t kWriteBuffer = kReservedSpace / 2;

// Apart from its subcodes RocksDB keeps the operating system's text where it wraps one error in
// another.
bool IsFullDisk(const rocksdb::Status& status) {
  return status.subcode() == rocksdb::Status::kNoSpace ||
         status.subcode() == rocksdb::Status::kSpaceLimit ||
         absl::StrContains(status.ToString(), "No space left");
}

absl::Status InUse(const std::string& folder) {
  return absl::FailedPreconditionError(
      absl::StrCat("another process uses ", folder, ": stop it, or choose another data directory"));
}

// Discards RocksDB's own log of its work: errors come back as statuses, and Debian's build ends the
// process when this log meets a full disk.
class SilentLogger final : public rocksdb::Logger {
 public:
  using rocksdb::Logger::Logv;
  void Logv(const char*, va_list) override {}
};

}  // namespace

rocksdb::Options EngineOptions(rocksdb::Env* env) {
  rocksdb::Options options;
  options.env = env;
  // A crash leaves a torn last record, which was never acknowledged. Damage anywhere else in the
  // log is reported: other modes would drop acknowledged batches silently.
  options.wal_recovery_mode = rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords;
  options.write_buffer_size = kWriteBuffer;
  options.max_write_buffer_number = 2;
  options.max_open_files = 256;
  options.max_background_jobs = 2;
  options.info_log = std::make_shared<SilentLogger>();
  // Nearly all values are noise or already small, and do not compress.
  options.compression = rocksdb::kNoCompression;
  rocksdb::BlockBasedTableOptions table;
  table.cache_index_and_filter_blocks = true;
  table.block_cache = rocksdb::NewLRUCache(24 * kMiB);
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return options;
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
  // The lock has no error code of its own; the message contains its file name.
  if (status.IsIOError() && absl::StrContains(status.ToString(), folder + "/LOCK")) {
    return InUse(folder);
  }
  return ToStatus(status, folder);
}

absl::StatusOr<FolderLock> FolderLock::Take(const std::string& folder) {
  const std::string file = folder + "/LOCK";
  std::error_code error;
  if (!fs::exists(file, error)) return FolderLock(nullptr);
  rocksdb::FileLock* lock = nullptr;
  if (!rocksdb::Env::Default()->LockFile(file, &lock).ok()) return InUse(folder);
  return FolderLock(lock);
}

FolderLock::FolderLock(FolderLock&& other) noexcept : lock_(std::exchange(other.lock_, nullptr)) {}

FolderLock::~FolderLock() {
  if (lock_ != nullptr) rocksdb::Env::Default()->UnlockFile(lock_).PermitUncheckedError();
}

}  // namespace coppice::storage
