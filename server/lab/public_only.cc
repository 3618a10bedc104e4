#include "server/lab/public_only.h"

#include <algorithm>

#include "common/base/public_random.h"
#include "common/base/status_macros.h"
#include "common/predictor/fitted_predictor.h"
#include "server/lab/report.h"
#include "server/trainers/curves/repetitions.h"

namespace coppice::lab {

std::vector<double> PredictionsOf(const PublicPredictor& predictor, const Table& rows) {
  std::vector<double> predictions = predictor.ScoresOf(rows);
  if (predictor.predicts_number()) return predictions;
  for (size_t i = 0; i < predictions.size(); i += predictor.columns()) {
    Softmax(absl::MakeSpan(predictions).subspan(i, predictor.columns()));
  }
  return predictions;
}

ClassScores ScoresOfClasses(const Table& rows, absl::Span<const double> probabilities) {
  const uint32_t classes = rows.schema().num_classes();
  ClassEvaluation evaluation(classes);
  for (size_t i = 0; i < rows.num_rows(); ++i) {
    const absl::Span<const double> p = probabilities.subspan(i * classes, classes);
    const auto label = static_cast<uint32_t>(std::max_element(p.begin(), p.end()) - p.begin());
    evaluation.Add(label, p, rows.label(i));
  }
  return evaluation.Scores();
}

NumberScores ScoresOfNumbers(const Table& rows, absl::Span<const double> numbers) {
  const Target& target = *rows.schema().target();
  NumberEvaluation evaluation(target.min, target.max);
  for (size_t i = 0; i < rows.num_rows(); ++i) evaluation.Add(numbers[i], rows.target(i));
  return evaluation.Scores();
}

StatusOr<nlohmann::ordered_json> ScorePublicOnly(const RowSource& rows, const curves::Runs& runs) {
  std::vector<double> accuracy, log_loss, rmse;
  for (auto* values : {&accuracy, &log_loss, &rmse}) values->resize(runs.repeats);
  bool numbers = false;
  for (uint32_t repetition = 0; repetition < runs.repeats; ++repetition) {
    PublicRandom seeds(runs.seed, repetition);  // as TrainAndScore() draws its splits
    const LabRows drawn = rows(seeds.Next());
    COPPICE_ASSIGN_OR_RETURN(const FittedPredictor fitted,
                             FitPredictor(*drawn.public_rows, {.threads = runs.threads}));
    const std::vector<double> predictions = PredictionsOf(fitted.predictor, *drawn.test_rows);
    numbers = fitted.predictor.predicts_number();
    if (numbers) {
      rmse[repetition] = ScoresOfNumbers(*drawn.test_rows, predictions).rmse;
      continue;
    }
    const ClassScores scores = ScoresOfClasses(*drawn.test_rows, predictions);
    accuracy[repetition] = scores.accuracy;
    log_loss[repetition] = scores.log_loss;
  }
  if (numbers) return nlohmann::ordered_json{{"rmse", SummaryJson(curves::Summarize(rmse))}};
  return nlohmann::ordered_json{{"accuracy", SummaryJson(curves::Summarize(accuracy))},
                                {"log_loss", SummaryJson(curves::Summarize(log_loss))}};
}

}  // namespace coppice::lab
