// Checks and salvages the files of a store while no process uses it.
//
// Every block of a table has RocksDB's checksum; the log and the manifest are checked when the
// store is opened.
//
// Errors     FailedPrecondition if another process uses the folder. NotFound if it holds no store.

#ifndef COPPICE_SERVER_STORE_ROCKSDB_DATABASE_FILES_H_
#define COPPICE_SERVER_STORE_ROCKSDB_DATABASE_FILES_H_

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"

namespace coppice::storage {

// Returns the database's folder in a data directory.
std::string StoreFolder(const std::string& data_dir);
// Makes a folder for its owner alone. An existing folder stays as it is: use this for folders whose
// private parts have their own folders.
Status MakeFolder(const std::filesystem::path& folder);
// FailedPrecondition if users other than the owner and the owner's chosen group may enter, list or
// change `folder`, or if it belongs to another user. OK if it does not exist.
Status CheckPrivateFolder(const std::filesystem::path& folder);
// Does both, for every folder that will contain private rows or keys.
Status MakePrivateFolder(const std::filesystem::path& folder);
// Whether `folder` holds a store, even one that has lost files.
StatusOr<bool> HoldsStore(const std::filesystem::path& folder);

struct FileProblem {
  std::string file;
  std::string what;
};

// Reads every table and every log in `database`, a RocksDB folder. Changes nothing. Calls
// `progress` with the name of each file before it is read.
StatusOr<std::vector<FileProblem>> CheckFiles(
    const std::string& database, const std::function<void(const std::string& file)>& progress);

// DataLoss if a block of the table fails its checksum. OK if there is no such file.
Status CheckTable(const std::string& file);

// Returns what is wrong with the bytes of a log; empty if nothing is. It finds a record that fails
// its checksum, and a record that is cut short though sound bytes follow. RocksDB misses the
// second: it drops a record longer than the rest of the file, with all that follows. Its strictest
// mode refuses logs that a crash cut short (docs/storage.md#check).
std::string DamageOfLog(std::string_view bytes);

// Makes the database in `database` openable with what can still be read; the rest is lost. Deleted
// or replaced values may reappear. Make a copy first.
Status SalvageFiles(const std::string& database);

// Copies the files of `database` to the new folder `copy`, and syncs them.
Status CopyFiles(const std::string& database, const std::string& copy);

// Exchanges the folders `made` and `database` in one step, which a crash leaves done or undone. The
// former contents of `database`, if any, are then in `made`.
Status SwapIn(const std::string& made, const std::string& database);

}  // namespace coppice::storage

#endif  // COPPICE_SERVER_STORE_ROCKSDB_DATABASE_FILES_H_
