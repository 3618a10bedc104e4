#include "common/evaluation/number_evaluation.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_format.h"

namespace coppice {
namespace {

constexpr double kReach95 = 1.959964;
constexpr size_t kMaxTargets = size_t{1} << 20;
enum Term { kFromFirst, kDistance, kError };

// Derivative of the square root at `mean`.
double SlopeOfRoot(double mean) { return mean > 0 ? 1 / (2 * std::sqrt(mean)) : 0; }

}  // namespace

MeanAnswer MeanAnswerFor(absl::Span<const double> targets) {
  MeanAnswer answer;
  double squares = 0;  // of distances from the mean so far (Welford)
  size_t rows = 0;
  for (const double target : targets) {
    const double before = target - answer.value;
    answer.value += before / static_cast<double>(++rows);
    squares += before * (target - answer.value);
  }
  if (rows > 0) answer.rmse = std::sqrt(squares / static_cast<double>(rows));
  return answer;
}

NumberEvaluation::NumberEvaluation(double min, double max) : targets_(min, max, kMaxTargets) {}

void NumberEvaluation::Add(double predicted, double target) {
  if (rows_ == 0) first_ = target;
  ++rows_;
  targets_.Add(target, 0);
  const double distance = target - first_, error = predicted - target;
  absolute_error_ += std::abs(error);
  const Terms terms = {distance * distance, distance, error * error};
  Terms before;
  for (size_t i = 0; i < kTerms; ++i) {
    before[i] = terms[i] - means_[i];
    means_[i] += before[i] / static_cast<double>(rows_);
  }
  for (size_t i = 0; i < kTerms; ++i) {
    for (size_t j = 0; j < kTerms; ++j) products_[i][j] += before[i] * (terms[j] - means_[j]);
  }
}

double NumberEvaluation::ErrorOfMean(const Terms& weights) const {
  if (rows_ < 2) return std::numeric_limits<double>::infinity();
  double sum = 0;
  for (size_t i = 0; i < kTerms; ++i) {
    for (size_t j = 0; j < kTerms; ++j) sum += weights[i] * weights[j] * products_[i][j];
  }
  const auto n = static_cast<double>(rows_);
  return std::sqrt(std::max(sum, 0.0) / (n * (n - 1)));
}

NumberScores NumberEvaluation::Scores() const {
  NumberScores scores;
  scores.rows = rows_;
  if (rows_ == 0) return scores;
  const auto n = static_cast<double>(rows_);
  scores.mse = means_[kError];
  scores.rmse = std::sqrt(scores.mse);
  scores.mae = absolute_error_ / n;
  const double mean_mse = products_[kDistance][kDistance] / n;
  scores.mean = {.value = first_ + means_[kDistance], .rmse = std::sqrt(mean_mse)};
  if (mean_mse > 0) scores.r2 = 1 - scores.mse / mean_mse;
  for (const auto& [target, groups] : targets_.counts()) {
    scores.mean_mae += static_cast<double>(groups[0]) / n * std::abs(target - scores.mean.value);
  }
  const double slope = SlopeOfRoot(scores.mse), mean_slope = SlopeOfRoot(mean_mse);
  const double reach = kReach95 * ErrorOfMean({0, 0, slope});
  scores.interval = {.low = std::max(scores.rmse - reach, 0.0), .high = scores.rmse + reach};
  // (target - mean)^2 = (target - first)^2 - 2 (mean - first) (target - first) + a constant.
  scores.gain = scores.mean.rmse - scores.rmse;
  const double spread =
      kReach95 * ErrorOfMean({mean_slope, -2 * means_[kDistance] * mean_slope, -slope});
  scores.gain_interval = {.low = scores.gain - spread, .high = scores.gain + spread};
  return scores;
}

std::string NumberVerdict(double mean_rmse, double gain, const ConfidenceInterval& interval) {
  if (interval.low > 0) {
    return absl::StrFormat(
        "Better than always answering the mean (RMSE %.4g) by %.3g (%.3g to %.3g).", mean_rmse,
        gain, interval.low, interval.high);
  }
  if (interval.high < 0) {
    return absl::StrFormat(
        "Worse than always answering the mean (RMSE %.4g) by %.3g (%.3g to %.3g).", mean_rmse,
        -gain, -interval.high, -interval.low);
  }
  return absl::StrFormat(
      "No better than always answering the mean, which has an RMSE of %.4g on these rows.",
      mean_rmse);
}

}  // namespace coppice
