#include "server/relay/dealing/batch_delivery.h"

#include <algorithm>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/encrypt/hpke.h"
#include "common/terms/manifest.h"
#include "common/wire/calls.h"
#include "common/wire/proto/convert.h"

namespace coppice::relay {
namespace {

// However long the reports are, a part is large enough for the curator.
constexpr uint64_t kMaxReportBytes = kTicketIdBytes + kTicketMacBytes + kEncapsulatedBytes + 2 +
                                     kMaxSealedPayloadBytes + seal::kTagBytes;
static_assert(BatchDelivery::kMaxPartBytes - kMaxReportBytes >= kMinPartBytes);

}  // namespace

StatusOr<BatchDelivery> BatchDelivery::Create(std::shared_ptr<const Epoch> epoch,
                                              const RelayTerms& terms, const Frozen& frozen,
                                              const SigningKey& key) {
  if (terms.relay_key != KeyIdOf(key.public_key())) {
    return FailedPreconditionError(StrCat("a batch of study ", terms.study,
                                          " was collected under another key of the relay, and the "
                                          "curator accepts it only under that one"));
  }
  const BatchHeader header{.study = terms.study,
                           .fingerprint = terms.fingerprint,
                           .sealing_key = terms.sealing_key,
                           .epoch = terms.epoch,
                           .reports = frozen.reports,
                           .min_batch = terms.min_batch,
                           .root = frozen.root,
                           .relay_key = terms.relay_key};
  COPPICE_RETURN_IF_ERROR(ValidateBatchHeader(header));
  v1::DeliverBatchRequest envelope;
  envelope.set_study(MakeName(kStudies, terms.study));
  envelope.set_header(WriteBatchHeader(header));
  COPPICE_ASSIGN_OR_RETURN(const Signature signature, key.Sign(kBatchDomain, envelope.header()));
  envelope.mutable_signature()->assign(signature.begin(), signature.end());
  return BatchDelivery(std::move(epoch), std::move(envelope), frozen.reports);
}

// The result is the same at every attempt.
uint64_t BatchDelivery::ReportsPerPart() const {
  const uint64_t report =
      kTicketIdBytes + kTicketMacBytes + kEncapsulatedBytes + epoch_->rules().ciphertext_bytes;
  return std::clamp<uint64_t>(kMaxPartBytes / report, 1, kMaxReportsPerPart);
}

StatusOr<v1::DeliverBatchRequest> BatchDelivery::NextPart() const {
  v1::DeliverBatchRequest request = envelope_;
  if (!knows_position_) return request;
  request.set_first_report(position_);
  COPPICE_ASSIGN_OR_RETURN(SealedColumns columns, epoch_->Read(position_, ReportsPerPart()));
  request.set_tickets(std::move(columns.tickets));
  request.set_encapsulated(std::move(columns.encapsulated));
  request.set_ciphertexts(std::move(columns.ciphertexts));
  return request;
}

StatusOr<BatchDelivery::Progress> BatchDelivery::SendNext(CuratorCalls& curator) {
  const StatusOr<v1::DeliverBatchRequest> request = NextPart();
  cannot_read_ = !request.ok();
  COPPICE_RETURN_IF_ERROR(request.status());
  StatusOr<v1::DeliverBatchResponse> response = curator.DeliverBatch(*request);
  if (!response.ok()) {
    knows_position_ = false;  // the part may or may not have arrived
    return response.status();
  }
  return Learn(*response);
}

StatusOr<BatchDelivery::Progress> BatchDelivery::Learn(const v1::DeliverBatchResponse& response) {
  switch (response.state()) {
    case v1::BATCH_STATE_STORED:
    case v1::BATCH_STATE_COUNTED:
      return Progress::kStored;
    case v1::BATCH_STATE_BROKEN:
      return Progress::kBroken;
    case v1::BATCH_STATE_RECEIVING:
      break;
    default:
      return DataLossError("the curator does not say how much of the batch it has");
  }
  // A curator that has all reports and still receives has an error of its own.
  if (response.received() >= reports_) {
    return DataLossError(StrCat("the curator has ", response.received(), " reports of a batch of ",
                                reports_, ", and does not say that it is stored"));
  }
  const bool asked = !knows_position_;
  const bool moves = response.received() > position_;
  knows_position_ = true;
  position_ = response.received();
  if (asked) return Progress::kAsked;
  return moves ? Progress::kMoves : Progress::kStands;
}

}  // namespace coppice::relay
