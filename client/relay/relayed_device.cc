#include "client/relay/relayed_device.h"

#include <algorithm>
#include <vector>

#include "absl/time/clock.h"
#include "common/base/status_macros.h"

namespace coppice {
namespace {

// A tree in memory takes some dozens of bytes for each byte that travels, twice while it is read.
constexpr size_t kMemoryPerOfferByte = 64;
// The most that a mechanism takes beside its payload: a bit for each cell.
constexpr size_t kMechanismBytes = size_t{1} << 19;

class RealClock final : public SendClock {
 public:
  absl::Time Now() override { return absl::Now(); }
  void SleepUntil(absl::Time time) override { absl::SleepFor(time - absl::Now()); }
};

// Held until the offer has come, so that memory is short before there is a ticket, and not when it
// is one of a large tree. It is written to, because what is only promised may not be there.
std::vector<char> SetAsideMemory(const Deal& deal) {
  return std::vector<char>(size_t{deal.relay.offer_bytes} * kMemoryPerOfferByte +
                               size_t{2} * deal.sealing.payload_bytes + kMechanismBytes,
                           'm');
}

}  // namespace

SendClock& SendClock::Real() {
  static RealClock* const clock = new RealClock;
  return *clock;
}

absl::StatusOr<absl::Duration> DrawSendDelay(const RelayPolicy& policy, PrivateRandom& random) {
  const uint64_t most = uint64_t{policy.max_send_delay_seconds} * 1000;
  const uint64_t least = most / 10;
  COPPICE_ASSIGN_OR_RETURN(const uint64_t drawn, random.UniformBelow(most - least + 1));
  return absl::Milliseconds(least + drawn);
}

DeliveryResult ResultOf(SubmitOutcome outcome) {
  switch (outcome) {
    case SubmitOutcome::kStored:
      return {Delivery::kAccepted, ""};
    case SubmitOutcome::kConflict:
      return {Delivery::kRefused, "the relay has another report for the ticket"};
    case SubmitOutcome::kClosed:
      return {Delivery::kRefused, "the relay's deal was closed before the report came"};
    case SubmitOutcome::kUnknown:
      return {Delivery::kRefused, "the relay does not know the deal, or this device's ticket"};
    case SubmitOutcome::kBadLength:
      break;
  }
  return {Delivery::kRefused, "the relay expects reports of another length"};
}

absl::StatusOr<Deal> RelayedDevice::Agree(absl::string_view study) const {
  COPPICE_ASSIGN_OR_RETURN(const DealOffer offer, parts_.relay.GetRelayTerms(study));
  return AdmitDeal(offer, study, parts_.relay.address(), parts_.relay_policy, parts_.trust,
                   absl::ToUnixSeconds(parts_.clock.Now()));
}

absl::StatusOr<std::string> RelayedDevice::TakeTicket(const Deal& deal, absl::Duration delay) {
  const std::vector<char> set_aside = SetAsideMemory(deal);
  COPPICE_ASSIGN_OR_RETURN(std::string envelope,
                           parts_.relay.TakeOffer(deal.relay.study, deal.relay.epoch));
  const absl::Time may_send = parts_.clock.Now() + delay;
  not_before_ = std::max(not_before_.value_or(may_send), may_send);
  return envelope;
}

absl::Status RelayedDevice::AnswerTicket(const Deal& deal, const DealtTicket& dealt,
                                         DealSealer& sealer, ReadText read,
                                         PrivateRandom& random) const {
  COPPICE_ASSIGN_OR_RETURN(const Privatizer privatizer, MakePrivatizer(deal, dealt.trees));
  return respondent_.AnswerSealed(
      privatizer, dealt.ticket,
      [&](const Terms& terms) { return terms.schema->EncodeTotally(read()); },
      [&](const PrivateReport& report) { return sealer.Seal(dealt, report.payload); }, random);
}

absl::Status RelayedDevice::Answer(absl::string_view study, ReadText read, PrivateRandom& random) {
  COPPICE_ASSIGN_OR_RETURN(const bool may_fetch, respondent_.MayFetch(study));
  if (!may_fetch) return absl::OkStatus();
  COPPICE_ASSIGN_OR_RETURN(const Deal deal, Agree(study));
  COPPICE_RETURN_IF_ERROR(MakePrivatizer(deal, {}).status());
  COPPICE_ASSIGN_OR_RETURN(DealSealer sealer, DealSealer::Create(deal));
  COPPICE_RETURN_IF_ERROR(respondent_.PrepareSealed(deal.terms, sealer.ciphertext_bytes()));
  COPPICE_ASSIGN_OR_RETURN(const absl::Duration delay, DrawSendDelay(parts_.relay_policy, random));
  // From here on nothing may decline.
  COPPICE_ASSIGN_OR_RETURN(const std::string envelope, TakeTicket(deal, delay));
  COPPICE_ASSIGN_OR_RETURN(const DealtTicket dealt, OpenEnvelope(deal, envelope));
  return AnswerTicket(deal, dealt, sealer, read, random);
}

absl::StatusOr<Deliveries> RelayedDevice::Deliver(PrivateRandom& random) {
  COPPICE_ASSIGN_OR_RETURN(const std::vector<JournalEntry> waiting,
                           respondent_.WaitingForRelay(KeyIdOf(parts_.relay_policy.relay_key)));
  Deliveries deliveries;
  if (waiting.empty()) return deliveries;
  if (!not_before_.has_value()) {
    COPPICE_ASSIGN_OR_RETURN(const absl::Duration delay,
                             DrawSendDelay(parts_.relay_policy, random));
    not_before_ = parts_.clock.Now() + delay;
  }
  parts_.clock.SleepUntil(*not_before_);
  for (const JournalEntry& entry : waiting) {
    COPPICE_ASSIGN_OR_RETURN(const SubmitOutcome outcome, parts_.relay.Submit(entry));
    COPPICE_RETURN_IF_ERROR(respondent_.Settle(entry, ResultOf(outcome), deliveries));
  }
  return deliveries;
}

}  // namespace coppice
