// What a study no longer has, taken out of the store's files.

#ifndef COPPICE_SERVER_CURATOR_KEYS_ERASURE_H_
#define COPPICE_SERVER_CURATOR_KEYS_ERASURE_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "server/storage/store.h"

namespace coppice::curator {

// Adds to a batch that deletes records of a study, or replaces its sealing keys by what has no
// secrets, so that PurgeErased() finds them.
void NoteErased(absl::string_view study, storage::StoreBatch& batch);

// Takes what was noted out of the store's files, which deleting alone does not (Store::Purge()):
// secrets of sealing keys, features of ids, reports by id. After a crash or an error the next call
// does it. Costs one read if there is nothing to do.
absl::Status PurgeErased(storage::Store& store);

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_KEYS_ERASURE_H_
