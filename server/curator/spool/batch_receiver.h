// Receives a relay's batches, part by part.

#ifndef COPPICE_SERVER_CURATOR_SPOOL_BATCH_RECEIVER_H_
#define COPPICE_SERVER_CURATOR_SPOOL_BATCH_RECEIVER_H_

#include <cstdint>
#include <string_view>

#include "absl/types/span.h"
#include "common/base/status.h"
#include "server/curator/spool/spool_room.h"
#include "server/curator/study/study.h"
#include "server/curator/study/study_batches.h"
#include "server/store/store.h"

namespace coppice::curator {

// A part of a batch, as received. The columns are as in SealedReports.
struct BatchPart {
  std::string_view header;
  std::string_view signature;
  uint64_t first_report = 0;
  std::string_view tickets{};
  std::string_view encapsulated{};
  std::string_view ciphertexts{};
};

struct BatchProgress {
  BatchState state = BatchState::kReceiving;
  uint64_t received = 0;  // position of the report expected next

  friend bool operator==(const BatchProgress&, const BatchProgress&) = default;
};

// The status that a relay gets for the store's `status`. Most become Unavailable, because they say
// nothing about the batch and a relay gives up a batch on FailedPrecondition. A full disk stays
// ResourceExhausted, and a study deleted meanwhile NotFound.
Status OfStore(const Status& status);

// The least reports of a part, except a batch's last, if each report has `bytes_each` bytes.
uint64_t LeastReportsOfPart(uint64_t reports_of_batch, uint64_t bytes_each);

// Stores the next part of a batch in one synced write and returns the batch's progress. After the
// last part the root is computed anew from what is on disk: a batch with the root that the relay
// signed is stored, any other is dropped. Nothing is opened here.
//
// Guarantee  A part is stored once. A part that is not the next changes nothing and is no error, so
//            calls may be repeated; one without reports asks for the progress. A crash leaves a
//            whole number of parts, which the next call reports.
// Errors     FailedPrecondition, permanent: the study has no relay; it is sealed, and the batch is
//            incomplete; the deal has another batch; the header is not of this study or violates
//            its settings. PermissionDenied: not signed by the study's relay. InvalidArgument,
//            naming the field: a malformed header, or reports that do not fit it; a part that is
//            smaller than LeastReportsOfPart() and not the last. ResourceExhausted: too many
//            batches begun, too many bytes, or a full disk; nothing was written, and the same part
//            may be sent later. Aborted, at once: another part of the study is being stored, or the
//            batch's root is being computed. Unavailable: the store failed, as OfStore() says.
// Threads    safe to share. StudyBatches::receiving() is only tried, and held for one write; after
//            a start also while the last ticket of the earlier parts is looked up.
StatusOr<BatchProgress> ReceivePart(storage::Store& store, SpoolRoom& room, Study& study,
                                    const BatchPart& part, int64_t now_unix_seconds);

// Adds to the batch that seals a study the removal of the reports of incomplete batches, because
// nobody would send the rest. Their records stay: the curator has seen some of these reports. The
// caller must hold StudyBatches::receiving().
void DropReceiving(const Study& study, storage::StoreBatch& batch);
// Adds to the batch that retires a study the removal of `stored`, batches not fully counted. Their
// reports are deleted with the spool.
void DropStored(const Study& study, absl::Span<const RelayBatch> stored,
                storage::StoreBatch& batch);

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_SPOOL_BATCH_RECEIVER_H_
