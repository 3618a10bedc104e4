#include "client/device.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "client/curator_check.h"
#include "client/responder.h"
#include "common/base/status_macros.h"

namespace coppice {

namespace {

// What of a device's text a study asks for. Where it is joined by an id: the id and the label, and
// no feature.
LabelledRow EncodeFor(const Terms& terms, const TextRow& text) {
  const Schema& schema = *terms.schema;
  if (terms.joined_by.empty()) return schema.EncodeTotally(text);
  TextRow asked;
  if (const auto label = text.find(schema.label()); label != text.end()) asked.insert(*label);
  LabelledRow row = schema.EncodeTotally(asked);
  if (const auto id = text.find(terms.joined_by); id != text.end()) row.id = id->second;
  return row;
}

}  // namespace

absl::StatusOr<Offer> Device::Fetch(absl::string_view study,
                                    absl::string_view submission_token) const {
  COPPICE_ASSIGN_OR_RETURN(Offer offer, curator_.FetchOffer(study, submission_token));
  if (offer.terms.study != study || offer.tickets.size() != 1) {
    return absl::DataLossError(
        absl::StrCat("the offer of study ", study, " is another study's, or has not one ticket"));
  }
  if (!journal_.OfStudy(study).has_value()) {
    return absl::FailedPreconditionError(
        "nobody vouches for this curator, so that an answer could not be kept for it alone: let "
        "the "
        "link's trust rest on the device's journal");
  }
  return offer;
}

absl::Status Device::Answer(absl::string_view study, ReadText read, PrivateRandom& random,
                            absl::string_view submission_token) const {
  COPPICE_ASSIGN_OR_RETURN(const auto answered, journal_.Find(subject_, study));
  if (answered.has_value()) return absl::OkStatus();
  COPPICE_ASSIGN_OR_RETURN(const uint64_t waiting, journal_.CountUndelivered());
  COPPICE_RETURN_IF_ERROR(policy_.AllowsFetch(waiting));
  COPPICE_ASSIGN_OR_RETURN(Offer offer, Fetch(study, submission_token));
  COPPICE_ASSIGN_OR_RETURN(
      const Privatizer privatizer,
      Privatizer::Create(std::move(offer.terms), offer.fingerprint, std::move(offer.trees)));
  const auto read_encoded = [&](size_t) { return EncodeFor(privatizer.terms(), read()); };
  return Responder(policy_, journal_)
      .Respond(privatizer, {{subject_, offer.tickets[0]}}, read_encoded, random)
      .status();
}

absl::Status Device::DeliverOne(const JournalEntry& entry, Deliveries& deliveries) const {
  COPPICE_ASSIGN_OR_RETURN(const std::vector<DeliveryResult> results,
                           curator_.Deliver({entry.report}));
  if (results.size() != 1) return absl::DataLossError("one report has not one result");
  switch (results[0].delivery) {
    case Delivery::kAccepted:
    case Delivery::kDuplicate:
      ++deliveries.delivered;
      break;
    case Delivery::kRefused:
      deliveries.refused.push_back(results[0].reason);
      break;
    case Delivery::kUnknownStudy:
      deliveries.unknown.push_back(entry.report.study);
      return absl::OkStatus();
  }
  return journal_.MarkDelivered(entry.report.study, {subject_});
}

absl::StatusOr<Device::Deliveries> Device::Deliver() const {
  COPPICE_ASSIGN_OR_RETURN(const std::vector<JournalEntry> waiting, journal_.Undelivered(subject_));
  CuratorCheck is_curators([this](const PublicKey& root) { return curator_.CheckIs(root); });
  Deliveries deliveries;
  for (const JournalEntry& entry : waiting) {
    COPPICE_ASSIGN_OR_RETURN(const bool is_for_this_curator, is_curators.Owns(entry));
    if (is_for_this_curator) {
      COPPICE_RETURN_IF_ERROR(DeliverOne(entry, deliveries));
    } else {
      ++deliveries.of_other_curators;
    }
  }
  return deliveries;
}

absl::Status Device::GiveUp(absl::string_view study) const {
  return journal_.MarkDelivered(study, {subject_});
}

}  // namespace coppice
