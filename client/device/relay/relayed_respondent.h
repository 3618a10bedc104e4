// One subject's side of a relayed study, without a transport and without a clock: what is agreed
// to, answered and sent. RelayedDevice drives it over a RelayLink; a program whose transport is its
// own, over bytes.

#ifndef COPPICE_CLIENT_DEVICE_RELAY_RELAYED_RESPONDENT_H_
#define COPPICE_CLIENT_DEVICE_RELAY_RELAYED_RESPONDENT_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "client/device/journal.h"
#include "client/device/policy.h"
#include "client/device/relay/deal.h"
#include "client/device/relay/relay_link.h"
#include "client/device/respondent.h"
#include "client/device/trust.h"
#include "common/base/status.h"
#include "common/privacy/private_random.h"

namespace coppice {

// How long after its ticket came a device sends: uniform from a tenth of the policy's delay to all
// of it. The tenth is there to be longer than the work of any tree.
StatusOr<absl::Duration> DrawSendDelay(const RelayPolicy& policy, PrivateRandom& random);

// What became of a report, as of one that a curator judged; what is lost says that epsilon stays
// spent.
DeliveryResult ResultOf(SubmitOutcome outcome);

// A deal that a device agreed to, and what it needs from the ticket on.
struct AgreedDeal {
  Deal deal;
  DealSealer sealer;
  absl::Duration delay = absl::ZeroDuration();
  // Held until the ticket has come, so that memory is short before there is one, and not when it
  // is one of a large tree.
  std::unique_ptr<char[]> set_aside = nullptr;
};

// Guarantee  The order is MayFetch(), Agree(), Prepare(), the ticket, Answer(): all that can
//            decline comes before the ticket is taken, and the row is read after. It depends on the
//            deal, which is the same for every device, and on the device's own policy and journal;
//            not on the ticket, nor on the row. What is kept is sealed, has one length for all
//            tickets, and goes to this relay and nobody else, from a time on that was drawn before
//            there was a ticket, or, after a restart, before anything is sent.
// Errors     MayFetch(), Agree(): those of Respondent and AdmitDeal(). Prepare(): ResourceExhausted
//            without memory. Answer(): DataLoss for an envelope without a ticket. All: those of the
//            journal and `random`.
// Threads    one at a time.
class RelayedRespondent {
 public:
  // `subject` is whose row it is. The others must outlive the respondent; `trust` is on the
  // journal, with the curator's key pinned.
  RelayedRespondent(std::string subject, const Policy& policy, const RelayPolicy& relay_policy,
                    Journal& journal, Trust& trust)
      : relay_policy_(relay_policy),
        trust_(trust),
        respondent_(std::move(subject), policy, journal) {}

  // As Respondent::MayFetch(), of a relay's terms.
  StatusOr<bool> MayFetch(std::string_view study) const { return respondent_.MayFetch(study); }

  // Agrees to a deal, with room for the answer in the journal. `now` is in seconds since 1970, as
  // AdmitDeal() has it.
  StatusOr<AgreedDeal> Agree(const DealOffer& offer, std::string_view study,
                             std::string_view relay_address, int64_t now) const;
  // The last step before the ticket is asked for: draws the delay, and sets the memory aside.
  Status Prepare(AgreedDeal& agreed, PrivateRandom& random) const;
  // Answers what TakeOffer() returned at `came`, whatever is in it. `read` is called at most once;
  // what it leaves out is missing.
  Status Answer(AgreedDeal& agreed, std::string_view envelope, absl::Time came,
                Respondent::ReadRow read, PrivateRandom& random);

  // What waits for this relay, oldest first, and from when on it may be sent. What an earlier
  // process left waits for a delay of its own, drawn at `now`: else the network would see by the
  // time whose answer a restart had held back.
  StatusOr<std::vector<JournalEntry>> Waiting() const;
  StatusOr<absl::Time> MaySendFrom(absl::Time now, PrivateRandom& random);
  // As Respondent.
  Status CheckMaySend() const { return respondent_.CheckMaySend(); }
  StatusOr<bool> StillWaits(const JournalEntry& entry) const {
    return respondent_.StillWaits(entry);
  }
  // Notes what became of an answer that was sent. What is lost for good is among the refused.
  Status Settle(const JournalEntry& entry, SubmitOutcome outcome, Deliveries& deliveries) const {
    return respondent_.Settle(entry, ResultOf(outcome), deliveries);
  }
  // As Respondent::GiveUp().
  Status GiveUp(std::string_view study) const { return respondent_.GiveUp(study); }

 private:
  const RelayPolicy& relay_policy_;
  Trust& trust_;
  const Respondent respondent_;
  // When this process may send; none until it has a ticket, or finds an answer that waits.
  std::optional<absl::Time> not_before_;
};

}  // namespace coppice

#endif  // COPPICE_CLIENT_DEVICE_RELAY_RELAYED_RESPONDENT_H_
