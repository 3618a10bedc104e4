// Measures the error of predicted numbers, next to always answering the mean of the same rows.
//
// Every figure is an exact function of the rows added: on private rows it is itself a release.

#ifndef COPPICE_COMMON_EVALUATION_NUMBER_EVALUATION_H_
#define COPPICE_COMMON_EVALUATION_NUMBER_EVALUATION_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/types/span.h"
#include "common/evaluation/value_counts.h"

namespace coppice {

// The mean of some numbers, and the root mean squared error of always answering it.
struct MeanAnswer {
  double value = 0;
  double rmse = 0;
};
MeanAnswer MeanAnswerFor(absl::Span<const double> targets);

// Units: those of the target; for `mse` their square.
struct NumberScores {
  uint64_t rows = 0;
  double mse = 0;
  double rmse = 0;
  ConfidenceInterval interval;  // of the rmse; from 0 to infinity for a single row
  double mae = 0;
  std::optional<double> r2;  // unset if all rows have the same target
  MeanAnswer mean;
  double mean_mae = 0;               // of always answering the mean
  double gain = 0;                   // the mean's rmse minus this rmse
  ConfidenceInterval gain_interval;  // paired: both errors are of the same rows
};

// Guarantee  memory does not grow with the rows. For `mean_mae` it holds up to 2^20 distinct
//            targets; beyond that they are rounded to this many even steps between the bounds.
// Threads    not thread-safe.
class NumberEvaluation {
 public:
  // The target's bounds.
  NumberEvaluation(double min, double max);

  void Add(double predicted, double target);

  NumberScores Scores() const;

 private:
  // The terms, each minus its mean, from which the errors' variances are computed: a target's
  // squared distance from the first one, that distance, and the squared error.
  static constexpr size_t kTerms = 3;
  using Terms = std::array<double, kTerms>;

  // The standard error of the mean of a weighted sum of the terms.
  double ErrorOfMean(const Terms& weights) const;

  ValueCounts targets_;
  uint64_t rows_ = 0;
  double first_ = 0;  // the first target
  double absolute_error_ = 0;
  Terms means_ = {};
  std::array<Terms, kTerms> products_ = {};  // sums of products of deviations from the means
};

// Says in one sentence whether answers beat always answering the mean: they do if the whole
// interval of the gain is above 0.
std::string NumberVerdict(double mean_rmse, double gain, const ConfidenceInterval& interval);

}  // namespace coppice

#endif  // COPPICE_COMMON_EVALUATION_NUMBER_EVALUATION_H_
