#include "client/device/messages/relay_messages.h"

#include <utility>

#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/wire/calls.h"

namespace coppice {
namespace {

Status NotOfRelay(std::string_view what) {
  return DataLossError(StrCat("the relay sent ", what, "; do not answer, and tell its operator"));
}

}  // namespace

std::string DealRequestBytes(std::string_view study) { return WriteRelayTermsRequest(study); }

StatusOr<DealOffer> ReadDealOffer(std::string_view response) {
  StatusOr<DealMessage> deal = ReadDeal(response);
  if (!deal.ok()) {
    return NotOfRelay(StrCat("terms that are not well-formed: ", deal.status().message()));
  }
  if (!deal->manifest.has_value()) return NotOfRelay("terms without a manifest");
  return DealOffer{.relay_terms = std::string(deal->relay_terms),
                   .signature = deal->signature,
                   .terms = std::string(deal->terms),
                   .manifest = *std::move(deal->manifest)};
}

std::string TicketRequestBytes(std::string_view study, const EpochId& epoch) {
  return WriteTakeOfferRequest(study, epoch);
}

StatusOr<std::string_view> OpenTicketResponse(std::string_view response) {
  const StatusOr<std::string_view> envelope = ReadEnvelope(response);
  if (!envelope.ok()) return NotOfRelay("no envelope where a ticket was asked for");
  return envelope;
}

std::string SealedReportRequestBytes(const JournalEntry& entry) {
  const SealedAnswer& sealed = *entry.sealed;
  const std::string ticket = entry.report.ticket.ToBytes();
  return WriteSealedReportRequest({.epoch = sealed.epoch,
                                   .ticket = ticket,
                                   .claim = sealed.claim,
                                   .encapsulated = sealed.encapsulated,
                                   .ciphertext = sealed.ciphertext});
}

StatusOr<SubmitOutcome> ReadSubmitOutcome(std::string_view response) {
  const StatusOr<int32_t> outcome = ReadSealedOutcome(response);
  if (!outcome.ok()) return DataLossError("the relay's response has no outcome");
  // coppice.v1.SubmitOutcome has one number before these, for none.
  if (*outcome >= 1 && *outcome <= 1 + static_cast<int32_t>(SubmitOutcome::kBadLength)) {
    return static_cast<SubmitOutcome>(*outcome - 1);
  }
  return DataLossError(
      StrCat("the relay answered with outcome ", *outcome, ", which this version does not know"));
}

}  // namespace coppice
