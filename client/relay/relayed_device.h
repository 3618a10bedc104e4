// One device that answers through a relay: from the question to the delivery.

#ifndef COPPICE_CLIENT_RELAY_RELAYED_DEVICE_H_
#define COPPICE_CLIENT_RELAY_RELAYED_DEVICE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "client/journal.h"
#include "client/policy.h"
#include "client/relay/deal.h"
#include "client/relay/relay_link.h"
#include "client/respondent.h"
#include "client/trust.h"
#include "common/privacy/private_random.h"
#include "common/schema/schema.h"

namespace coppice {

// Time, as a seam.
class SendClock {
 public:
  static SendClock& Real();
  virtual ~SendClock() = default;
  virtual absl::Time Now() = 0;
  virtual void SleepUntil(absl::Time time) = 0;
};

// What a relayed device rests on. All must outlive it.
struct RelayedDeviceParts {
  const Policy& policy;
  const RelayPolicy& relay_policy;
  Journal& journal;
  Trust& trust;  // on the journal, with the curator's key pinned
  const RelayLink& relay;
  SendClock& clock = SendClock::Real();
};

// How long after its ticket came a device sends: uniform from a tenth of the policy's delay to all
// of it. The tenth is there to be longer than the work of any tree.
absl::StatusOr<absl::Duration> DrawSendDelay(const RelayPolicy& policy, PrivateRandom& random);

// What became of a report, as of one that a curator judged; what is lost says that epsilon stays
// spent.
DeliveryResult ResultOf(SubmitOutcome outcome);

// Guarantee  Whether it answers depends on the deal, which is the same for every device, and on its
//            own policy and journal; not on its ticket, nor on its row: all that can decline comes
//            before the ticket is taken, and the row is read after. What is sent is sealed and in
//            the journal before, has one length for all tickets, and goes to this relay and nobody
//            else, at a time that was drawn before there was a ticket, or, after a restart, before
//            anything is sent.
// Errors     Answer(): those of Respondent and AdmitDeal(); DataLoss for an envelope without a
//            ticket. Deliver(): those of the journal, the link and `random`.
// Threads    one at a time.
class RelayedDevice {
 public:
  // `subject` is whose row it is.
  RelayedDevice(std::string subject, const RelayedDeviceParts& parts)
      : parts_(parts), respondent_(std::move(subject), parts.policy, parts.journal) {}

  // OK when the journal holds this device's answer to `study`, from now or from before. `read` is
  // called at most once; what it leaves out is missing.
  using ReadText = absl::FunctionRef<TextRow()>;
  absl::Status Answer(absl::string_view study, ReadText read, PrivateRandom& random);

  // Waits until what waits for this relay may be sent, then sends it. What an earlier process left
  // waits for a delay of its own, drawn anew: else the network would see by the time whose answer
  // a restart had held back. What is lost for good is among the refused.
  absl::StatusOr<Deliveries> Deliver(PrivateRandom& random);

  // As Device::GiveUp().
  absl::Status GiveUp(absl::string_view study) const { return respondent_.GiveUp(study); }

 private:
  absl::StatusOr<Deal> Agree(absl::string_view study) const;
  // Takes a ticket of a deal that was agreed to. Notes from when on the answer may be sent.
  absl::StatusOr<std::string> TakeTicket(const Deal& deal, absl::Duration delay);
  absl::Status AnswerTicket(const Deal& deal, const DealtTicket& dealt, DealSealer& sealer,
                            ReadText read, PrivateRandom& random) const;

  const RelayedDeviceParts parts_;
  const Respondent respondent_;
  // When this process may send; none until it has a ticket, or finds an answer that waits.
  std::optional<absl::Time> not_before_;
};

}  // namespace coppice

#endif  // COPPICE_CLIENT_RELAY_RELAYED_DEVICE_H_
