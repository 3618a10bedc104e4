#include "client/respondent.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "client/responder.h"
#include "common/base/status_macros.h"

namespace coppice {

absl::StatusOr<bool> Respondent::MayFetch(absl::string_view study) const {
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

absl::Status Respondent::CheckTerms(const Terms& terms) const {
  COPPICE_ASSIGN_OR_RETURN(const std::optional<Budget> spent, journal_.Spent(subject_));
  return policy_.Allows(terms, spent);
}

absl::Status Respondent::MakeRoomFor(const Terms& terms, uint64_t report_bytes) const {
  if (!policy_.max_journal_bytes.has_value()) return absl::OkStatus();
  PrivateReport empty;
  empty.study = terms.study;
  const JournalEntry entry{.subject = subject_, .epsilon = terms.epsilon, .report = empty};
  const uint64_t bytes = Journal::BytesOf(entry) + report_bytes;
  if (bytes > *policy_.max_journal_bytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("an answer to study ", terms.study, " takes ", bytes,
                     " bytes of the journal, which may have ", *policy_.max_journal_bytes));
  }
  return journal_.MakeRoom(*policy_.max_journal_bytes - bytes);
}

absl::Status Respondent::Answer(absl::string_view study, Offer offer, ReadRow read,
                                PrivateRandom& random) const {
  if (offer.terms.study != study || offer.tickets.size() != 1) {
    return absl::DataLossError(
        absl::StrCat("the offer of study ", study, " is another study's, or has not one ticket"));
  }
  if (!journal_.OfStudy(study).has_value()) {
    return absl::FailedPreconditionError(
        "nobody vouches for this curator, so that an answer could not be kept for it alone: let "
        "the link's trust rest on the device's journal");
  }
  COPPICE_ASSIGN_OR_RETURN(
      const Privatizer privatizer,
      Privatizer::Create(std::move(offer.terms), offer.fingerprint, std::move(offer.trees)));
  COPPICE_RETURN_IF_ERROR(privatizer.CheckTicket(offer.tickets[0]));
  COPPICE_RETURN_IF_ERROR(
      MakeRoomFor(privatizer.terms(), privatizer.MaxReportBytes(offer.tickets[0])));
  return Responder(policy_, journal_)
      .Respond(
          privatizer, {{subject_, offer.tickets[0]}},
          [&](size_t) { return read(privatizer.terms()); }, random)
      .status();
}

absl::StatusOr<std::vector<JournalEntry>> Respondent::Waiting() const {
  return journal_.Undelivered(subject_);
}

absl::Status Respondent::Settle(const JournalEntry& entry, const DeliveryResult& result,
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
      return absl::OkStatus();
  }
  return journal_.MarkDelivered(entry.report.study, {subject_});
}

absl::Status Respondent::GiveUp(absl::string_view study) const {
  return journal_.MarkDelivered(study, {subject_});
}

}  // namespace coppice
