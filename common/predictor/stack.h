// Calibrates the learners' scores and weighs them, on rows that they have not seen.
//
// Both are the same convex problem. Scores X_1, ..., X_M of the rows become weighted log odds
// sum w_m X_m + b, and w >= 0 and b minimize the log loss of the rows' labels plus penalties that
// say what is likely before any row is seen.
//
// Calibration has one learner at a time. Its weight is a temperature: a forest's class shares, or
// boosting's log odds after too few or too many rounds, order rows well, but how sure they may be
// has to be found from rows. The penalty of .01 (temperature * deviation of the scores)^2 only
// keeps a perfect order from an infinite temperature. The penalty of a level, 1000 / rows, is
// large where rows are few: fifty rows cannot say where the level of a forest is, two hundred can.
//
// The stack draws its weights towards equal ones, with 10 (w - 1 / M)^2 each. Seven learners of one
// table are much alike, so their separate weights are known badly and hardly matter; without the
// penalty they would follow accidents. From 5 to 50 the log loss changes by less than .001.
//
// For numbers the loss is the squared error of numbers with deviation 1, there is no temperature,
// and the penalty is 2 (w - 1 / M)^2: one learner may be far ahead there, and the weights are
// better known (at 20, parkinsons loses 6 %).
//
// Source     docs/research/mechanisms.md#public-predictor.

#ifndef COPPICE_COMMON_PREDICTOR_STACK_H_
#define COPPICE_COMMON_PREDICTOR_STACK_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace coppice {

// Of more classes no levels are learned: each would rest on a handful of rows.
inline constexpr uint32_t kMostLevels = 64;

// Scores of rows: one per column, one row after another.
using RowScores = std::vector<double>;

// Subtracts from each row's scores their mean.
void CentreScores(size_t columns, RowScores& scores);

struct Calibration {
  double temperature = 0;
  std::vector<double> level;  // one per class
};
// `scores` are centred. A learner that scores all rows alike gets temperature 0.
Calibration Calibrate(const RowScores& scores, absl::Span<const uint32_t> labels, uint32_t classes);
// The calibrated log odds, centred.
RowScores Calibrated(const Calibration& calibration, const RowScores& scores);

struct StackWeights {
  std::vector<double> weights;  // one per learner, at least 0
  std::vector<double> level;    // one per class; for numbers 0
};
StackWeights StackClasses(const std::vector<const RowScores*>& learners,
                          absl::Span<const uint32_t> labels, uint32_t classes);
StackWeights StackNumbers(const std::vector<const RowScores*>& learners,
                          absl::Span<const double> numbers);

// The weighted scores; those of classes are centred.
RowScores Stacked(const StackWeights& stack, const std::vector<const RowScores*>& learners);

// The mean log loss of log odds, in nats; the mean squared error of numbers.
double MeanLogLoss(const RowScores& scores, absl::Span<const uint32_t> labels, uint32_t classes);
double MeanSquaredError(const RowScores& scores, absl::Span<const double> numbers);

}  // namespace coppice

#endif  // COPPICE_COMMON_PREDICTOR_STACK_H_
