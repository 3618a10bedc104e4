// Counts a group of batches in one atomic batch of the store: all of it, or nothing.
//
// Guarantee  a ticket is counted at most once: it must be new to the store and to the group, and it
//            is stored with the sums. What is in memory changes only after the store said OK. A
//            report that came too late seals its study in the same batch.
// Errors     what the store returns; then nothing was counted, of any batch.
// Threads    one group at a time.

#ifndef COPPICE_SERVER_CURATOR_INTAKE_GROUP_COMMIT_H_
#define COPPICE_SERVER_CURATOR_INTAKE_GROUP_COMMIT_H_

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "server/curator/intake/submission.h"
#include "server/storage/store.h"

namespace coppice::curator {

// Settles the outcome of every report in `group`, whose candidates it uses up.
absl::Status CommitGroup(absl::Span<Submission> group, storage::Store& store);

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_INTAKE_GROUP_COMMIT_H_
