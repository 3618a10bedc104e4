// The stored keys that a relayed study's reports are sealed for.

#ifndef COPPICE_SERVER_CURATOR_KEYS_SEALING_KEYS_H_
#define COPPICE_SERVER_CURATOR_KEYS_SEALING_KEYS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/terms/relay_promise.h"
#include "server/curator/keys/sealing_key_record.h"
#include "server/store/store.h"

namespace coppice::curator {

// All sealing keys of one study. Its manifest names the newest; the earlier ones open reports that
// were sealed for them. A value: each change returns a new one and adds its writes to a batch.
//
// Guarantee  There is a key. The n-th has sequence n, that of the first manifest that names it, and
// either all have secrets or none has. Errors     Unavailable: the random source fails. Internal:
// OpenSSL lacks X25519. Threads    immutable; safe to share.
class SealingKeys {
 public:
  // Bounds the memory of a study whose key is replaced over and over.
  static constexpr size_t kMaxKeys = 1000;

  // The first key of a new study.
  static StatusOr<SealingKeys> Make(std::string_view study, int64_t now_unix_seconds,
                                    storage::StoreBatch& batch);
  // DataLoss if a record does not parse, records do not belong together, or there is none.
  static StatusOr<SealingKeys> Load(const storage::Store& store, std::string_view study);

  // Returns the keys with one more. FailedPrecondition once they are erased or number kMaxKeys.
  StatusOr<SealingKeys> Rotate(std::string_view study, int64_t now_unix_seconds,
                               storage::StoreBatch& batch) const;

  // Returns the keys without secrets: nobody can open what is sealed for them from then on. Apply
  // the batch, then call PurgeErased() (erasure.h).
  SealingKeys Erase(std::string_view study, storage::StoreBatch& batch) const;

  const StoredSealingKey& current() const { return keys_.back(); }
  size_t size() const { return keys_.size(); }
  bool erased() const { return !keys_.back().secret.has_value(); }
  // Null if the study has no such key.
  const StoredSealingKey* Find(const SealingKeyName& name) const;

 private:
  explicit SealingKeys(std::vector<StoredSealingKey> keys) : keys_(std::move(keys)) {}

  std::vector<StoredSealingKey> keys_;  // oldest first
};

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_KEYS_SEALING_KEYS_H_
