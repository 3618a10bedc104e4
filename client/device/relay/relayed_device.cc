#include "client/device/relay/relayed_device.h"

#include <algorithm>
#include <ctime>
#include <string_view>
#include <vector>

#include "absl/time/clock.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"

namespace coppice {
namespace {

class RealClock final : public SendClock {
 public:
  absl::Time WallTime() override { return absl::Now(); }
  absl::Time TimeSinceBoot() override {
    timespec now{};
    clock_gettime(CLOCK_BOOTTIME, &now);
    return absl::TimeFromTimespec(now);
  }
  void SleepUntil(absl::Time since_boot) override {
    // Sleeping stops with the machine, and the time since boot does not: look now and then.
    while (TimeSinceBoot() < since_boot) {
      absl::SleepFor(std::min(since_boot - TimeSinceBoot(), absl::Seconds(1)));
    }
  }
};

}  // namespace

SendClock& SendClock::Real() {
  static RealClock* const clock = new RealClock;
  return *clock;
}

StatusOr<AgreedDeal> RelayedDevice::Agree(std::string_view study) const {
  COPPICE_ASSIGN_OR_RETURN(const DealOffer offer, parts_.relay.GetRelayTerms(study));
  return respondent_.Agree(offer, study, parts_.relay.address(),
                           absl::ToUnixSeconds(parts_.clock.WallTime()));
}

Status RelayedDevice::Answer(std::string_view study, ReadText read, PrivateRandom& random) {
  COPPICE_ASSIGN_OR_RETURN(const bool may_fetch, respondent_.MayFetch(study));
  if (!may_fetch) return OkStatus();
  COPPICE_ASSIGN_OR_RETURN(AgreedDeal agreed, Agree(study));
  COPPICE_RETURN_IF_ERROR(respondent_.Prepare(agreed, random));
  // From here on nothing may decline.
  COPPICE_ASSIGN_OR_RETURN(
      const std::string envelope,
      parts_.relay.TakeOffer(agreed.deal.relay.study, agreed.deal.relay.epoch));
  const absl::Time came = parts_.clock.TimeSinceBoot();
  const auto read_encoded = [&](const Terms& terms) { return terms.schema->EncodeTotally(read()); };
  return respondent_.Answer(agreed, envelope, came, read_encoded, random);
}

StatusOr<Deliveries> RelayedDevice::Deliver(PrivateRandom& random) {
  COPPICE_ASSIGN_OR_RETURN(const std::vector<JournalEntry> waiting, respondent_.Waiting());
  Deliveries deliveries;
  if (waiting.empty()) return deliveries;
  COPPICE_RETURN_IF_ERROR(respondent_.CheckMaySend());
  COPPICE_ASSIGN_OR_RETURN(const absl::Time may_send,
                           respondent_.MaySendFrom(parts_.clock.TimeSinceBoot(), random));
  parts_.clock.SleepUntil(may_send);
  for (const JournalEntry& entry : waiting) {
    COPPICE_RETURN_IF_ERROR(respondent_.CheckMaySend());
    COPPICE_ASSIGN_OR_RETURN(const bool still_waits, respondent_.StillWaits(entry));
    if (!still_waits) continue;
    COPPICE_ASSIGN_OR_RETURN(const SubmitOutcome outcome, parts_.relay.Submit(entry));
    COPPICE_RETURN_IF_ERROR(respondent_.Settle(entry, outcome, deliveries));
  }
  return deliveries;
}

}  // namespace coppice
