#include <thread>
#include <utility>

#include "common/base/status.h"
#include "common/base/text.h"
#include "tests/faults/world_impl.h"

namespace coppice::testing {

// A device gets one token, and keeps it whatever happens to the store.
const std::string& World::TokenOf(uint32_t device) {
  std::string& token = tokens_[device];
  if (token.empty() || bug_ == Bug::kFreshTokenTicket) {
    const auto issued = studies().IssueSubmissionTokens(1);
    Expect(issued.status());
    token = (*issued)[0];
  }
  return token;
}

std::optional<curator::Studies::Offer> World::FetchOffer(const std::string& study,
                                                         uint32_t device) {
  if (!up() || disk_.stopped()) return std::nullopt;
  const auto spec = specs_.find(study);
  if (spec == specs_.end()) return std::nullopt;  // nothing has made it yet
  const StudyTruth& truth = truths_[study];
  if (MayHaveExpired(truth)) Flow();  // an offer of an expired study seals it, which needs writes
  std::vector<std::string> tokens;
  const bool needs_token = spec->second.settings.require_submission_token;
  if (needs_token) tokens.push_back(TokenOf(device));
  StatusOr<curator::Studies::Offer> offer = studies().MakeOffer(study, 1, tokens);
  if (offer.ok()) {
    std::string wrong = watch_.FindWrong(*offer, spec->second, keys_.key(signer_));
    if (wrong.empty() && needs_token) wrong = watch_.FindWrong(*offer, study, device);
    if (!wrong.empty()) Violation(StrCat(study, ": ", wrong));
    return *std::move(offer);
  }
  if (IsNotFound(offer.status()) && truth.made != Done::kYes) return std::nullopt;
  if (IsExcused(offer.status())) return std::nullopt;  // sealing an expired study is a write
  const bool over = truth.sealed == Done::kYes || MayHaveExpired(truth);
  if (IsFailedPrecondition(offer.status()) && over) return std::nullopt;
  Violation(StrCat("an offer of ", study, ": ", offer.status().ToString()));
  return std::nullopt;
}

bool World::AcceptsNow(uint32_t gateway) {
  return followers_[gateway].Accepts(keys_, signer_, studies().SigningKeysInUse().endorsements,
                                     now_);
}

void World::Offer(uint32_t device) {
  const std::string study = StudyOf(SlotOf(device));
  MakeStudy(SlotOf(device));
  const std::optional<curator::Studies::Offer> offer = FetchOffer(study, device);
  if (!offer.has_value()) return;
  const bool accepts = AcceptsNow(GatewayOf(device));
  const Status admitted = fleet_.Admit(device, study, *offer, *offer->manifest, now_);
  if (admitted.ok() != accepts) {
    Violation(accepts ? StrCat("a device refuses an offer: ", admitted.ToString())
                      : "a device believes a key that its own did not lead to");
  }
  if (!admitted.ok()) return static_cast<void>(++tally_.declined);
  followers_[GatewayOf(device)].Accepted(signer_);
  Expect(fleet_.Answer(device, *offer));
}

// The report that the device has journaled for its slot's study and not delivered; if it has no
// answer yet, it fetches an offer first.
std::optional<Message> World::Pending(uint32_t device, bool heard) {
  const std::string study = StudyOf(SlotOf(device));
  if (!fleet_.Find(device, study).has_value()) Offer(device);
  const std::optional<JournalEntry> entry = fleet_.Find(device, study);
  if (!entry.has_value() || entry->delivered) return std::nullopt;
  Message message{.study = study,
                  .fingerprint = entry->report.fingerprint,
                  .devices = {device},
                  .reports = {entry->report},
                  .heard = heard};
  if (bug_ == Bug::kFreshAnswer && truths_[study].claims[device].submitted > 0) {
    const std::optional<curator::Studies::Offer> offer = FetchOffer(study, device);
    if (offer.has_value()) message.reports = {*fleet_.AnswerAnew(device, *offer)};
  }
  return message;
}

void World::Send(uint32_t device, bool heard) {
  if (const std::optional<Message> message = Pending(device, heard)) Submit(*message);
  if (heard || bug_ != Bug::kForgetfulDevice) return;
  const std::string study = StudyOf(SlotOf(device));
  if (fleet_.Find(device, study).has_value()) Expect(fleet_.MarkDelivered(device, study));
}

void World::SendBatch(uint32_t gateway, uint32_t slot) {
  const std::string study = StudyOf(slot);
  Message message{.study = study};
  for (const uint32_t device : fleet_.Undelivered(gateway, study)) {
    const std::optional<Message> one = Pending(device, /*heard=*/true);
    if (!one.has_value()) continue;
    message.fingerprint = one->fingerprint;
    message.devices.push_back(device);
    message.reports.push_back(one->reports[0]);
  }
  if (!message.devices.empty()) Submit(message);
}

std::vector<Message> World::GroupOf(uint32_t first, uint32_t count) {
  std::vector<Message> messages;
  for (uint32_t i = 0; i <= count; ++i) {
    if (std::optional<Message> message = Pending((first + i) % kDevices, /*heard=*/true)) {
      messages.push_back(*std::move(message));
    }
  }
  return messages;
}

// Makes the messages one group: the first is held at the disk until the others are queued.
void World::Queue(const std::vector<Message>& messages) {
  curator_.gate().Hold(true);
  for (const Message& message : messages) {
    Submit(message);
    while (!slow_ && !curator_.gate().HasWaiting() && traffic_.Unanswered() > 0) {
      std::this_thread::yield();
    }
  }
}

void World::SendTogether(const std::vector<Message>& messages) {
  if (!up() || messages.empty()) return;
  Queue(messages);
  if (!slow_) curator_.gate().Hold(false);
}

void World::Resend(uint32_t gateway, uint32_t slot) {
  const std::string study = StudyOf(slot);
  Message message{.study = study, .heard = false};
  for (const uint32_t device : fleet_.Answered(gateway, study)) {
    message.devices.push_back(device);
    message.reports.push_back(fleet_.Find(device, study)->report);
    message.fingerprint = message.reports[0].fingerprint;
  }
  if (!message.devices.empty()) Submit(message);
}

// Looks like a device that lost its journal, or a liar: only the token bounds what it counts.
void World::AnswerAnew(uint32_t device) {
  const std::string study = StudyOf(kTokenSlot);
  const std::optional<curator::Studies::Offer> offer = FetchOffer(study, device);
  if (!offer.has_value()) return;
  Submit({.study = study,
          .fingerprint = offer->fingerprint,
          .devices = {device},
          .reports = {*fleet_.AnswerAnew(device, *offer)},
          .heard = false});
}

void World::Arrive(uint32_t which) {
  if (network_.empty()) return;
  const auto at = network_.begin() + which % network_.size();
  const Message message = *at;
  network_.erase(at);
  Submit(message);
}

void World::Submit(const Message& message) {
  if (!up() || disk_.stopped()) return;  // nobody would answer
  tally_.submitted += message.devices.size();
  for (size_t i = 0; i < message.devices.size() && !message.refusal.has_value(); ++i) {
    Claim& claim = truths_[message.study].claims[message.devices[i]];
    const Ticket& ticket = message.reports[i].ticket;
    claim.cell = Fleet::CellOf(message.devices[i]);
    claim.ticket.assign(ticket.id.begin(), ticket.id.end());
    ++claim.submitted;
  }
  Message sent = message;
  if (slow_) sent.heard = false;
  traffic_.Submit(studies(), std::move(sent));
}

void World::TakeAnswers() {
  for (const Answered& answer : traffic_.Take()) Take(answer);
}

void World::Take(const Answered& answer) {
  const Message& message = answer.message;
  if (!answer.outcomes.ok()) {
    const Status& status = answer.outcomes.status();
    ++(IsCancelled(status) ? tally_.lost : tally_.failed);
    if (!IsExcused(status) && !IsCancelled(status)) Expect(status);
    return;
  }
  for (size_t i = 0; i < message.devices.size(); ++i) {
    const curator::ReportOutcome outcome = (*answer.outcomes)[i];
    if (message.refusal.has_value()) {
      ++tally_.forged;
      if (outcome == *message.refusal || IsExplained(truths_[message.study], outcome)) continue;
      Violation(StrCat("a forged report is answered with outcome ", static_cast<int>(outcome),
                       ", not ", static_cast<int>(*message.refusal)));
      continue;
    }
    Note(message.study, message.devices[i], outcome);
    if (message.heard) Expect(fleet_.MarkDelivered(message.devices[i], message.study));
  }
}

void World::Note(const std::string& study, uint32_t device, curator::ReportOutcome outcome) {
  StudyTruth& truth = truths_[study];
  Claim& claim = truth.claims[device];
  switch (outcome) {
    case curator::ReportOutcome::kAccepted:
      ++tally_.accepted;
      if (claim.accepted && bug_ != Bug::kFreshAnswer) {
        Violation(StrCat("device ", device, " is accepted twice"));
      }
      claim.accepted = claim.promised = true;
      return;
    case curator::ReportOutcome::kDuplicate:
      ++tally_.duplicates;
      ++truth.duplicates;
      claim.promised = true;
      return;
    default:
      ++tally_.refused;
      ++claim.refused;
      if (IsExplained(truth, outcome)) return;
      Violation(StrCat("device ", device, " is refused with outcome ", static_cast<int>(outcome)));
  }
}

// Whether the study's state explains the refusal.
bool World::IsExplained(const StudyTruth& truth, curator::ReportOutcome refusal) const {
  switch (refusal) {
    case curator::ReportOutcome::kStudySealed:
      return truth.sealed == Done::kYes;
    case curator::ReportOutcome::kStudyExpired:
      return MayHaveExpired(truth);
    case curator::ReportOutcome::kStudyDeleted:
      return truth.deleted == Done::kYes;
    case curator::ReportOutcome::kUnknownStudy:
      return truth.deleted == Done::kYes || truth.made != Done::kYes;
    default:
      return false;
  }
}

}  // namespace coppice::testing
