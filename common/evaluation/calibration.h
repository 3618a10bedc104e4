// Calibration: whether predicted probabilities match observed frequencies.

#ifndef COPPICE_COMMON_EVALUATION_CALIBRATION_H_
#define COPPICE_COMMON_EVALUATION_CALIBRATION_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "common/evaluation/value_counts.h"

namespace coppice {

struct CalibrationBin {
  double low = 0, high = 0;  // range of probabilities
  uint64_t rows = 0;
  double predicted = 0;  // the mean probability
  double observed = 0;   // observed frequency
};

// The mean over bins, weighted by rows, of the squared distance between predicted and observed
// shares, corrected for sampling; and its square root.
struct CalibrationScore {
  double squared = 0;  // may be below 0 by chance if probabilities are right
  double error = 0;    // the root of `squared`, 0 if that is below 0
  // 95 % interval of `error` over repetitions; from 0 to infinity for a single one.
  ConfidenceInterval interval;
  // Jackknife values of `squared`, one per repetition: their mean is `squared`, their spread its
  // uncertainty. To compare two programs on the same rows, subtract value by value.
  std::vector<double> squared_values;
};

// Pools the bins of several repetitions of one experiment. A bin's squared distance is the mean of
// products of *different* repetitions' distances, whose noise is independent, so that few rows add
// no bias. For a single repetition the binomial variance is subtracted.
//
// Guarantee  `squared` is unbiased for bins whose share of the rows is known; every figure is an
//            exact function of the rows.
// Errors     none: all entries must have the same bins; no repetition scores 0.
// Source     Kumar, Liang, Ma 2019, Verified Uncertainty Calibration, section 4.
CalibrationScore PoolCalibration(absl::Span<const std::vector<CalibrationBin>> repetitions);

}  // namespace coppice

#endif  // COPPICE_COMMON_EVALUATION_CALIBRATION_H_
