// The key-value store that the curator needs. Each engine has a folder below this one.

#ifndef COPPICE_SERVER_STORE_STORE_H_
#define COPPICE_SERVER_STORE_STORE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "common/base/status.h"
#include "common/base/text.h"

namespace coppice::storage {

class StoreBatch {
 public:
  void Put(std::string key, std::string value) {
    puts_.emplace_back(std::move(key), std::move(value));
  }
  // Removes every key that starts with `prefix`, which must have a byte below 255. Applied before
  // the puts of the same batch.
  void DeletePrefix(std::string_view prefix) { deleted_prefixes_.emplace_back(prefix); }
  // Removes this key alone. Also applied before the puts of the same batch.
  void Delete(std::string_view key) { deleted_keys_.emplace_back(key); }

  const std::vector<std::pair<std::string, std::string>>& puts() const { return puts_; }
  const std::vector<std::string>& deleted_prefixes() const { return deleted_prefixes_; }
  const std::vector<std::string>& deleted_keys() const { return deleted_keys_; }

 private:
  std::vector<std::pair<std::string, std::string>> puts_;
  std::vector<std::string> deleted_prefixes_;
  std::vector<std::string> deleted_keys_;
};

struct BackupOptions {
  std::string folder;  // contains only backups of this store; made if it does not exist
  uint32_t keep = 0;   // how many of the newest to keep; older ones are removed; 0: all
  // Called now and then with the bytes written so far. False stops the backup.
  std::function<bool(uint64_t bytes)> progress{};
};

// A copy of a whole store at one moment.
struct StoreBackup {
  uint32_t id = 0;  // counts up within its folder
  int64_t unix_seconds = 0;
  uint64_t bytes = 0;  // needed to restore it; backups in one folder share files
  uint64_t files = 0;
};

// An ordered map of byte strings with atomic, durable batches.
//
// Guarantee  Apply() is all or nothing, and once it returns OK the batch survives a crash of the
//            process and of the machine (the log is synced). After an error nothing of the batch is
//            visible; if the process crashes before the next Apply(), all of it may become visible,
//            as with any log whose sync failed, but never a part.
// Errors     ResourceExhausted: the disk is full. DataLoss: the store is corrupt. Unavailable: any
//            other error of the disk; a retry may help.
// Threads    safe to share.
class Store {
 public:
  virtual ~Store() = default;

  virtual StatusOr<std::optional<std::string>> Get(std::string_view key) const = 0;

  virtual Status Apply(const StoreBatch& batch) = 0;

  // Calls `visit` for each pair whose key starts with `prefix`, in key order, on one snapshot.
  // Stops at the first error of `visit` and returns it.
  virtual Status Scan(
      std::string_view prefix,
      absl::FunctionRef<Status(std::string_view key, std::string_view value)> visit) const = 0;

  // Removes what was deleted or replaced under `prefix` from the store's files: once it returns OK,
  // no file of the store, its logs included, holds a byte of a value that is no longer there. Keys
  // may remain. Takes as long as rewriting the nearby records. A disk may keep bytes that the file
  // system has freed, and so may copies. Database servers keep more (docs/postgresql.md#deletion).
  virtual Status Purge(std::string_view prefix) = 0;

  // Copies the store while it is in use. The copy holds every batch that was applied before, and is
  // complete: a copy that was cut short never counts as a backup. DataLoss if the store's files are
  // damaged, so that no bad backup replaces a good one. Runs one at a time, and not during Purge():
  // the second call waits.
  virtual StatusOr<StoreBackup> Backup(const BackupOptions& options) {
    return UnimplementedError(StrCat("this store makes no backups into ", options.folder));
  }

  // Lists the complete backups in `folder`, oldest first; none if it has none yet. Does not check
  // their files. May run during Backup().
  virtual StatusOr<std::vector<StoreBackup>> ListBackups(const std::string& folder) const {
    return UnimplementedError(StrCat("this store has no backups in ", folder));
  }
};

}  // namespace coppice::storage

#endif  // COPPICE_SERVER_STORE_STORE_H_
