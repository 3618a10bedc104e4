// A store that seals private records on their way to the disk and opens them on their way back.

#ifndef COPPICE_SERVER_STORE_VAULT_SEALED_STORE_H_
#define COPPICE_SERVER_STORE_VAULT_SEALED_STORE_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "server/store/store.h"
#include "server/store/vault/key_file.h"
#include "server/store/vault/vault_records.h"

namespace coppice::vault {

// What a reader gets for a private record that does not open.
enum class UnreadableRecords {
  kRefuse,  // DataLoss
  kShow,    // its sealed bytes, which parse as no record: for check and repair
};

// Each unit of private records (private_records.h) has its own key, which is stored wrapped under
// the first key of a key file. The batch that stores a unit's first record also stores its key; the
// batch that deletes the unit's prefix deletes it: copies out of reach are then unreadable.
//
// A record is sealed with its key in the store as associated data, so no record can pass for
// another. An older value of the same record can: whoever can write to the files can restore it.
//
// Guarantee  Store's. Below this store no private value is plain and no key is unwrapped. Batches
//            without private records pass through unchanged and take no lock.
// Errors     Store's. DataLoss names the key of a private record that does not open.
// Threads    safe to share. Batches with private records are applied one after the other.
class SealedStore final : public storage::Store {
 public:
  // `base` must outlive this and be sealed throughout. FailedPrecondition, with nothing changed, if
  // `keys` does not open it.
  static StatusOr<std::unique_ptr<SealedStore>> Open(storage::Store& base, KeyFile keys,
                                                     UnreadableRecords unreadable);

  // Wraps all keys under the first of `keys` in one batch, then purges the former wrapped keys from
  // the files, so that the former key opens nothing here any more. Returns the former key's id, or
  // none if the first key is the same. FailedPrecondition unless `keys` also holds the former key.
  // After that or another error of the batch nothing is changed; if the purge fails, the next call
  // or the next opening repeats it.
  StatusOr<std::optional<std::string>> Rewrap(KeyFile keys);

  // Calls `visit` with the key of each wrapped key, then each private record, that does not open.
  Status VisitUnreadable(absl::FunctionRef<void(std::string_view key)> visit) const;

  // The id of the key that wraps all others.
  std::string master_id() const;

  StatusOr<std::optional<std::string>> Get(std::string_view key) const override;
  Status Apply(const storage::StoreBatch& batch) override;
  Status Scan(
      std::string_view prefix,
      absl::FunctionRef<Status(std::string_view key, std::string_view value)> visit) const override;
  // Also purges the wrapped keys of deleted units from the files.
  Status Purge(std::string_view prefix) override;
  StatusOr<storage::StoreBackup> Backup(const storage::BackupOptions& options) override {
    return base_.Backup(options);
  }
  StatusOr<std::vector<storage::StoreBackup>> ListBackups(
      const std::string& folder) const override {
    return base_.ListBackups(folder);
  }

 private:
  // A batch as it goes to the disk, and the keys that apply during and after its write.
  struct SealedBatch {
    storage::StoreBatch batch;
    std::shared_ptr<const KeyRing> during;  // old and new keys, while the batch is written
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

  // The rings that a reader has met. One of them has the key of every record that it reads, unless
  // the unit was made and deleted again in between.
  using Rings = std::vector<std::shared_ptr<const KeyRing>>;

  // Opens a value that was read after the first of `rings` was taken, and adds newer rings to
  // `rings`. None if the record, and its key with it, has been deleted meanwhile.
  StatusOr<std::optional<std::string>> OpenRecord(std::string_view key, std::string_view unit,
                                                  std::string_view value, Rings& rings) const;
  StatusOr<SealedBatch> SealBatch(const storage::StoreBatch& batch) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(change_mutex_);
  Status PurgeFormerKeys() ABSL_EXCLUSIVE_LOCKS_REQUIRED(change_mutex_);

  storage::Store& base_;
  const UnreadableRecords unreadable_;
  mutable Mutex change_mutex_;  // held through every write; taken before ring_mutex_
  KeyFile keys_ ABSL_GUARDED_BY(change_mutex_);
  VaultState state_ ABSL_GUARDED_BY(change_mutex_);
  // Never held while waiting for the disk.
  mutable SharedMutex ring_mutex_;
  std::shared_ptr<const KeyRing> ring_ ABSL_GUARDED_BY(ring_mutex_);  // never null
};

}  // namespace coppice::vault

#endif  // COPPICE_SERVER_STORE_VAULT_SEALED_STORE_H_
