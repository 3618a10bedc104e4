// The Store on embedded RocksDB, in a folder of its own inside the curator's data directory:
// PATH/rocksdb, made with mode 0700 because the ticket key is inside (docs/storage.md).
//
// Below 32 MiB of free space Apply() returns ResourceExhausted and changes nothing, and reading
// goes on; once space is free the next Apply() works, without a restart. After any other failed
// write the next call opens the database again, and passes over what the write may have left in the
// log. Memory is about 60 MiB at most, whatever the number of keys.
//
// Guarantee  Store's. Every batch is written to the log and the log is synced before Apply()
//            returns. One process at a time: the folder is locked while the store is open.
// Errors     Store's, and from opening: FailedPrecondition if another process uses the folder;
//            DataLoss if it is corrupt, having changed nothing in it.
// Threads    safe to share.

#ifndef COPPICE_SERVER_STORAGE_ROCKSDB_ROCKSDB_STORE_H_
#define COPPICE_SERVER_STORAGE_ROCKSDB_ROCKSDB_STORE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "server/storage/store.h"

namespace rocksdb {
class Env;
}

namespace coppice::storage {

// Opens the store of the data directory `path`, or makes both. The parent of `path` must exist.
// The database's files are read and written through `env`, which must outlive the store; null is
// the operating system. A seam for tests of disks that fail.
absl::StatusOr<std::unique_ptr<Store>> OpenRocksDbStore(const std::string& path,
                                                        rocksdb::Env* env = nullptr);

// Opens the same store for reading alone: nothing of the folder is changed, and no process may open
// it meanwhile. FailedPrecondition if one has; NotFound if there is no store.
absl::StatusOr<std::unique_ptr<Store>> OpenRocksDbStoreForReading(const std::string& path);

}  // namespace coppice::storage

#endif  // COPPICE_SERVER_STORAGE_ROCKSDB_ROCKSDB_STORE_H_
