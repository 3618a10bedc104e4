// `coppiced restore`: makes a data directory from a backup.
//
// A backup does not know what was spent after it was made. The batch that notes the restore
// therefore puts every dataset's ledger on hold: jobs are refused until an admin has confirmed its
// head. docs/storage.md says what else an older copy forgets.
//
// Guarantee  the store appears in its place only when it is complete. A failed restore leaves
//            nothing behind; the next restore removes the rest of one that was cut short.
// Errors     FailedPrecondition: the data directory already holds a store, a newer version made the
//            backup, or it is sealed and the keys do not open it. NotFound: there is no such
//            backup. DataLoss: it is damaged.

#ifndef COPPICE_SERVER_DAEMON_MAINTENANCE_RESTORE_H_
#define COPPICE_SERVER_DAEMON_MAINTENANCE_RESTORE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "server/daemon/maintenance/findings.h"
#include "server/store/audit_log/audit_log.h"
#include "server/store/store.h"
#include "server/store/vault/key_file.h"

namespace rocksdb {
class Env;
}

namespace coppice::maintenance {

inline constexpr std::string_view kRestoredKey = "meta/restored";

// The origin of a restored store.
struct RestoreRecord {
  int64_t unix_seconds = 0;
  uint32_t backup_id = 0;
  int64_t backup_unix_seconds = 0;
};
// None if the store was never restored.
StatusOr<std::optional<RestoreRecord>> ReadRestoreRecord(const storage::Store& store);

struct RestoreResult {
  storage::StoreBackup backup;
  std::vector<std::string> on_hold;  // datasets
  Findings findings;                 // of the restored store
};

// `id` 0 is the newest backup in `folder`. `env` is as in rocksdb_store.h. With `keys`, the store
// is sealed, as the daemon does it, before it is put in its place.
StatusOr<RestoreResult> RestoreStore(const std::string& folder, uint32_t id,
                                     const std::string& data_dir, int64_t now,
                                     const ProgressCallback& progress, rocksdb::Env* env = nullptr,
                                     const std::optional<vault::KeyFile>& keys = std::nullopt);

// Adds to `batch` a hold for every ledger that has none. Returns all datasets that are then on
// hold, without the closed ones.
StatusOr<std::vector<std::string>> HoldLedgers(const storage::Store& store, int64_t now,
                                               storage::StoreBatch& batch);

// Holds every ledger of a store whose database may have lost charges (kFailoverKey), in one batch
// with an entry of `log`. Returns the datasets then on hold; none if nothing was lost.
StatusOr<std::vector<std::string>> HoldAfterFailover(storage::Store& store, audit::AuditLog& log,
                                                     int64_t now);

}  // namespace coppice::maintenance

#endif  // COPPICE_SERVER_DAEMON_MAINTENANCE_RESTORE_H_
