#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/terms/public_values.h"
#include "server/curator/form/forms.h"

namespace coppice::curator {

SharedSums LabelAloneForm::ModelSums(size_t tree, const SharedSums& sums,
                                     const std::optional<EncodedValue>& /*where*/) const {
  return SomeLeavesForm::ModelSums(tree, sums, std::nullopt);
}

std::string LabelAloneForm::ReleaseInWords() const { return "a device's one report: its label"; }

std::string LabelAloneForm::NeighboursInWords() const {
  return StrCat("any label of one device for any other, its public features as they are: ",
                PublicFeatureNames(), " (local)");
}

// Looks the features up last, since that may read a disk.
StatusOr<StudyForm::Reading> JoinedByIdForm::Read(uint32_t tree, const TicketDraw& draw,
                                                  const ReceivedReport& report,
                                                  FeaturesOfId features_of) const {
  const LocalMechanism& of_label = counter(tree).MechanismFor(1);
  if (!CheckJoinId(report.in_clear).ok() || !of_label.Check(report.payload).ok()) return Reading();
  COPPICE_ASSIGN_OR_RETURN(const std::optional<Row> row, features_of(report.in_clear));
  if (!row.has_value()) return Reading{.verdict = Verdict::kUnknownId};
  return Reading{.verdict = Verdict::kGood,
                 .column = draw.Column(of_label.columns()),
                 .leaves = counter(tree).LeavesOf(*row)};
}

std::string JoinedByIdForm::NeighboursInWords() const {
  return StrCat("any label of one device for any other, its ", terms().joined_by,
                " and the features that the curator joins by it as they are: ",
                PublicFeatureNames(), " (local)");
}

std::string JoinedByIdForm::InClearInWords() const {
  return StrCat("what reports show in the clear, the id ", terms().joined_by,
                ", and the features that the curator had of it");
}

}  // namespace coppice::curator
