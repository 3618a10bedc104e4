#include "server/curator/estimation/labels/smooth_labels.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_format.h"
#include "common/base/status_macros.h"
#include "server/curator/estimation/labels/label_boosting.h"
#include "server/curator/partition/find_leaves.h"
#include "server/curator/partition/number_labels.h"

namespace coppice::curator {
namespace {

// In standard errors of the difference of two sums of squared errors.
constexpr double kErrorsForNoStart = 1;
constexpr double kErrorsForMargins = 2;

// Classes are all as likely, and a number is the middle of the range.
StatusOr<PublicPredictor> KnowingNothing(const PublicPredictor& predictor,
                                         const LabelReports& reports) {
  std::vector<double> base(predictor.columns());
  if (reports.range) base[0] = NumberOf(/*margin=*/0, *reports.range);
  return PublicPredictor::Create(std::make_shared<const Schema>(predictor.schema()),
                                 std::move(base), {});
}

// Gives the leaves of the trees from `first` on the variance of the answer at their rows, in equal
// parts: those of a row's leaves are added up. `unit` is that of the variance in the leaves'
// scores.
void SetVariances(const Table& rows, const RowColumns& variance, double unit, size_t first,
                  LabelsFit& fit) {
  const double share = unit * unit / static_cast<double>(fit.forest.size() - first);
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
  // A margin of numbers is a quarter of their range, and a score a share of the target's span.
  const double unit =
      reports.range ? reports.range->width() / kRangeDeviations / start.schema().target()->span()
                    : 1;
  if (boosted) SetVariances(*reports.rows, boost.variance, unit, start.trees().size() + 1, fit);
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

// What was boosted from the predictor or from nothing, and the squared errors that are left.
struct BestStart {
  LabelBoost boost{};
  std::vector<double> errors{};
  bool has_start = true;
};

StatusOr<BestStart> BoostFromEither(const LabelStart& start, const PublicPredictor& nothing,
                                    const LabelReports& reports, const CancelCheck& cancel) {
  BestStart best;
  const auto boost = [&](const LabelStart& from, BestStart& result) -> Status {
    COPPICE_ASSIGN_OR_RETURN(result.boost, BoostOnLabels(from, reports, cancel));
    result.errors = SquaredErrors(reports, AnswersOfScores(reports, result.boost.held_out));
    return OkStatus();
  };
  COPPICE_RETURN_IF_ERROR(boost(start, best));
  if (start.predictor.trees().empty()) return best;
  BestStart alone{.has_start = false};
  COPPICE_RETURN_IF_ERROR(boost({.predictor = nothing}, alone));
  return GainInErrors(best.errors, alone.errors) > kErrorsForNoStart ? std::move(alone)
                                                                     : std::move(best);
}

StatusOr<LabelsFit> FitOf(BestStart best, const PublicPredictor& predictor,
                          const PublicPredictor& nothing, const LabelReports& reports) {
  std::string words = InWords(best.boost, best.has_start);
  COPPICE_ASSIGN_OR_RETURN(LabelsFit fit, ScoresFit(best.has_start ? predictor : nothing,
                                                    std::move(best.boost), reports));
  fit.diagnosis = std::move(words);
  return fit;
}

// The reports with what their ranges cut off added back, as far as it is expected.
LabelReports WithoutCuts(const PublicPredictor& predictor, const NumberResiduals& residuals,
                         const LabelReports& reports) {
  LabelReports whole = reports;
  const std::vector<double> predicted = predictor.ScoresOf(*reports.rows);
  for (size_t i = 0; i < predicted.size(); ++i) {
    const NumberRange range = reports.range_of ? reports.range_of(i) : *reports.range;
    const double cut = predicted[i] - residuals.ExpectedIn(range, predicted[i]);
    whole.margins[0][i] += kRangeDeviations * cut / reports.range->width();
  }
  return whole;
}

}  // namespace

StatusOr<LabelsFit> EstimateSmoothLabels(const PublicPredictor& predictor, AdditiveForest offset,
                                         const LabelReports& reports, const CancelCheck& cancel) {
  if (reports.rows->num_rows() == 0) return ScoresFit(predictor, {}, reports);
  COPPICE_ASSIGN_OR_RETURN(const PublicPredictor nothing, KnowingNothing(predictor, reports));
  COPPICE_ASSIGN_OR_RETURN(BestStart best,
                           BoostFromEither({.predictor = predictor}, nothing, reports, cancel));
  COPPICE_ASSIGN_OR_RETURN(LabelOnlyFit margins,
                           EstimateLabelOnly(std::move(offset), reports, cancel));
  if (GainInErrors(best.errors, SquaredErrors(reports, margins.held_out)) > kErrorsForMargins) {
    return LabelsFit{
        .forest = std::move(margins.model.forest),
        .leaves = std::move(margins.model.leaves),
        .kind = LeafKind::kAdditive,
        .diagnosis = absl::StrFormat(
            "labels alone are private: trees boosted on their margins count with weight %.2f%s",
            margins.alpha, margins.has_offset ? "" : ", and public labels are left out")};
  }
  return FitOf(std::move(best), predictor, nothing, reports);
}

StatusOr<LabelsFit> EstimateSmoothNumbers(const PublicPredictor& predictor,
                                          const NumberResiduals& residuals,
                                          const LabelReports& reports, const CancelCheck& cancel) {
  if (reports.rows->num_rows() == 0) return ScoresFit(predictor, {}, reports);
  COPPICE_ASSIGN_OR_RETURN(const PublicPredictor nothing, KnowingNothing(predictor, reports));
  const LabelReports whole = WithoutCuts(predictor, residuals, reports);
  // Without public labels nothing is known of the error.
  const LabelStart start = {.predictor = predictor,
                            .error = predictor.trees().empty() ? 0 : residuals.error()};
  COPPICE_ASSIGN_OR_RETURN(BestStart best, BoostFromEither(start, nothing, whole, cancel));
  return FitOf(std::move(best), predictor, nothing, whole);
}

}  // namespace coppice::curator
