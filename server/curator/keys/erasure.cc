#include "server/curator/keys/erasure.h"

#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "server/curator/keys/store_keys.h"

namespace coppice::curator {

void NoteErased(std::string_view study, storage::StoreBatch& batch) {
  batch.Put(ErasedKey(study), "");
}

Status PurgeErased(storage::Store& store) {
  std::vector<std::string> notes;
  COPPICE_RETURN_IF_ERROR(store.Scan(kErasedPrefix, [&](std::string_view key, std::string_view) {
    notes.emplace_back(key);
    return OkStatus();
  }));
  for (const std::string& note : notes) {
    const std::string_view study = StripSuffix(StripPrefix(note, kErasedPrefix), "/");
    for (const std::string& prefix : PrefixesToPurge(study)) {
      COPPICE_RETURN_IF_ERROR(store.Purge(prefix));
    }
    storage::StoreBatch done;
    done.Delete(note);
    COPPICE_RETURN_IF_ERROR(store.Apply(done));
  }
  return OkStatus();
}

}  // namespace coppice::curator
