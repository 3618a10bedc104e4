#include "common/base/status.h"
#include "common/base/text.h"
#include "tests/faults/world_impl.h"

namespace coppice::testing {

std::optional<Fingerprint> World::FingerprintOf(const std::string& study) {
  for (const curator::StudyInfo& info : studies().List({})) {
    if (info.id == study) return info.fingerprint;
  }
  return std::nullopt;
}

void World::SendForged(uint32_t device, ReportForgery forgery) {
  const std::string study = StudyOf(SlotOf(device));
  const std::string other = StudyOf((SlotOf(device) + 1) % kSlots);
  if (!fleet_.Find(device, study).has_value()) Offer(device);
  const std::optional<JournalEntry> entry = fleet_.Find(device, study);
  if (!up() || disk_.stopped() || !entry.has_value()) return;
  const std::optional<Fingerprint> fingerprint = FingerprintOf(other);
  if (!fingerprint.has_value()) return;
  ForgedReport forged = Forge(forgery, entry->report, *fingerprint, TokenOf(device));
  const std::string target = IsToOther(forgery) ? other : study;
  if (bug_ == Bug::kLaxTickets && forged.refusal == curator::ReportOutcome::kBadTicket) {
    const std::optional<curator::Studies::Offer> offer = FetchOffer(target, device);
    if (offer.has_value()) forged.report.ticket = offer->tickets[0];
  }
  Submit({.study = target,
          .fingerprint = forged.fingerprint,
          .devices = {device},
          .reports = {forged.report},
          .heard = false,
          .refusal = forged.refusal});
}

void World::AskWithBadToken(uint32_t device, TokenMistake mistake) {
  const uint32_t slot = mistake == TokenMistake::kUncalled ? 0 : kTokenSlot;
  const std::string study = StudyOf(slot);
  const std::optional<curator::Studies::Offer> offer = FetchOffer(study, device);
  if (!offer.has_value()) return;  // the study takes no more reports, and said so
  const BadTokens bad = Make(mistake, TokenOf(device), offer->tickets[0]);
  const Status asked = studies().MakeOffer(study, bad.tickets, bad.tokens).status();
  if (asked.code() == bad.refusal) return;
  Violation(StrCat("tickets without a token that is good for them: ", asked.ToString()));
}

void World::MeetImpostor(uint32_t device, ManifestForgery forgery) {
  const std::string study = StudyOf(SlotOf(device));
  if (!followers_[GatewayOf(device)].HasRoot()) return;
  const std::optional<curator::Studies::Offer> offer = FetchOffer(study, device);
  if (!offer.has_value()) return;
  const SignedManifest forged = Forge(forgery, *offer->manifest, now_);
  const Status admitted = fleet_.Admit(device, study, *offer, forged, now_, /*always=*/true);
  if (admitted.ok()) Violation("a device believes an offer that its curator has not signed");
  if (!IsFailedPrecondition(admitted) && !IsDataLoss(admitted) && !IsInvalidArgument(admitted)) {
    Expect(admitted);
  }
}

}  // namespace coppice::testing
