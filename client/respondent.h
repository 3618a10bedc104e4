// One subject's side of a study, without a transport: what may be fetched, what is answered, what
// is delivered. Device drives it over a CuratorLink; a program whose transport is its own, over
// bytes.

#ifndef COPPICE_CLIENT_RESPONDENT_H_
#define COPPICE_CLIENT_RESPONDENT_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/curator_link.h"
#include "client/journal.h"
#include "client/policy.h"
#include "common/privacy/private_random.h"
#include "common/schema/schema.h"

namespace coppice {

struct Deliveries {
  uint64_t delivered = 0;            // counted, now or before
  uint64_t of_other_curators = 0;    // kept, and not sent
  std::vector<std::string> unknown;  // studies that the curator does not know; kept
  std::vector<std::string> refused;  // for good, and why
};

// Guarantee  The order is fetch, read, always answer. Opting out, the history and a full queue are
//            looked at before an offer is fetched; the policy and the room for an answer are before
//            the row is read; from there on there is an answer whatever it holds (responder.h). So
//            declining to answer leaks nothing of the row. Where a study is joined by an id, a row
//            whose id is missing or too long is not answered, which tells of the id alone.
// Errors     FailedPrecondition: opted out, the offer is declined, the study was answered for
//            another curator, or nobody vouches for this one. InvalidArgument: the row has no id
//            that the study could be joined by. ResourceExhausted: the queue is full. DataLoss: the
//            offer is another study's. Otherwise those of the journal and the random source.
// Threads    safe to share; Answer() calls must not overlap.
class Respondent {
 public:
  // `subject` is whose row it is. The others must outlive the respondent.
  Respondent(std::string subject, const Policy& policy, Journal& journal)
      : subject_(std::move(subject)), policy_(policy), journal_(journal) {}

  const std::string& subject() const { return subject_; }

  // Whether to fetch the offer of `study`: false if it was answered before, an error if nothing may
  // be fetched.
  absl::StatusOr<bool> MayFetch(absl::string_view study) const;

  // Whether the policy lets a study with these terms be answered, after all that the subject spent.
  absl::Status CheckTerms(const Terms& terms) const;

  // Answers an offer that the trust in its curator let pass. `read` is called once, when nothing
  // can decline any more; what it leaves out is missing.
  using ReadRow = absl::FunctionRef<LabelledRow(const Terms& terms)>;
  absl::Status Answer(absl::string_view study, Offer offer, ReadRow read,
                      PrivateRandom& random) const;

  // The same through a relay, which deals the ticket in between: all that can decline comes first
  // (see Responder), with the room for an answer whose ciphertext has so many bytes.
  absl::Status PrepareSealed(const Terms& terms, uint64_t ciphertext_bytes) const;
  absl::Status AnswerSealed(
      const Privatizer& privatizer, const Ticket& ticket, ReadRow read,
      absl::FunctionRef<absl::StatusOr<SealedAnswer>(const PrivateReport&)> seal,
      PrivateRandom& random) const;

  // What waits for delivery to its curator, oldest first, and what waits for this relay.
  absl::StatusOr<std::vector<JournalEntry>> Waiting() const;
  absl::StatusOr<std::vector<JournalEntry>> WaitingForRelay(const KeyId& relay) const;
  // Notes what became of an answer that was sent.
  absl::Status Settle(const JournalEntry& entry, const DeliveryResult& result,
                      Deliveries& deliveries) const;
  // Ends the waiting of the answer to `study`, which is not delivered then. NotFound if there is
  // none.
  absl::Status GiveUp(absl::string_view study) const;

 private:
  // `empty` is the answer without the payload, or the ciphertext, of so many bytes.
  absl::Status MakeRoomFor(const JournalEntry& empty, uint64_t report_bytes) const;
  JournalEntry EmptyAnswer(const Terms& terms) const;

  const std::string subject_;
  const Policy& policy_;
  Journal& journal_;
};

}  // namespace coppice

#endif  // COPPICE_CLIENT_RESPONDENT_H_
