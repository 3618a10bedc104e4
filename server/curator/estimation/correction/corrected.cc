#include "server/curator/estimation/correction/corrected.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/base/status_macros.h"
#include "common/predictor/fitted_predictor.h"

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

void AppendTrees(const Forest& forest, const Correction& correction, CorrectedFit& fit) {
  const size_t classes = correction.level.size();
  const double share = 1 / static_cast<double>(forest.size());
  for (size_t t = 0; t < forest.size(); ++t) {
    const auto values = absl::MakeConstSpan(correction.values[t]);
    const auto variance = absl::MakeConstSpan(correction.variance[t]);
    fit.forest.push_back(forest[t]);
    std::vector<LeafPrediction>& leaves = fit.leaves.emplace_back();
    for (uint32_t leaf = 0; leaf < forest[t].num_leaves(); ++leaf) {
      leaves.push_back(MakeLeaf(values.subspan(leaf * classes, classes),
                                variance.subspan(leaf * classes, classes), share,
                                forest[t].leaf_node(leaf)));
    }
  }
}

}  // namespace

CorrectedEstimator::CorrectedEstimator(Forest forest, PublicPredictor predictor,
                                       std::vector<double> held_out, CorrectionBasis basis)
    : forest_(std::move(forest)),
      predictor_(std::move(predictor)),
      held_out_(std::move(held_out)),
      basis_(std::move(basis)) {}

StatusOr<CorrectedEstimator> CorrectedEstimator::Create(const Forest& forest,
                                                        const PartitionOptions& partition,
                                                        const Table& public_rows,
                                                        const CancelCheck& cancel) {
  if (public_rows.schema().target()) {
    return InvalidArgumentError("the corrected estimator is for classes; take smooth");
  }
  COPPICE_ASSIGN_OR_RETURN(
      CorrectionBasis basis,
      CorrectionBasis::Create(forest, BagsOf(forest, partition, public_rows.num_rows()),
                              public_rows));
  if (!partition.use_labels) {
    COPPICE_ASSIGN_OR_RETURN(
        PublicPredictor nothing,
        PublicPredictor::Create(public_rows.shared_schema(),
                                std::vector<double>(public_rows.schema().num_classes()), {}));
    return CorrectedEstimator(forest, std::move(nothing), {}, std::move(basis));
  }
  COPPICE_ASSIGN_OR_RETURN(FittedPredictor fitted,
                           FitPredictor(public_rows, {.seed = partition.seed}, cancel));
  return CorrectedEstimator(forest, std::move(fitted.predictor), std::move(fitted.held_out),
                            std::move(basis));
}

StatusOr<PublicPredictor> CorrectedEstimator::PredictorFor(Evidence evidence) const {
  if (evidence != Evidence::kReports) return predictor_;
  return PublicPredictor::Create(std::make_shared<const Schema>(predictor_.schema()),
                                 std::vector<double>(predictor_.columns()), {});
}

StatusOr<CorrectedFit> CorrectedEstimator::Estimate(absl::Span<const PrivateCounts> counts,
                                                    Evidence evidence,
                                                    const CancelCheck& cancel) const {
  const bool by_labels = evidence != Evidence::kReports && !held_out_.empty();
  const absl::Span<const double> scores =
      by_labels ? absl::MakeConstSpan(held_out_) : absl::Span<const double>();
  if (evidence == Evidence::kPublic) counts = {};
  COPPICE_ASSIGN_OR_RETURN(const Correction correction,
                           FitCorrection(basis_, scores, counts, cancel));
  COPPICE_ASSIGN_OR_RETURN(PublicPredictor predictor, PredictorFor(evidence));
  COPPICE_ASSIGN_OR_RETURN(predictor, predictor.Corrected(correction.scale, correction.level, {}));
  COPPICE_ASSIGN_OR_RETURN(const Model public_model, predictor.ToModel({}));
  CorrectedFit fit{
      .forest = public_model.forest(), .leaves = public_model.leaves(), .diagnosis = {}};
  AppendTrees(forest_, correction, fit);
  if (evidence == Evidence::kBoth && by_labels) fit.diagnosis = correction.InWords();
  return fit;
}

}  // namespace coppice::curator
