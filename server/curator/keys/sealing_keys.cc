#include "server/curator/keys/sealing_keys.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "server/curator/keys/erasure.h"
#include "server/curator/keys/store_keys.h"
#include "server/store/store_record.h"

namespace coppice::curator {
StatusOr<SealingKeys> SealingKeys::Make(std::string_view study, int64_t now_unix_seconds,
                                        storage::StoreBatch& batch) {
  COPPICE_ASSIGN_OR_RETURN(StoredSealingKey first, NewSealingKey(now_unix_seconds, 1));
  PutSealingKey(SealingKeyKey(study, first.name), first, batch);
  return SealingKeys({std::move(first)});
}

StatusOr<SealingKeys> SealingKeys::Load(const storage::Store& store, std::string_view study) {
  const std::string prefix = SealingPrefix(study);
  std::vector<StoredSealingKey> keys;
  COPPICE_RETURN_IF_ERROR(store.Scan(prefix, [&](std::string_view key, std::string_view bytes) {
    COPPICE_ASSIGN_OR_RETURN(StoredSealingKey decoded, DecodeSealingKey(key, bytes));
    keys.push_back(std::move(decoded));
    return OkStatus();
  }));
  if (keys.empty()) return storage::CorruptRecord(prefix, "has no key, and the study needs one");
  std::sort(keys.begin(), keys.end(), [](const StoredSealingKey& a, const StoredSealingKey& b) {
    return a.first_sequence < b.first_sequence;
  });
  for (size_t i = 0; i < keys.size(); ++i) {
    if (keys[i].first_sequence != i + 1) {
      return storage::CorruptRecord(prefix, "lacks a key, or has two of one sequence");
    }
    if (keys[i].secret.has_value() != keys[0].secret.has_value()) {
      return storage::CorruptRecord(prefix, "has some keys with their secrets and some without");
    }
  }
  return SealingKeys(std::move(keys));
}

StatusOr<SealingKeys> SealingKeys::Rotate(std::string_view study, int64_t now_unix_seconds,
                                          storage::StoreBatch& batch) const {
  if (erased()) {
    return FailedPreconditionError(
        StrCat("the sealing keys of study ", study, " are erased: it takes no more reports"));
  }
  if (size() >= kMaxKeys) {
    return FailedPreconditionError(
        StrCat("study ", study, " has ", kMaxKeys,
               " sealing keys, the most that one may have: make a new study"));
  }
  COPPICE_ASSIGN_OR_RETURN(StoredSealingKey next,
                           NewSealingKey(now_unix_seconds, current().first_sequence + 1));
  PutSealingKey(SealingKeyKey(study, next.name), next, batch);
  SealingKeys rotated = *this;
  rotated.keys_.push_back(std::move(next));
  return rotated;
}

SealingKeys SealingKeys::Erase(std::string_view study, storage::StoreBatch& batch) const {
  SealingKeys without = *this;
  // In a sealed store deleting the prefix deletes the key that the secrets are sealed under.
  batch.DeletePrefix(SealingPrefix(study));
  for (StoredSealingKey& key : without.keys_) {
    key.secret.reset();
    PutSealingKey(SealingKeyKey(study, key.name), key, batch);
  }
  NoteErased(study, batch);
  return without;
}

const StoredSealingKey* SealingKeys::Find(const SealingKeyName& name) const {
  const auto found = std::find_if(keys_.begin(), keys_.end(),
                                  [&](const StoredSealingKey& key) { return key.name == name; });
  return found == keys_.end() ? nullptr : &*found;
}

}  // namespace coppice::curator
