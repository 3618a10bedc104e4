#include "server/store/rocksdb/rocksdb_engine.h"

#include <fcntl.h>
#include <rocksdb/cache.h>
#include <rocksdb/table.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "common/base/status.h"
#include "common/base/text.h"

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
         StrContains(status.ToString(), "No space left");
}

Status InUse(const std::string& folder) {
  return FailedPreconditionError(
      StrCat("another process uses ", folder, ": stop it, or choose another data directory"));
}

std::string LockFileOf(const std::string& folder) { return folder + "/LOCK"; }

// Why this process may not write the lock file; 0 if it may. Does not open the file: closing it
// again would release the lock, if this process holds it.
int WhyReadOnly(const std::string& folder) {
  std::error_code error;
  const std::string file = LockFileOf(folder);
  const std::string& path = fs::exists(file, error) ? file : folder;
  return faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) == 0 ? 0 : errno;
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

Status FullDisk(const std::string& folder) {
  return ResourceExhaustedError(
      StrCat("the disk is full: free space on the file system of ", folder));
}

Status ToStatus(const rocksdb::Status& status, const std::string& folder) {
  if (status.ok()) return OkStatus();
  if (IsFullDisk(status)) return FullDisk(folder);
  if (status.IsCorruption()) {
    return DataLossError(StrCat("the store in ", folder, " is corrupt (", status.ToString(),
                                "); nothing was changed. Restore a copy of the folder"));
  }
  return UnavailableError(StrCat("the store in ", folder, ": ", status.ToString()));
}

Status ToOpenStatus(const rocksdb::Status& status, const std::string& folder) {
  // The lock has no error code of its own; the message contains its file name.
  if (!status.IsIOError() || !StrContains(status.ToString(), LockFileOf(folder))) {
    return ToStatus(status, folder);
  }
  const int why = WhyReadOnly(folder);
  if (why == 0) return InUse(folder);
  return FailedPreconditionError(StrCat(
      folder, " cannot be written: ", AsciiStrToLower(std::strerror(why)),
      ", and opening a store writes to it; make it writable for this user, or read it as it is "
      "with `coppiced check` or `coppiced copy`"));
}

StatusOr<FolderLock> FolderLock::Take(const std::string& folder) {
  const std::string file = LockFileOf(folder);
  std::error_code error;
  if (!fs::exists(file, error)) return FolderLock(nullptr, -1);
  rocksdb::FileLock* lock = nullptr;
  if (rocksdb::Env::Default()->LockFile(file, &lock).ok()) return FolderLock(lock, -1);
  return WhyReadOnly(folder) == 0 ? InUse(folder) : TakeShared(folder, file);
}

// RocksDB locks by a POSIX lock for writing, which a lock for reading excludes, and which needs no
// more than reading the file. Another mount of the same disk may be writable.
StatusOr<FolderLock> FolderLock::TakeShared(const std::string& folder, const std::string& file) {
  FolderLock taken(nullptr, open(file.c_str(), O_RDONLY | O_CLOEXEC));
  struct flock whole {};
  whole.l_type = F_RDLCK;
  if (taken.shared_ >= 0 && fcntl(taken.shared_, F_SETLK, &whole) == 0) return taken;
  if (errno == EACCES && taken.shared_ >= 0) errno = EAGAIN;  // POSIX allows either
  if (errno == EAGAIN) return InUse(folder);
  return FailedPreconditionError(
      StrCat("cannot lock ", file, ": ", AsciiStrToLower(std::strerror(errno))));
}

FolderLock::FolderLock(FolderLock&& other) noexcept
    : lock_(std::exchange(other.lock_, nullptr)), shared_(std::exchange(other.shared_, -1)) {}

FolderLock::~FolderLock() {
  if (lock_ != nullptr) rocksdb::Env::Default()->UnlockFile(lock_).PermitUncheckedError();
  if (shared_ >= 0) close(shared_);
}

}  // namespace coppice::storage
