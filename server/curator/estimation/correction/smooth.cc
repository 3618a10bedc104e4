#include "server/curator/estimation/correction/smooth.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "common/base/status_macros.h"
#include "common/predictor/fitted_predictor.h"
#include "server/curator/partition/number_labels.h"

namespace coppice::curator {
namespace {

Bags BagsOf(const Forest& forest, const PartitionOptions& partition, size_t rows) {
  Bags bags;
  for (uint32_t t = 0; t < forest.size(); ++t) bags.push_back(BagOf(rows, partition, t));
  return bags;
}

// The leaf's variances are a share of the whole answer's: those of a row's leaves are added up.
LeafPrediction MakeLeaf(absl::Span<const double> scores, absl::Span<const double> variance,
                        double share, uint32_t node) {
  LeafPrediction leaf{.probabilities = {scores.begin(), scores.end()}, .source_node = node};
  for (const double of_class : variance) leaf.noise.push_back({.variance = share * of_class});
  const auto largest = std::max_element(scores.begin(), scores.end());
  leaf.label = static_cast<uint32_t>(largest - scores.begin());
  leaf.standard_error = std::sqrt(leaf.noise[leaf.label].variance);
  return leaf;
}

// A number's leaf has a score for each end of the target's bounds; `per_unit` is the share of the
// target's span that a unit of the correction is.
LeafPrediction MakeNumberLeaf(double value, double variance, double per_unit, double share,
                              uint32_t node) {
  const double place = value * per_unit, of_place = variance * per_unit * per_unit;
  return MakeLeaf({-place, place}, {of_place, of_place}, share, node);
}

// `per_unit` is 0 for classes.
void AppendTrees(const Forest& forest, const Correction& correction, double per_unit,
                 SmoothFit& fit) {
  const size_t columns = correction.level.size();
  const double share = 1 / static_cast<double>(forest.size());
  for (size_t t = 0; t < forest.size(); ++t) {
    const auto values = absl::MakeConstSpan(correction.values[t]);
    const auto variance = absl::MakeConstSpan(correction.variance[t]);
    fit.forest.push_back(forest[t]);
    std::vector<LeafPrediction>& leaves = fit.leaves.emplace_back();
    for (uint32_t leaf = 0; leaf < forest[t].num_leaves(); ++leaf) {
      const uint32_t node = forest[t].leaf_node(leaf);
      leaves.push_back(per_unit > 0
                           ? MakeNumberLeaf(values[leaf], variance[leaf], per_unit, share, node)
                           : MakeLeaf(values.subspan(leaf * columns, columns),
                                      variance.subspan(leaf * columns, columns), share, node));
    }
  }
}

// `predicted` has a number for each public row.
ExpectedNumbers ExpectNumbers(const NumberRange& rounding, const NumberResiduals& residuals,
                              absl::Span<const double> predicted) {
  NumberPlaces places = PlaceNumbers(rounding, residuals, predicted);
  return {.places = std::move(places.of_row),
          .per_unit = places.per_number * residuals.error(),
          .spread = rounding.width() / kRangeDeviations / residuals.error()};
}

double MeanOf(absl::Span<const double> numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), 0.0) /
         static_cast<double>(std::max<size_t>(numbers.size(), 1));
}

// Classes that are all as likely, or the middle of the numbers' range.
StatusOr<CorrectionStart> StartAtNothing(const Table& public_rows,
                                         const std::optional<NumberRange>& rounding) {
  std::vector<double> base(ScoreColumns(public_rows.schema()));
  if (rounding) base[0] = rounding->low + rounding->width() / 2;
  COPPICE_ASSIGN_OR_RETURN(
      PublicPredictor nothing,
      PublicPredictor::Create(public_rows.shared_schema(), base, /*trees=*/{}));
  CorrectionStart start{.predictor = std::move(nothing), .offset = {}};
  if (!rounding) return start;
  start.middle = base[0];
  start.residuals.emplace(public_rows, absl::Span<const double>());
  const std::vector<double> predicted(public_rows.num_rows(), base[0]);
  start.offset.numbers = ExpectNumbers(*rounding, *start.residuals, predicted);
  return start;
}

}  // namespace

StatusOr<CorrectionStart> StartAtPredictor(const PartitionOptions& partition,
                                           const Table& public_rows,
                                           const std::optional<NumberRange>& rounding,
                                           const CancelCheck& cancel) {
  COPPICE_ASSIGN_OR_RETURN(FittedPredictor fitted,
                           FitPredictor(public_rows, {.seed = partition.seed}, cancel));
  CorrectionStart start{.predictor = std::move(fitted.predictor),
                        .offset = {.scores = std::move(fitted.held_out)}};
  if (!rounding) return start;
  std::vector<double>& scores = start.offset.scores;
  start.middle = MeanOf(scores);
  start.residuals.emplace(public_rows, scores);
  start.offset.numbers = ExpectNumbers(*rounding, *start.residuals, scores);
  for (double& score : scores) score = (score - start.middle) / start.residuals->error();
  return start;
}

SmoothEstimator::SmoothEstimator(Forest forest, CorrectionStart predictor, CorrectionStart nothing,
                                 CorrectionBasis basis)
    : forest_(std::move(forest)),
      predictor_(std::move(predictor)),
      nothing_(std::move(nothing)),
      basis_(std::move(basis)) {}

StatusOr<SmoothEstimator> SmoothEstimator::Create(const Forest& forest,
                                                  const PartitionOptions& partition,
                                                  const Table& public_rows,
                                                  const std::optional<NumberRange>& rounding,
                                                  const CancelCheck& cancel) {
  if (public_rows.schema().target().has_value() != rounding.has_value()) {
    return InvalidArgumentError("a range is for numbers, and these need one");
  }
  COPPICE_ASSIGN_OR_RETURN(
      CorrectionBasis basis,
      CorrectionBasis::Create(forest, BagsOf(forest, partition, public_rows.num_rows()),
                              public_rows));
  COPPICE_ASSIGN_OR_RETURN(CorrectionStart nothing, StartAtNothing(public_rows, rounding));
  if (!partition.use_labels) {
    return SmoothEstimator(forest, nothing, nothing, std::move(basis));
  }
  COPPICE_ASSIGN_OR_RETURN(CorrectionStart predictor,
                           StartAtPredictor(partition, public_rows, rounding, cancel));
  return SmoothEstimator(forest, std::move(predictor), std::move(nothing), std::move(basis));
}

StatusOr<PublicPredictor> SmoothEstimator::PredictorFor(Evidence evidence) const {
  return StartFor(evidence).predictor;
}

const NumberResiduals& SmoothEstimator::ResidualsFor(Evidence evidence) const {
  return *StartFor(evidence).residuals;
}

StatusOr<SmoothFit> SmoothEstimator::Estimate(absl::Span<const PrivateCounts> counts,
                                              Evidence evidence, const CancelCheck& cancel) const {
  const CorrectionStart& start = StartFor(evidence);
  if (evidence == Evidence::kPublic) counts = {};
  COPPICE_ASSIGN_OR_RETURN(const Correction correction,
                           FitCorrection(basis_, start.offset, counts, cancel));
  std::vector<double> level = correction.level;
  double per_unit = 0;
  if (start.residuals) {
    // Numbers are scaled around their middle.
    level[0] = (1 - correction.scale) * start.middle + start.residuals->error() * level[0];
    per_unit = start.residuals->error() / start.predictor.schema().target()->span();
  }
  COPPICE_ASSIGN_OR_RETURN(const PublicPredictor predictor,
                           start.predictor.Corrected(correction.scale, level, {}));
  COPPICE_ASSIGN_OR_RETURN(const Model public_model, predictor.ToModel({}));
  SmoothFit fit{.forest = public_model.forest(), .leaves = public_model.leaves(), .diagnosis = {}};
  AppendTrees(forest_, correction, per_unit, fit);
  if (evidence == Evidence::kBoth && !start.offset.scores.empty()) {
    fit.diagnosis = correction.InWords();
  }
  return fit;
}

}  // namespace coppice::curator
