// One device that answers through a relay: from the question to the delivery.

#ifndef COPPICE_CLIENT_DEVICE_RELAY_RELAYED_DEVICE_H_
#define COPPICE_CLIENT_DEVICE_RELAY_RELAYED_DEVICE_H_

#include <string>
#include <string_view>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/time/time.h"
#include "client/device/journal.h"
#include "client/device/policy.h"
#include "client/device/relay/relay_link.h"
#include "client/device/relay/relayed_respondent.h"
#include "client/device/trust.h"
#include "common/base/status.h"
#include "common/privacy/private_random.h"
#include "common/schema/schema.h"

namespace coppice {

// Time, as a seam. Waits go by the time since boot: whoever forges the device's network time could
// end a wait, and see by the time of sending which tree made the work longer.
class SendClock {
 public:
  static SendClock& Real();
  virtual ~SendClock() = default;
  virtual absl::Time WallTime() = 0;       // by which a deal is valid
  virtual absl::Time TimeSinceBoot() = 0;  // after 1970; also runs while the machine is suspended
  virtual void SleepUntil(absl::Time since_boot) = 0;
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

// Guarantee  What RelayedRespondent promises: all that can decline comes before the ticket, and the
//            row is read after. What is sent is in the journal before, and goes at a time that was
//            drawn before there was a ticket, or, after a restart, before anything is sent.
// Errors     Answer(): those of RelayedRespondent and the link. Deliver(): those of the journal,
// the
//            link and `random`.
// Threads    one at a time.
class RelayedDevice {
 public:
  // `subject` is whose row it is.
  RelayedDevice(std::string subject, const RelayedDeviceParts& parts)
      : parts_(parts),
        respondent_(std::move(subject), parts.policy, parts.relay_policy, parts.journal,
                    parts.trust) {}

  // OK when the journal holds this device's answer to `study`, from now or from before. `read` is
  // called at most once and must not throw; what it leaves out is missing.
  using ReadText = absl::FunctionRef<TextRow()>;
  Status Answer(std::string_view study, ReadText read, PrivateRandom& random);

  // Waits until what waits for this relay may be sent, then sends it. What an earlier process left
  // waits for a delay of its own, drawn anew: else the network would see by the time whose answer
  // a restart had held back. What is lost for good is among the refused. FailedPrecondition, and
  // nothing is sent, if the owner opted out, before or during the wait.
  StatusOr<Deliveries> Deliver(PrivateRandom& random);

  // As Device::GiveUp().
  Status GiveUp(std::string_view study) const { return respondent_.GiveUp(study); }

 private:
  StatusOr<AgreedDeal> Agree(std::string_view study) const;

  const RelayedDeviceParts parts_;
  RelayedRespondent respondent_;
};

}  // namespace coppice

#endif  // COPPICE_CLIENT_DEVICE_RELAY_RELAYED_DEVICE_H_
