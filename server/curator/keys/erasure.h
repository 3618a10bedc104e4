// Erases a study's deleted secrets and personal records from the store's files.

#ifndef COPPICE_SERVER_CURATOR_KEYS_ERASURE_H_
#define COPPICE_SERVER_CURATOR_KEYS_ERASURE_H_

#include <string_view>

#include "common/base/status.h"
#include "server/store/store.h"

namespace coppice::curator {

// Adds a note to a batch that deletes records of a study, or that replaces its sealing keys by ones
// without secrets, so that PurgeErased() finds them. kCuratorItself for its direct keys.
void NoteErased(std::string_view study, storage::StoreBatch& batch);

// Removes noted records (secrets of sealing keys, features of ids, reports by id) from the store's
// files, where deletion alone leaves them (Store::Purge()). After a crash or an error the next call
// finishes the work. Costs one read if there is nothing to do.
Status PurgeErased(storage::Store& store);

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_KEYS_ERASURE_H_
