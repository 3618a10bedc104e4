#include "client/device/respondent.h"

#include <optional>
#include <string_view>

#include "client/device/responder.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"

namespace coppice {

StatusOr<bool> Respondent::MayFetch(std::string_view study) const {
  COPPICE_ASSIGN_OR_RETURN(const auto answered, journal_.Find(subject_, study));
  if (answered.has_value()) return false;
  COPPICE_RETURN_IF_ERROR(journal_.CheckOptedIn());
  COPPICE_ASSIGN_OR_RETURN(const uint64_t waiting, journal_.CountUndelivered());
  COPPICE_RETURN_IF_ERROR(policy_.AllowsFetch(waiting));
  if (policy_.max_journal_bytes.has_value()) {
    COPPICE_RETURN_IF_ERROR(journal_.MakeRoom(*policy_.max_journal_bytes));
  }
  return true;
}

Status Respondent::CheckTerms(const Terms& terms) const {
  COPPICE_ASSIGN_OR_RETURN(const std::optional<Budget> spent, journal_.Spent(subject_));
  return policy_.Allows(terms, spent);
}

JournalEntry Respondent::EmptyAnswer(const Terms& terms) const {
  PrivateReport empty;
  empty.study = terms.study;
  return {.subject = subject_, .epsilon = terms.epsilon, .report = empty};
}

Status Respondent::MakeRoomFor(const JournalEntry& empty, uint64_t report_bytes) const {
  if (!policy_.max_journal_bytes.has_value()) return OkStatus();
  const uint64_t bytes = Journal::BytesOf(empty) + report_bytes;
  if (bytes > *policy_.max_journal_bytes) {
    return ResourceExhaustedError(StrCat("an answer to study ", empty.report.study, " takes ",
                                         bytes, " bytes of the journal, which may have ",
                                         *policy_.max_journal_bytes));
  }
  return journal_.MakeRoom(*policy_.max_journal_bytes - bytes);
}

Status Respondent::Answer(std::string_view study, Offer offer, ReadRow read,
                          PrivateRandom& random) const {
  if (offer.terms.study != study || offer.tickets.size() != 1) {
    return DataLossError(
        StrCat("the offer of study ", study, " is another study's, or has not one ticket"));
  }
  if (!journal_.OfStudy(study).has_value()) {
    return FailedPreconditionError(
        "nobody vouches for this curator, so that an answer could not be kept for it alone: let "
        "the link's trust rest on the device's journal");
  }
  COPPICE_ASSIGN_OR_RETURN(
      const Privatizer privatizer,
      Privatizer::Create(std::move(offer.terms), offer.fingerprint, std::move(offer.trees)));
  COPPICE_RETURN_IF_ERROR(privatizer.CheckTicket(offer.tickets[0]));
  COPPICE_RETURN_IF_ERROR(
      MakeRoomFor(EmptyAnswer(privatizer.terms()), privatizer.MaxReportBytes(offer.tickets[0])));
  return Responder(policy_, journal_)
      .Respond(
          privatizer, {{subject_, offer.tickets[0]}},
          [&](size_t) { return read(privatizer.terms()); }, random)
      .status();
}

Status Respondent::PrepareSealed(const Terms& terms, uint64_t ciphertext_bytes) const {
  COPPICE_RETURN_IF_ERROR(Responder(policy_, journal_).CheckSealedConsent(terms, {subject_}));
  JournalEntry empty = EmptyAnswer(terms);
  empty.sealed.emplace();
  return MakeRoomFor(empty, ciphertext_bytes);
}

Status Respondent::AnswerSealed(
    const Privatizer& privatizer, const Ticket& ticket, ReadRow read,
    absl::FunctionRef<StatusOr<SealedAnswer>(const PrivateReport&)> seal,
    PrivateRandom& random) const {
  return Responder(policy_, journal_)
      .RespondSealed(
          privatizer, {{subject_, ticket}}, [&](size_t) { return read(privatizer.terms()); },
          [&](size_t, const PrivateReport& report) { return seal(report); }, random)
      .status();
}

StatusOr<std::vector<JournalEntry>> Respondent::Waiting() const {
  COPPICE_ASSIGN_OR_RETURN(std::vector<JournalEntry> waiting, journal_.Undelivered(subject_));
  std::erase_if(waiting, [](const JournalEntry& entry) { return entry.sealed.has_value(); });
  return waiting;
}

StatusOr<std::vector<JournalEntry>> Respondent::WaitingForRelay(const KeyId& relay) const {
  COPPICE_ASSIGN_OR_RETURN(std::vector<JournalEntry> waiting, journal_.Undelivered(subject_));
  std::erase_if(waiting, [&](const JournalEntry& entry) {
    return !entry.sealed.has_value() || entry.sealed->relay != relay;
  });
  return waiting;
}

Status Respondent::CheckMaySend() const {
  if (policy_.opted_out) {
    return FailedPreconditionError("this device's owner has opted out; nothing that waits is sent");
  }
  return journal_.CheckOptedIn();
}

StatusOr<bool> Respondent::StillWaits(const JournalEntry& entry) const {
  COPPICE_ASSIGN_OR_RETURN(const auto kept, journal_.Find(subject_, entry.report.study));
  return kept.has_value() && !kept->delivered;
}

Status Respondent::Settle(const JournalEntry& entry, const DeliveryResult& result,
                          Deliveries& deliveries) const {
  switch (result.delivery) {
    case Delivery::kAccepted:
    case Delivery::kDuplicate:
      ++deliveries.delivered;
      break;
    case Delivery::kRefused:
      deliveries.refused.push_back(result.reason);
      break;
    case Delivery::kUnknownStudy:
      deliveries.unknown.push_back(entry.report.study);
      return OkStatus();
  }
  return journal_.MarkDelivered(entry.report.study, {subject_});
}

Status Respondent::GiveUp(std::string_view study) const {
  return journal_.MarkDelivered(study, {subject_});
}

}  // namespace coppice
