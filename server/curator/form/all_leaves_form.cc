#include "server/curator/form/forms.h"

namespace coppice::curator {

StatusOr<StudyForm::Reading> AllLeavesForm::Read(uint32_t tree, const TicketDraw& draw,
                                                 const ReceivedReport& report,
                                                 FeaturesOfId /*features_of*/) const {
  const LocalMechanism& of_tree = mechanism(tree);
  if (!report.in_clear.empty() || !of_tree.Check(report.payload).ok()) return Reading();
  return Reading{.verdict = Verdict::kGood, .column = draw.Column(of_tree.columns())};
}

void AllLeavesForm::AddAll(uint32_t tree, absl::Span<const Contribution> reports,
                           absl::Span<const absl::Span<const uint32_t>> /*leaves*/,
                           absl::Span<int64_t> sums) const {
  mechanism(tree).AddAll(reports, sums);
}

SharedSums AllLeavesForm::ModelSums(size_t /*tree*/, const SharedSums& sums,
                                    const std::optional<EncodedValue>& /*where*/) const {
  return sums;
}

StatusOr<PrivateCounts> AllLeavesForm::CountsOf(size_t tree, const TreeSums& model_sums,
                                                const PublicCounts& of_rows) const {
  return CountReports(mechanism(tree), model_sums, of_rows);
}

NoisyCounts AllLeavesForm::NoisyCountsOf(size_t tree, const TreeSums& sums, uint64_t reports,
                                         bool several_draws) const {
  return CountWithNoise(mechanism(tree), sums, reports, several_draws);
}

TreeReports AllLeavesForm::ReportsFor(size_t tree, const TreeSums& model_sums) const {
  return {.mechanism = &mechanism(tree), .sums = &model_sums};
}

std::string AllLeavesForm::ReleaseInWords() const {
  return "a device's one report: its leaf and label in one tree";
}

std::string AllLeavesForm::NeighboursInWords() const {
  return "any value of one device's row for any other (local)";
}

}  // namespace coppice::curator
