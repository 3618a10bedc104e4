#include "client/device/relay/relayed_respondent.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <new>
#include <string_view>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"

namespace coppice {
namespace {

// A tree in memory takes some dozens of bytes for each byte that travels, twice while it is read.
constexpr uint64_t kMemoryPerOfferByte = 64;
// The most that a mechanism takes beside its payload: a bit for each cell.
constexpr uint64_t kMechanismBytes = uint64_t{1} << 19;

// What answering a ticket of the deal takes at most.
uint64_t MemoryFor(const Deal& deal) {
  return deal.relay.offer_bytes * kMemoryPerOfferByte + uint64_t{2} * deal.sealing.payload_bytes +
         kMechanismBytes;
}

}  // namespace

StatusOr<absl::Duration> DrawSendDelay(const RelayPolicy& policy, PrivateRandom& random) {
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

StatusOr<AgreedDeal> RelayedRespondent::Agree(const DealOffer& offer, std::string_view study,
                                              std::string_view relay_address, int64_t now) const {
  COPPICE_ASSIGN_OR_RETURN(Deal deal,
                           AdmitDeal(offer, study, relay_address, relay_policy_, trust_, now));
  COPPICE_RETURN_IF_ERROR(MakePrivatizer(deal, {}).status());
  COPPICE_ASSIGN_OR_RETURN(DealSealer sealer, DealSealer::Create(deal));
  COPPICE_RETURN_IF_ERROR(respondent_.PrepareSealed(deal.terms, sealer.ciphertext_bytes()));
  return AgreedDeal{.deal = std::move(deal), .sealer = std::move(sealer)};
}

Status RelayedRespondent::Prepare(AgreedDeal& agreed, PrivateRandom& random) const {
  COPPICE_ASSIGN_OR_RETURN(agreed.delay, DrawSendDelay(relay_policy_, random));
  const uint64_t bytes = MemoryFor(agreed.deal);
  if (bytes <= PTRDIFF_MAX) agreed.set_aside.reset(new (std::nothrow) char[bytes]);
  if (agreed.set_aside == nullptr) {
    return ResourceExhaustedError(StrCat("a ticket of study ", agreed.deal.relay.study,
                                         " may take ", bytes,
                                         " bytes of memory to answer, and there are not so many"));
  }
  // What is only promised may not be there.
  std::memset(agreed.set_aside.get(), 'm', bytes);
  return OkStatus();
}

Status RelayedRespondent::Answer(AgreedDeal& agreed, std::string_view envelope, absl::Time came,
                                 Respondent::ReadRow read, PrivateRandom& random) {
  const absl::Time may_send = came + agreed.delay;
  not_before_ = std::max(not_before_.value_or(may_send), may_send);
  agreed.set_aside.reset();
  COPPICE_ASSIGN_OR_RETURN(const DealtTicket dealt, OpenEnvelope(agreed.deal, envelope));
  COPPICE_ASSIGN_OR_RETURN(const Privatizer privatizer, MakePrivatizer(agreed.deal, dealt.trees));
  return respondent_.AnswerSealed(
      privatizer, dealt.ticket, read,
      [&](const PrivateReport& report) { return agreed.sealer.Seal(dealt, report.payload); },
      random);
}

StatusOr<std::vector<JournalEntry>> RelayedRespondent::Waiting() const {
  return respondent_.WaitingForRelay(KeyIdOf(relay_policy_.relay_key));
}

StatusOr<absl::Time> RelayedRespondent::MaySendFrom(absl::Time now, PrivateRandom& random) {
  if (!not_before_.has_value()) {
    COPPICE_ASSIGN_OR_RETURN(const absl::Duration delay, DrawSendDelay(relay_policy_, random));
    not_before_ = now + delay;
  }
  return *not_before_;
}

}  // namespace coppice
