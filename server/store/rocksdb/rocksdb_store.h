// The Store on embedded RocksDB, in its own folder inside the curator's data directory:
// PATH/rocksdb, made with mode 0700 because it contains the ticket key (docs/storage.md).
//
// Below 32 MiB of free space Apply() returns ResourceExhausted and changes nothing, and reading
// continues; once space is free the next Apply() works, without a restart. After any other failed
// write the next call reopens the database, and skips what that write may have left in the log.
// Memory is about 60 MiB at most, whatever the number of keys.
//
// Guarantee  Store's. Every batch is written to the log, and the log is synced, before Apply()
//            returns. One process at a time: the folder is locked while the store is open.
// Errors     Store's, and from opening: FailedPrecondition if another process uses the folder;
//            DataLoss, with nothing changed, if it is corrupt.
// Threads    safe to share.

#ifndef COPPICE_SERVER_STORE_ROCKSDB_ROCKSDB_STORE_H_
#define COPPICE_SERVER_STORE_ROCKSDB_ROCKSDB_STORE_H_

#include <memory>
#include <string>

#include "common/base/status.h"
#include "server/store/store.h"

namespace rocksdb {
class Env;
}

namespace coppice::storage {

// Opens the store of the data directory `path`, or makes both. The parent of `path` must exist.
// Reads and writes files through `env`, which must outlive the store; null means the operating
// system. Tests use it for disks that fail.
StatusOr<std::unique_ptr<Store>> OpenRocksDbStore(const std::string& path,
                                                  rocksdb::Env* env = nullptr);

// Opens the store for reading alone: changes nothing in the folder, and no process may open it
// meanwhile. FailedPrecondition if one has it open; NotFound if there is no store.
StatusOr<std::unique_ptr<Store>> OpenRocksDbStoreForReading(const std::string& path);

}  // namespace coppice::storage

#endif  // COPPICE_SERVER_STORE_ROCKSDB_ROCKSDB_STORE_H_
