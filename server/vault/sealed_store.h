// A store whose private records are sealed on their way to the disk, and opened on their way back.

#ifndef COPPICE_SERVER_VAULT_SEALED_STORE_H_
#define COPPICE_SERVER_VAULT_SEALED_STORE_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/mutex.h"
#include "server/storage/store.h"
#include "server/vault/key_file.h"
#include "server/vault/vault_records.h"

namespace coppice::vault {

// What a reader gets for a private record that does not open.
enum class UnreadableRecords {
  kRefuse,  // DataLoss
  kShow,    // its sealed bytes, which no loader takes for a record: for check and repair
};

// Each unit of private records (private_records.h) has a key of its own, which is stored wrapped
// under the first key of a key file. A unit's key is made with its first record, in one batch, and
// deleted in the batch that deletes the unit's prefix: what no purge reaches is then unreadable.
//
// A record is sealed with its key in the store as associated data, so that no record passes for
// another. An older value of the same record does: whoever may write to the files can put it back.
//
// Guarantee  Store's. Below this store no private value is plain, and no key is unwrapped. Batches
//            without private records pass through as they are, and take no lock.
// Errors     Store's. DataLoss that names the key for a private record that does not open.
// Threads    safe to share. Batches with private records are applied one after the other.
class SealedStore final : public storage::Store {
 public:
  // `base`, which must outlive this, is sealed throughout. FailedPrecondition if `keys` does not
  // open it, having changed nothing.
  static absl::StatusOr<std::unique_ptr<SealedStore>> Open(storage::Store& base, KeyFile keys,
                                                           UnreadableRecords unreadable);

  // Wraps all keys under the first of `keys` in one batch, then takes the ones before out of the
  // files, so that the former key opens nothing here any more. Returns the former key's id, none if
  // the first key is the same. `keys` must hold the former key too: FailedPrecondition otherwise,
  // and then, or after another error of the batch, nothing is changed. If taking out fails, the
  // next call and the next opening do it.
  absl::StatusOr<std::optional<std::string>> Rewrap(KeyFile keys);

  // Calls `visit` for the key of each wrapped key, then of each private record, that does not open.
  absl::Status VisitUnreadable(absl::FunctionRef<void(absl::string_view key)> visit) const;

  // The id of the key that wraps all others.
  std::string master_id() const;

  absl::StatusOr<std::optional<std::string>> Get(absl::string_view key) const override;
  absl::Status Apply(const storage::StoreBatch& batch) override;
  absl::Status Scan(absl::string_view prefix,
                    absl::FunctionRef<absl::Status(absl::string_view key, absl::string_view value)>
                        visit) const override;
  // Also takes the wrapped keys of deleted units out of the files.
  absl::Status Purge(absl::string_view prefix) override;
  absl::StatusOr<storage::StoreBackup> Backup(const storage::BackupOptions& options) override {
    return base_.Backup(options);
  }
  absl::StatusOr<std::vector<storage::StoreBackup>> ListBackups(
      const std::string& folder) const override {
    return base_.ListBackups(folder);
  }

 private:
  // A batch as it goes to the disk, and the keys when it is there.
  struct SealedBatch {
    storage::StoreBatch batch;
    std::shared_ptr<const KeyRing> during;  // old and new keys, while it is written
    std::shared_ptr<const KeyRing> after;
  };

  SealedStore(storage::Store& base, KeyFile keys, VaultState state, KeyRing ring,
              UnreadableRecords unreadable)
      : base_(base),
        unreadable_(unreadable),
        keys_(std::move(keys)),
        state_(std::move(state)),
        ring_(std::make_shared<const KeyRing>(std::move(ring))) {}

  std::shared_ptr<const KeyRing> Ring() const;
  void SetRing(std::shared_ptr<const KeyRing> ring);

  // The rings that a reader has met. A record that it reads was sealed by a key of one of them,
  // unless the unit was made and deleted again in between.
  using Rings = std::vector<std::shared_ptr<const KeyRing>>;

  // Opens what was read after the first of `rings`, to which those that came since are added.
  // Nothing if the record is gone meanwhile, and its key with it.
  absl::StatusOr<std::optional<std::string>> OpenRecord(absl::string_view key,
                                                        absl::string_view unit,
                                                        absl::string_view value,
                                                        Rings& rings) const;
  absl::StatusOr<SealedBatch> SealBatch(const storage::StoreBatch& batch) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(change_mutex_);
  absl::Status PurgeFormerKeys() ABSL_EXCLUSIVE_LOCKS_REQUIRED(change_mutex_);

  storage::Store& base_;
  const UnreadableRecords unreadable_;
  mutable Mutex change_mutex_;  // held through whatever is written; taken before ring_mutex_
  KeyFile keys_ ABSL_GUARDED_BY(change_mutex_);
  VaultState state_ ABSL_GUARDED_BY(change_mutex_);
  // Never held while the disk is waited for.
  mutable SharedMutex ring_mutex_;
  std::shared_ptr<const KeyRing> ring_ ABSL_GUARDED_BY(ring_mutex_);  // never null
};

}  // namespace coppice::vault

#endif  // COPPICE_SERVER_VAULT_SEALED_STORE_H_
