// Backups of a RocksDB store in a folder of their own: RocksDB's backup engine, incremental (files
// that two backups have in common are kept once) and checksummed.
//
// A backup holds what the store holds, the ticket key and private rows too: its folder is made for
// its owner only, and one that is open to others is refused.
//
// Guarantee  a backup appears under its final name when all of it is on disk; the next one removes
//            what was cut short.
// Errors     NotFound: no such backup. DataLoss: it is damaged. ResourceExhausted: the disk is
//            full. Cancelled: progress said stop. FailedPrecondition: the folder is open to others.
// Threads    one call at a time for one folder.

#ifndef COPPICE_SERVER_STORAGE_ROCKSDB_BACKUPS_H_
#define COPPICE_SERVER_STORAGE_ROCKSDB_BACKUPS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/storage/store.h"

namespace rocksdb {
class DB;
class Env;
}  // namespace rocksdb

namespace coppice::storage {

absl::StatusOr<StoreBackup> MakeBackup(rocksdb::DB& db, const BackupOptions& options);

// Lists whole backups, oldest first. Does not check whether their files are sound.
absl::StatusOr<std::vector<StoreBackup>> ListBackups(const std::string& folder);

// Reads every file of the backup and compares its checksum.
absl::Status VerifyBackup(const std::string& folder, uint32_t id);

// Puts the backup's files into `database`, a folder that is not there yet. Verify it first. `env`
// is as in rocksdb_store.h.
absl::Status CopyBackup(const std::string& folder, uint32_t id, const std::string& database,
                        rocksdb::Env* env = nullptr);

}  // namespace coppice::storage

#endif  // COPPICE_SERVER_STORAGE_ROCKSDB_BACKUPS_H_
