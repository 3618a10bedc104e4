// The keys that a relayed study's reports are sealed for, in the store.

#ifndef COPPICE_SERVER_CURATOR_KEYS_SEALING_KEYS_H_
#define COPPICE_SERVER_CURATOR_KEYS_SEALING_KEYS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/seal/sealing_key.h"
#include "common/study/relay_promise.h"
#include "server/storage/store.h"

namespace coppice::curator {

// One key of a study, as its record holds it.
struct StudySealingKey {
  SealingKeyName name{};
  seal::Aead aead = seal::Aead::kAes128Gcm;
  seal::SealingPublicKey public_key{};
  std::optional<seal::SealingKey> secret{};  // the pair; nothing once it is erased
  int64_t created_unix_seconds = 0;
  uint64_t first_sequence = 0;  // of the first manifest that names it
};

// All keys of one study. Its manifest names the newest; the earlier ones open what was sealed for
// them. A value: each change makes another one, and adds to a batch what must be written for it.
//
// Guarantee  There is a key. The n-th has sequence n, and either all secrets are there or none is.
// Errors     Unavailable: the random source fails. Internal: OpenSSL lacks X25519.
// Threads    immutable; safe to share.
class SealingKeys {
 public:
  // Bounds the memory of a study whose key is replaced again and again.
  static constexpr size_t kMaxKeys = 1000;

  // The first key of a new study.
  static absl::StatusOr<SealingKeys> Make(absl::string_view study, int64_t now_unix_seconds,
                                          storage::StoreBatch& batch);
  // DataLoss if a record does not parse, if they do not belong together, or if there is none.
  static absl::StatusOr<SealingKeys> Load(const storage::Store& store, absl::string_view study);

  // With the next key. FailedPrecondition once they are erased, or are kMaxKeys.
  absl::StatusOr<SealingKeys> Rotate(absl::string_view study, int64_t now_unix_seconds,
                                     storage::StoreBatch& batch) const;

  // Without secrets: what is sealed for them is opened by nobody from then on. Apply the batch,
  // then call PurgeErased() (erasure.h).
  SealingKeys Erase(absl::string_view study, storage::StoreBatch& batch) const;

  const StudySealingKey& current() const { return keys_.back(); }
  size_t size() const { return keys_.size(); }
  bool erased() const { return !keys_.back().secret.has_value(); }
  // Null if the study has no such key.
  const StudySealingKey* Find(const SealingKeyName& name) const;

 private:
  explicit SealingKeys(std::vector<StudySealingKey> keys) : keys_(std::move(keys)) {}

  std::vector<StudySealingKey> keys_;  // oldest first
};

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_KEYS_SEALING_KEYS_H_
