#include "client/device/device.h"

#include <string_view>
#include <utility>
#include <vector>

#include "client/device/curator_check.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/terms/report_form.h"

namespace coppice {

Status Device::Answer(std::string_view study, ReadText read, PrivateRandom& random,
                      std::string_view submission_token) const {
  COPPICE_ASSIGN_OR_RETURN(const bool may_fetch, respondent_.MayFetch(study));
  if (!may_fetch) return OkStatus();
  COPPICE_ASSIGN_OR_RETURN(Offer offer, curator_.FetchOffer(study, submission_token));
  const auto read_encoded = [&](const Terms& terms) {
    return ReportForm::Of(terms).Encode(terms, read());
  };
  return respondent_.Answer(study, std::move(offer), read_encoded, random);
}

Status Device::DeliverOne(const JournalEntry& entry, Deliveries& deliveries) const {
  COPPICE_ASSIGN_OR_RETURN(const std::vector<DeliveryResult> results,
                           curator_.Deliver({entry.report}));
  if (results.size() != 1) return DataLossError("one report has not one result");
  return respondent_.Settle(entry, results[0], deliveries);
}

StatusOr<Deliveries> Device::Deliver() const {
  COPPICE_ASSIGN_OR_RETURN(const std::vector<JournalEntry> waiting, respondent_.Waiting());
  CuratorCheck is_curators([this](const PublicKey& root) { return curator_.CheckIs(root); });
  Deliveries deliveries;
  for (const JournalEntry& entry : waiting) {
    COPPICE_RETURN_IF_ERROR(respondent_.CheckMaySend());
    COPPICE_ASSIGN_OR_RETURN(const bool still_waits, respondent_.StillWaits(entry));
    if (!still_waits) continue;
    COPPICE_ASSIGN_OR_RETURN(const bool is_for_this_curator, is_curators.Owns(entry));
    if (is_for_this_curator) {
      COPPICE_RETURN_IF_ERROR(DeliverOne(entry, deliveries));
    } else {
      ++deliveries.of_other_curators;
    }
  }
  return deliveries;
}

}  // namespace coppice
