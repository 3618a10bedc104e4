// The files of a store, checked and salvaged while no process uses it.
//
// Every block of a table has a checksum of RocksDB's; the log and the manifest are checked when the
// store is opened.
//
// Errors  FailedPrecondition if another process uses the folder. NotFound if it holds no store.

#ifndef COPPICE_SERVER_STORAGE_ROCKSDB_DATABASE_FILES_H_
#define COPPICE_SERVER_STORAGE_ROCKSDB_DATABASE_FILES_H_

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace coppice::storage {

// The database's folder in a data directory.
std::string StoreFolder(const std::string& data_dir);
// Makes a folder for its owner alone. One that is there stays as it is: for folders whose private
// parts are folders of their own.
absl::Status MakeFolder(const std::filesystem::path& folder);
// FailedPrecondition if other users than the owner and the group that the owner gave it to may
// enter `folder`, list it or change it, or if it is another user's. OK if it is not there.
absl::Status CheckPrivateFolder(const std::filesystem::path& folder);
// Both: what every folder is opened with that private rows or keys lie in.
absl::Status MakePrivateFolder(const std::filesystem::path& folder);
// Whether `folder` has held a store, also one that has lost files.
absl::StatusOr<bool> HoldsStore(const std::filesystem::path& folder);

struct FileProblem {
  std::string file;
  std::string what;
};

// Reads every table in `database`, a RocksDB folder, and every log. Changes nothing. `progress` is
// told the name of each file before it is read.
absl::StatusOr<std::vector<FileProblem>> CheckFiles(
    const std::string& database, const std::function<void(const std::string& file)>& progress);

// DataLoss if a block of the table lacks its checksum. OK if there is no such file.
absl::Status CheckTable(const std::string& file);

// What is wrong with a log of these bytes, empty if nothing is: a record does not have its
// checksum, or one is cut short though sound bytes follow. RocksDB cannot tell the second: it
// forgets a record that is longer than what is left of the file, with all that follows. In its
// strictest mode it refuses logs that a crash cut short (docs/storage.md#check).
std::string DamageOfLog(absl::string_view bytes);

// Makes the database in `database` one that opens, of what can still be read; the rest is lost.
// What was deleted or replaced may be there again. Make a copy first.
absl::Status SalvageFiles(const std::string& database);

// Copies the files of `database` to the folder `copy`, which is not there yet, and syncs them.
absl::Status CopyFiles(const std::string& database, const std::string& copy);

// Puts the folder `made` in the place of `database`, in one step that a crash leaves done or
// undone. What was there before, if anything, is then in the place of `made`.
absl::Status SwapIn(const std::string& made, const std::string& database);

}  // namespace coppice::storage

#endif  // COPPICE_SERVER_STORAGE_ROCKSDB_DATABASE_FILES_H_
