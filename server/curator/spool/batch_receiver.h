// Takes a relay's batches in, part by part.

#ifndef COPPICE_SERVER_CURATOR_SPOOL_BATCH_RECEIVER_H_
#define COPPICE_SERVER_CURATOR_SPOOL_BATCH_RECEIVER_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "server/curator/spool/spool_room.h"
#include "server/curator/study/study.h"
#include "server/curator/study/study_batches.h"
#include "server/storage/store.h"

namespace coppice::curator {

// A part of a batch, as it came. The columns are as in SealedReports.
struct BatchPart {
  absl::string_view header;
  absl::string_view signature;
  uint64_t first_report = 0;
  absl::string_view tickets{};
  absl::string_view encapsulated{};
  absl::string_view ciphertexts{};
};

struct BatchProgress {
  BatchState state = BatchState::kReceiving;
  uint64_t received = 0;  // the position of the report that is to come next

  friend bool operator==(const BatchProgress&, const BatchProgress&) = default;
};

// What a relay is told of the store's `status`: Unavailable for whatever is wrong with it, since it
// says nothing about the batch, and a relay takes FailedPrecondition for the batch's end. A full
// disk stays ResourceExhausted, and a study that was deleted meanwhile NotFound.
absl::Status OfStore(const absl::Status& status);

// The fewest reports of a part that is not the last one of such a batch; each of this many bytes.
uint64_t LeastReportsOfPart(uint64_t reports_of_batch, uint64_t bytes_each);

// Stores the next part of a batch in one synced write, and says how far the batch has come. With
// the last part its root is found anew from what the disk has: a batch whose root is the one that
// the relay signed is stored, and every other is dropped. Nothing is opened here.
//
// Guarantee  a part is stored once. One that is not the next changes nothing and is no error, so a
//            call may be repeated, and one without reports asks. A crash leaves a whole number of
//            parts, whose number is what the next call is told.
// Errors     FailedPrecondition, for good: the study has no relay; it is sealed, and the batch has
//            not come as a whole; the deal has another batch; the header is not of this study, or
//            not as its settings ask. PermissionDenied: not signed by the study's relay.
//            InvalidArgument that names the field: no such header, or reports that do not fit it;
//            a part that is smaller than LeastReportsOfPart() and not the last.
//            ResourceExhausted: too many batches have begun, or too many bytes, or the disk is
//            full; nothing was written, and the same part may be sent later. Aborted, at once:
//            another part of the study is being stored, or the batch's root is being found.
//            Unavailable: the store failed, as OfStore() says.
// Threads    safe to share. StudyBatches::receiving() is only tried, and held for one write; after
//            a start also while the last ticket of what came before is looked up.
absl::StatusOr<BatchProgress> ReceivePart(storage::Store& store, SpoolRoom& room, Study& study,
                                          const BatchPart& part, int64_t now_unix_seconds);

// Adds to the batch that seals a study the removal of the reports of what has not come as a whole,
// for nobody would send the rest. Its record stays: the curator has seen some of these reports. The
// caller holds StudyBatches::receiving().
void DropReceiving(const Study& study, storage::StoreBatch& batch);
// Adds to the batch that retires a study the removal of these, which are not counted as a whole.
// Their reports go with the spool.
void DropStored(const Study& study, absl::Span<const RelayBatch> stored,
                storage::StoreBatch& batch);

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_SPOOL_BATCH_RECEIVER_H_
