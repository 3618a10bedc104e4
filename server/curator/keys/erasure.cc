#include "server/curator/keys/erasure.h"

#include <string>
#include <vector>

#include "absl/strings/strip.h"
#include "common/base/status_macros.h"
#include "server/curator/keys/store_keys.h"

namespace coppice::curator {

void NoteErased(absl::string_view study, storage::StoreBatch& batch) {
  batch.Put(ErasedKey(study), "");
}

absl::Status PurgeErased(storage::Store& store) {
  std::vector<std::string> notes;
  COPPICE_RETURN_IF_ERROR(store.Scan(kErasedPrefix, [&](absl::string_view key, absl::string_view) {
    notes.emplace_back(key);
    return absl::OkStatus();
  }));
  for (const std::string& note : notes) {
    const absl::string_view study = absl::StripSuffix(absl::StripPrefix(note, kErasedPrefix), "/");
    for (const std::string& prefix : PrefixesToPurge(study)) {
      COPPICE_RETURN_IF_ERROR(store.Purge(prefix));
    }
    storage::StoreBatch done;
    done.Delete(note);
    COPPICE_RETURN_IF_ERROR(store.Apply(done));
  }
  return absl::OkStatus();
}

}  // namespace coppice::curator
