#include "client/device.h"

#include <utility>

#include "client/responder.h"
#include "common/base/status_macros.h"

namespace coppice {

absl::Status Device::Answer(absl::string_view study, ReadText read, PrivateRandom& random,
                            absl::string_view submission_token) const {
  COPPICE_ASSIGN_OR_RETURN(const auto answered, journal_.Find(subject_, study));
  if (answered.has_value()) return absl::OkStatus();
  COPPICE_ASSIGN_OR_RETURN(const std::vector<JournalEntry> waiting, journal_.Undelivered());
  COPPICE_RETURN_IF_ERROR(policy_.AllowsFetch(waiting.size()));
  COPPICE_ASSIGN_OR_RETURN(Offer offer, curator_.FetchOffer(study, submission_token));
  COPPICE_ASSIGN_OR_RETURN(
      const Privatizer privatizer,
      Privatizer::Create(std::move(offer.terms), offer.fingerprint, std::move(offer.trees)));
  const auto read_encoded = [&](size_t) {
    return privatizer.terms().schema->EncodeTotally(read());
  };
  return Responder(policy_, journal_)
      .Respond(privatizer, {{subject_, offer.tickets[0]}}, read_encoded, random)
      .status();
}

absl::StatusOr<bool> Device::IsForThisCurator(const JournalEntry& entry) const {
  if (!entry.curator.has_value()) return false;
  const absl::Status is = curator_.CheckIs(*entry.curator);
  if (absl::IsFailedPrecondition(is)) return false;
  COPPICE_RETURN_IF_ERROR(is);
  return true;
}

absl::Status Device::DeliverOne(const JournalEntry& entry, Deliveries& deliveries) const {
  COPPICE_ASSIGN_OR_RETURN(const std::vector<DeliveryResult> results,
                           curator_.Deliver({entry.report}));
  switch (results[0].delivery) {
    case Delivery::kAccepted:
    case Delivery::kDuplicate:
      ++deliveries.delivered;
      break;
    case Delivery::kRefused:
      deliveries.refused.push_back(results[0].reason);
      break;
    case Delivery::kUnknownStudy:
      ++deliveries.waiting;
      return absl::OkStatus();
  }
  return journal_.MarkDelivered(entry.report.study, {subject_});
}

absl::StatusOr<Device::Deliveries> Device::Deliver() const {
  COPPICE_ASSIGN_OR_RETURN(const std::vector<JournalEntry> waiting, journal_.Undelivered());
  Deliveries deliveries;
  for (const JournalEntry& entry : waiting) {
    if (entry.subject != subject_) continue;
    COPPICE_ASSIGN_OR_RETURN(const bool is_for_this_curator, IsForThisCurator(entry));
    if (is_for_this_curator) {
      COPPICE_RETURN_IF_ERROR(DeliverOne(entry, deliveries));
    } else {
      ++deliveries.waiting;
    }
  }
  return deliveries;
}

}  // namespace coppice
