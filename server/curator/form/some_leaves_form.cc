#include <algorithm>
#include <utility>

#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/terms/public_values.h"
#include "server/curator/form/forms.h"

namespace coppice::curator {
namespace {

// One counter a tree; they share mechanisms.
StatusOr<std::vector<ConsistentCounter>> MakeCounters(const Terms& terms, const Forest& forest) {
  const ReportForm& form = ReportForm::Of(terms);
  uint32_t most_leaves = 1;
  for (const Tree& tree : forest) most_leaves = std::max(most_leaves, form.PayloadLeaves(tree));
  COPPICE_ASSIGN_OR_RETURN(
      const std::shared_ptr<MechanismsBySize> mechanisms,
      MechanismsBySize::Create(terms.mechanism, terms.epsilon, DomainOf(terms, most_leaves)));
  std::vector<ConsistentCounter> counters;
  for (const Tree& tree : forest) counters.emplace_back(tree, terms.schema, mechanisms);
  return counters;
}

}  // namespace

StatusOr<std::unique_ptr<const StudyForm>> SomeLeavesForm::Make(Parts parts,
                                                                const std::string& by_feature) {
  const std::shared_ptr<const Terms> terms = parts.terms;
  const ReportForm& report = parts.report;
  std::unique_ptr<SomeLeavesForm> form;
  if (report.ShowsId()) {
    form = std::make_unique<JoinedByIdForm>(std::move(parts));
  } else if (report.IsAboutLabelAlone()) {
    form = std::make_unique<LabelAloneForm>(std::move(parts));
  } else {
    form.reset(new SomeLeavesForm(std::move(parts)));
  }
  COPPICE_ASSIGN_OR_RETURN(form->counters_, MakeCounters(*terms, *form->forest()));
  if (by_feature.empty()) return form;
  ValuesInFront& values = form->values_.emplace();
  COPPICE_ASSIGN_OR_RETURN(values.feature, FindByFeature(*terms->schema, by_feature));
  COPPICE_ASSIGN_OR_RETURN(Forest behind,
                           TakeValuesFromFront(*form->forest(), *terms->schema, values.feature));
  form->set_model_forest(std::make_shared<const Forest>(std::move(behind)));
  COPPICE_ASSIGN_OR_RETURN(values.counters_behind, MakeCounters(*terms, *form->model_forest()));
  return form;
}

StatusOr<StudyForm::Reading> SomeLeavesForm::Read(uint32_t tree, const TicketDraw& draw,
                                                  const ReceivedReport& report,
                                                  FeaturesOfId /*features_of*/) const {
  const StatusOr<Row> row = DecodePublicValues(*terms().schema, (*forest())[tree], report.in_clear);
  if (!row.ok()) return Reading();
  Reading reading{.leaves = counters_[tree].LeavesOf(*row)};
  const LocalMechanism& of_leaves = counters_[tree].MechanismFor(reading.leaves.size());
  if (!of_leaves.Check(report.payload).ok()) return Reading();
  reading.verdict = Verdict::kGood;
  reading.column = draw.Column(of_leaves.columns());
  return reading;
}

void SomeLeavesForm::AddAll(uint32_t tree, absl::Span<const Contribution> reports,
                            absl::Span<const absl::Span<const uint32_t>> leaves,
                            absl::Span<int64_t> sums) const {
  for (size_t i = 0; i < reports.size(); ++i) {
    counters_[tree].AddChecked(leaves[i], reports[i], sums);
  }
}

Status SomeLeavesForm::CheckEstimator(const EstimatorOptions& options) const {
  COPPICE_RETURN_IF_ERROR(StudyForm::CheckEstimator(options));
  if (TakesForest(options.kind)) return OkStatus();
  return InvalidArgumentError(
      "estimator: the study has public features, so its reports are not about all leaves; take "
      "pooled or smooth");
}

std::optional<uint32_t> SomeLeavesForm::by_feature() const {
  return values_ ? std::optional(values_->feature) : std::nullopt;
}

const ConsistentCounter& SomeLeavesForm::ModelCounter(size_t tree) const {
  return values_ ? values_->counters_behind[tree] : counters_[tree];
}

SharedSums SomeLeavesForm::ModelSums(size_t tree, const SharedSums& sums,
                                     const std::optional<EncodedValue>& where) const {
  if (!values_) return sums;
  const ConsistentCounter& behind = values_->counters_behind[tree];
  return std::make_shared<const TreeSums>(
      where ? behind.OfCopy(*sums, CopyOf(*terms().schema, *where)) : behind.OfAllCopies(*sums));
}

StatusOr<PrivateCounts> SomeLeavesForm::CountsOf(size_t tree, const TreeSums& model_sums,
                                                 const PublicCounts& of_rows) const {
  return ModelCounter(tree).Counts(model_sums, of_rows);
}

NoisyCounts SomeLeavesForm::NoisyCountsOf(size_t tree, const TreeSums& sums, uint64_t reports,
                                          bool several_draws) const {
  return CountWithNoise(counters_[tree], sums, reports, several_draws);
}

TreeReports SomeLeavesForm::ReportsFor(size_t tree, const TreeSums& model_sums) const {
  return {.mechanism = &mechanism(tree), .sums = &model_sums, .counter = &ModelCounter(tree)};
}

// Every tree of a study by a feature begins with its values, so the number of reports with each
// value is known over all trees.
std::vector<std::optional<uint64_t>> SomeLeavesForm::KnownRows(
    size_t tree, absl::Span<const SharedSums> sums) const {
  if (!values_) return {};
  const uint32_t copies = NumCopies(terms().schema->features()[values_->feature]);
  std::vector<uint64_t> of_values(2 * (size_t{copies} - 1));
  for (size_t t = 0; t < sums.size(); ++t) {
    const std::vector<uint64_t> at_nodes = counters_[t].ReportsAtNodes(sums[t]->sums);
    const std::vector<uint32_t> nodes = NodesOfValues((*forest())[t], copies);
    for (size_t i = 0; i < nodes.size(); ++i) of_values[i] += at_nodes[nodes[i]];
  }
  const Tree& asked = (*forest())[tree];
  std::vector<std::optional<uint64_t>> known(asked.nodes().size());
  const std::vector<uint32_t> nodes = NodesOfValues(asked, copies);
  for (size_t i = 0; i < nodes.size(); ++i) known[nodes[i]] = of_values[i];
  return known;
}

std::string SomeLeavesForm::ReleaseInWords() const {
  return "a device's one report: its leaf and label in one tree";
}

std::string SomeLeavesForm::NeighboursInWords() const {
  return StrCat(
      "any label and private features of one device for any others, its public features as they "
      "are: ",
      PublicFeatureNames(), " (local)");
}

std::string SomeLeavesForm::InClearInWords() const {
  return "what reports show in the clear: the values of the public features";
}

}  // namespace coppice::curator
