// Our options for RocksDB, and its statuses as ours. For the files of this folder only.

#ifndef COPPICE_SERVER_STORE_ROCKSDB_ROCKSDB_ENGINE_H_
#define COPPICE_SERVER_STORE_ROCKSDB_ROCKSDB_ENGINE_H_

#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/options.h>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "common/base/status.h"

namespace coppice::storage {

using Database = std::shared_ptr<rocksdb::DB>;

// Space that RocksDB needs to write out its buffers and to recover.
inline constexpr size_t kReservedSpace = size_t{32} << 20;

inline rocksdb::Slice ToSlice(std::string_view bytes) { return {bytes.data(), bytes.size()}; }
inline std::string_view ToView(const rocksdb::Slice& slice) { return {slice.data(), slice.size()}; }

rocksdb::Options EngineOptions(rocksdb::Env* env = rocksdb::Env::Default());

// Returns ResourceExhausted, DataLoss or Unavailable, naming the folder.
Status ToStatus(const rocksdb::Status& status, const std::string& folder);
// Also returns FailedPrecondition: another process has the folder open, or nobody may write there.
Status ToOpenStatus(const rocksdb::Status& status, const std::string& folder);
Status FullDisk(const std::string& folder);

// Keeps every other process from opening the database in a folder for writing while this lives.
// Where the folder is read-only here (a mount, permissions), others may read it meanwhile.
class FolderLock {
 public:
  // FailedPrecondition if another process has it open. A folder without a lock file is not locked.
  static StatusOr<FolderLock> Take(const std::string& folder);

  FolderLock(FolderLock&& other) noexcept;
  FolderLock& operator=(FolderLock&&) = delete;
  ~FolderLock();

 private:
  FolderLock(rocksdb::FileLock* lock, int shared) : lock_(lock), shared_(shared) {}

  static StatusOr<FolderLock> TakeShared(const std::string& folder, const std::string& file);

  rocksdb::FileLock* lock_;
  int shared_;  // a descriptor with a read lock; below 0 if there is none
};

}  // namespace coppice::storage

#endif  // COPPICE_SERVER_STORE_ROCKSDB_ROCKSDB_ENGINE_H_
