#include "server/curator/form/study_form.h"

#include <algorithm>
#include <utility>

#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "server/curator/form/forms.h"
#include "server/curator/partition/number_labels.h"

namespace coppice::curator {

StatusOr<std::unique_ptr<const StudyForm>> StudyForm::Make(std::shared_ptr<const Terms> terms,
                                                           std::shared_ptr<const Forest> forest,
                                                           const std::string& by_feature) {
  const ReportForm& report = ReportForm::Of(*terms);
  std::vector<std::unique_ptr<LocalMechanism>> mechanisms;
  for (const Tree& tree : *forest) {
    COPPICE_ASSIGN_OR_RETURN(mechanisms.emplace_back(),
                             MakeMechanism(*terms, report.PayloadLeaves(tree)));
  }
  Parts parts{.report = report,
              .terms = std::move(terms),
              .forest = std::move(forest),
              .mechanisms = std::move(mechanisms)};
  if (report.ShowsSomething()) return SomeLeavesForm::Make(std::move(parts), by_feature);
  if (!by_feature.empty()) {
    // Says that the feature is not public, and which ones are.
    COPPICE_RETURN_IF_ERROR(FindByFeature(*parts.terms->schema, by_feature).status());
  }
  return std::make_unique<const AllLeavesForm>(std::move(parts));
}

namespace {

// Models hold no centres: those are for devices alone.
std::shared_ptr<const Forest> WithoutCentres(const std::shared_ptr<const Forest>& forest) {
  const auto has_centres = [](const Tree& tree) { return tree.centres().has_value(); };
  if (std::none_of(forest->begin(), forest->end(), has_centres)) return forest;
  Forest shapes;
  for (const Tree& tree : *forest) shapes.push_back(tree.WithoutCentres());
  return std::make_shared<const Forest>(std::move(shapes));
}

}  // namespace

StudyForm::StudyForm(Parts parts)
    : report_(parts.report),
      terms_(std::move(parts.terms)),
      forest_(std::move(parts.forest)),
      model_forest_(WithoutCentres(forest_)),
      mechanisms_(std::move(parts.mechanisms)) {}

size_t StudyForm::MaxPayloadBytes() const {
  size_t longest = 0;
  for (const auto& mechanism : mechanisms_) {
    longest = std::max(longest, mechanism->max_payload_bytes());
  }
  return longest;
}

Status StudyForm::CheckTellsWhere(const EstimatorOptions& options) const {
  if (!options.where) return OkStatus();
  const Schema& schema = *terms_->schema;
  COPPICE_RETURN_IF_ERROR(EncodeValue(schema, *options.where).status());
  const std::string by = by_feature() ? schema.features()[*by_feature()].name : "";
  if (!KeepsReports() && by != options.where->feature) {
    return FailedPreconditionError(
        StrCat("where: the study ", terms_->study, " does not tell its reports apart by ",
               options.where->feature, ", it is by ", by.empty() ? "no feature" : by,
               ": create a study with partition.by_feature (study create --by) of a public "
               "feature"));
  }
  if (!KeepsReports() && options.kind == EstimatorKind::kSmooth) {
    return InvalidArgumentError(StrCat("where: smooth compares reports with public rows of every ",
                                       by, ", and where selects reports alone; take pooled"));
  }
  if (options.evidence == Evidence::kPublic) {
    return InvalidArgumentError(
        "where: selects reports, but evidence public uses none; choose reports or both");
  }
  return OkStatus();
}

Status StudyForm::CheckEstimator(const EstimatorOptions& options) const {
  if (!AnswersNumbers() || TakesForest(options.kind)) return OkStatus();
  return InvalidArgumentError(
      "estimator: the study is of numbers, weighted and prune are for classes; take pooled or "
      "smooth");
}

void StudyForm::PlaceInTargetBounds(std::vector<std::vector<LeafPrediction>>& leaves) const {
  if (AnswersNumbers()) PlaceInBounds(*terms_->rounding, *terms_->schema->target(), leaves);
}

StatusOr<Table> StudyForm::CutToRange(const Table& rows) const {
  if (!AnswersNumbers()) return rows;
  return CutNumbers(rows, *terms_->rounding);
}

NoisyCounts StudyForm::CountsWithNoise(size_t tree, absl::Span<const SharedSums> sums) const {
  uint64_t reports = 0;
  for (const SharedSums& of_tree : sums) reports += of_tree->reports;
  // The end of a number is drawn as a tree is, and adds as much to the variance.
  const bool several_draws = sums.size() > 1 || AnswersNumbers();
  NoisyCounts counts = NoisyCountsOf(tree, *sums[tree], reports, several_draws);
  counts.known_rows = KnownRows(tree, sums);
  return counts;
}

std::vector<Alarm> StudyForm::Alarms(absl::Span<const SharedSums> sums) const {
  std::vector<SharedSums> of_models;
  std::vector<TreeReports> trees;
  for (size_t tree = 0; tree < sums.size(); ++tree) {
    of_models.push_back(ModelSums(tree, sums[tree], std::nullopt));
    trees.push_back(ReportsFor(tree, *of_models.back()));
  }
  return ComputeAlarms(trees);
}

std::string StudyForm::PublicFeatureNames() const {
  const Schema& schema = *terms_->schema;
  std::vector<std::string> names;
  for (const uint32_t feature : schema.public_features()) {
    names.push_back(schema.features()[feature].name);
  }
  return StrJoin(names, ", ");
}

}  // namespace coppice::curator
