// One subject's side of a study, without a transport: what may be fetched, what is answered, what
// is delivered. Device drives it over a CuratorLink; a program with a transport of its own drives
// it over bytes.

#ifndef COPPICE_CLIENT_DEVICE_RESPONDENT_H_
#define COPPICE_CLIENT_DEVICE_RESPONDENT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "client/device/curator_link.h"
#include "client/device/journal.h"
#include "client/device/policy.h"
#include "common/base/status.h"
#include "common/privacy/private_random.h"
#include "common/schema/schema.h"

namespace coppice {

struct Deliveries {
  uint64_t delivered = 0;            // counted, now or before
  uint64_t of_other_curators = 0;    // kept, and not sent
  std::vector<std::string> unknown;  // studies that the curator does not know; kept
  std::vector<std::string> refused;  // for good, and why
};

// Guarantee  The order is fetch, read, always answer. Opting out, past answers and a full queue are
//            checked before an offer is fetched, the policy and the room for an answer before the
//            row is read; from there on every row is answered (responder.h). So declining to answer
//            leaks nothing about the row. Where a study is joined by an id, a row whose id is
//            missing or too long is not answered, which tells about the id alone.
// Errors     FailedPrecondition: opted out, the offer is declined, the study was answered for
//            another curator, or nobody vouches for this one. InvalidArgument: the row has no id
//            that the study could be joined by. ResourceExhausted: the queue is full. DataLoss: the
//            offer is another study's. Otherwise those of the journal and the random source.
// Threads    safe to share; Answer() calls must not overlap.
class Respondent {
 public:
  // `subject` names whose row it is. The others must outlive the respondent.
  Respondent(std::string subject, const Policy& policy, Journal& journal)
      : subject_(std::move(subject)), policy_(policy), journal_(journal) {}

  const std::string& subject() const { return subject_; }

  // Returns whether to fetch the offer of `study`: false if it was answered before, an error if
  // nothing may be fetched.
  StatusOr<bool> MayFetch(std::string_view study) const;

  // OK if the subject may answer a study with these terms, after all that it has spent.
  Status CheckTerms(const Terms& terms) const;

  // Answers an offer that Trust::Admit() accepted. `read` is called once, when nothing can decline
  // any more; values that it leaves out count as missing.
  using ReadRow = absl::FunctionRef<LabelledRow(const Terms& terms)>;
  Status Answer(std::string_view study, Offer offer, ReadRow read, PrivateRandom& random) const;

  // The same through a relay, which deals the ticket between the two calls. The first does all that
  // can decline (see Responder), and makes room for a ciphertext of this many bytes.
  Status PrepareSealed(const Terms& terms, uint64_t ciphertext_bytes) const;
  Status AnswerSealed(const Privatizer& privatizer, const Ticket& ticket, ReadRow read,
                      absl::FunctionRef<StatusOr<SealedAnswer>(const PrivateReport&)> seal,
                      PrivateRandom& random) const;

  // The answers that wait for their curator, oldest first, and those that wait for this relay.
  StatusOr<std::vector<JournalEntry>> Waiting() const;
  StatusOr<std::vector<JournalEntry>> WaitingForRelay(const KeyId& relay) const;
  // FailedPrecondition if the owner opted out: nothing that waits is sent then.
  Status CheckMaySend() const;
  // Whether an answer that waited is still to be sent: not once it is delivered or given up.
  StatusOr<bool> StillWaits(const JournalEntry& entry) const;
  // Records what became of an answer that was sent.
  Status Settle(const JournalEntry& entry, const DeliveryResult& result,
                Deliveries& deliveries) const;
  // Stops trying to deliver the answer to `study`. NotFound if there is none.
  Status GiveUp(std::string_view study) const;

 private:
  // `empty` is the answer without its payload or ciphertext, which has `report_bytes`.
  Status MakeRoomFor(const JournalEntry& empty, uint64_t report_bytes) const;
  JournalEntry EmptyAnswer(const Terms& terms) const;

  const std::string subject_;
  const Policy& policy_;
  Journal& journal_;
};

}  // namespace coppice

#endif  // COPPICE_CLIENT_DEVICE_RESPONDENT_H_
