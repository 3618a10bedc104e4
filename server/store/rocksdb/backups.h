// Backups of a RocksDB store in their own folder, by RocksDB's backup engine: incremental (files
// that two backups share are kept once) and checksummed.
//
// A backup contains the whole store, with the ticket key and private rows: its folder is made for
// its owner only, and one that is open to others is refused.
//
// Guarantee  a backup appears under its final name only when all of it is on disk; the next one
//            removes what was cut short.
// Errors     NotFound: no such backup. DataLoss: it is damaged. ResourceExhausted: the disk is
//            full. Cancelled: `progress` said so. FailedPrecondition: the folder is open to others.
// Threads    one call at a time per folder.

#ifndef COPPICE_SERVER_STORE_ROCKSDB_BACKUPS_H_
#define COPPICE_SERVER_STORE_ROCKSDB_BACKUPS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "server/store/store.h"

namespace rocksdb {
class DB;
class Env;
}  // namespace rocksdb

namespace coppice::storage {

StatusOr<StoreBackup> MakeBackup(rocksdb::DB& db, const BackupOptions& options);

// Lists complete backups, oldest first. Does not check their files.
StatusOr<std::vector<StoreBackup>> ListBackups(const std::string& folder);

// Reads every file of the backup and compares its checksum.
Status VerifyBackup(const std::string& folder, uint32_t id);

// Puts the backup's files into `database`, a folder that must not exist yet. Verify it first. `env`
// is as in rocksdb_store.h.
Status CopyBackup(const std::string& folder, uint32_t id, const std::string& database,
                  rocksdb::Env* env = nullptr);

}  // namespace coppice::storage

#endif  // COPPICE_SERVER_STORE_ROCKSDB_BACKUPS_H_
