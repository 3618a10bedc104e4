#include "server/curator/estimation/labels/corrected_labels.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_format.h"
#include "common/base/status_macros.h"
#include "server/curator/estimation/labels/label_boosting.h"
#include "server/curator/partition/find_leaves.h"

namespace coppice::curator {
namespace {

// In standard errors of the difference of two sums of squared errors.
constexpr double kErrorsForNoStart = 1;
constexpr double kErrorsForMargins = 2;

StatusOr<PublicPredictor> KnowingNothing(const PublicPredictor& predictor) {
  return PublicPredictor::Create(std::make_shared<const Schema>(predictor.schema()),
                                 std::vector<double>(predictor.columns()), {});
}

// Gives the leaves of the trees from `first` on the variance of the answer at their rows, in equal
// parts: those of a row's leaves are added up.
void SetVariances(const Table& rows, const RowColumns& variance, size_t first, LabelsFit& fit) {
  const double share = 1 / static_cast<double>(fit.forest.size() - first);
  for (size_t t = first; t < fit.forest.size(); ++t) {
    const std::vector<uint32_t> leaf_of = FindLeaves(fit.forest[t], rows);
    const size_t classes = fit.leaves[t][0].probabilities.size();
    std::vector<double> sum(fit.leaves[t].size() * classes), count(fit.leaves[t].size());
    for (size_t i = 0; i < leaf_of.size(); ++i) {
      count[leaf_of[i]] += 1;
      for (size_t k = 0; k < classes; ++k) {
        sum[leaf_of[i] * classes + k] += variance[variance.size() == 1 ? 0 : k][i];
      }
    }
    for (size_t leaf = 0; leaf < count.size(); ++leaf) {
      LeafPrediction& prediction = fit.leaves[t][leaf];
      for (size_t k = 0; k < classes; ++k) {
        const double mean = count[leaf] > 0 ? sum[leaf * classes + k] / count[leaf] : 0;
        prediction.noise.push_back({.variance = share * mean});
      }
      prediction.standard_error = std::sqrt(prediction.noise[prediction.label].variance);
    }
  }
}

StatusOr<LabelsFit> ScoresFit(const PublicPredictor& start, LabelBoost boost,
                              const LabelReports& reports) {
  const bool boosted = !boost.trees.empty();
  COPPICE_ASSIGN_OR_RETURN(const PublicPredictor all,
                           start.Corrected(1, {}, std::move(boost.trees)));
  COPPICE_ASSIGN_OR_RETURN(const Model model, all.ToModel({}));
  LabelsFit fit{.forest = model.forest(), .leaves = model.leaves(), .diagnosis = {}};
  if (boosted) SetVariances(*reports.rows, boost.variance, start.trees().size() + 1, fit);
  return fit;
}

std::string InWords(const LabelBoost& boost, bool has_start) {
  if (boost.trees.empty()) {
    return "labels alone are private: held-out reports confirm nothing beyond what public rows say";
  }
  return absl::StrFormat(
      "labels alone are private: %d rounds of trees boosted on them count with weight %.2f%s",
      boost.rounds, boost.share, has_start ? "" : ", and public labels are left out");
}

}  // namespace

StatusOr<LabelsFit> EstimateCorrectedLabels(const PublicPredictor& predictor, AdditiveForest offset,
                                            const LabelReports& reports,
                                            const CancelCheck& cancel) {
  if (reports.rows->num_rows() == 0) return ScoresFit(predictor, {}, reports);
  COPPICE_ASSIGN_OR_RETURN(const PublicPredictor nothing, KnowingNothing(predictor));
  COPPICE_ASSIGN_OR_RETURN(LabelBoost best, BoostOnLabels(predictor, reports, cancel));
  std::vector<double> errors = SquaredErrors(reports, ProbabilitiesOfScores(best.held_out));
  bool has_start = true;
  if (!predictor.trees().empty()) {
    COPPICE_ASSIGN_OR_RETURN(LabelBoost alone, BoostOnLabels(nothing, reports, cancel));
    std::vector<double> of_alone = SquaredErrors(reports, ProbabilitiesOfScores(alone.held_out));
    has_start = GainInErrors(errors, of_alone) <= kErrorsForNoStart;
    if (!has_start) {
      best = std::move(alone);
      errors = std::move(of_alone);
    }
  }
  COPPICE_ASSIGN_OR_RETURN(LabelOnlyFit margins,
                           EstimateLabelOnly(std::move(offset), reports, cancel));
  if (GainInErrors(errors, SquaredErrors(reports, margins.held_out)) > kErrorsForMargins) {
    return LabelsFit{
        .forest = std::move(margins.model.forest),
        .leaves = std::move(margins.model.leaves),
        .kind = LeafKind::kAdditive,
        .diagnosis = absl::StrFormat(
            "labels alone are private: trees boosted on their margins count with weight %.2f%s",
            margins.alpha, margins.has_offset ? "" : ", and public labels are left out")};
  }
  std::string words = InWords(best, has_start);
  COPPICE_ASSIGN_OR_RETURN(LabelsFit fit,
                           ScoresFit(has_start ? predictor : nothing, std::move(best), reports));
  fit.diagnosis = std::move(words);
  return fit;
}

}  // namespace coppice::curator
