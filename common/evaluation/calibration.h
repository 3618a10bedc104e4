// Whether probabilities mean what they say: of the rows answered with .7, are seven in ten so?

#ifndef COPPICE_COMMON_EVALUATION_CALIBRATION_H_
#define COPPICE_COMMON_EVALUATION_CALIBRATION_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "common/evaluation/value_counts.h"

namespace coppice {

struct CalibrationBin {
  double low = 0, high = 0;  // probabilities
  uint64_t rows = 0;
  double predicted = 0;  // the mean probability
  double observed = 0;   // how often it was so
};

// The mean over bins, by rows, of the squared distance between predicted and observed shares,
// without what sampling adds to it; and the root of that.
struct CalibrationScore {
  double squared = 0;  // below 0 by chance where probabilities are right
  double error = 0;    // the root of `squared`, 0 if that is below 0
  // 95 %, of `error`, as repetitions differ. From 0 to infinity for a single one.
  ConfidenceInterval interval;
  // Jackknife values of `squared`, one for each repetition: their mean is it, and their spread says
  // how sure it is. Differences of two programs on the same rows are taken value by value.
  std::vector<double> squared_values;
};

// Pools the bins of several repetitions of one experiment. A bin's squared distance is the mean of
// products of *different* repetitions' distances: noise in one is independent of noise in another,
// so that nothing is added by few rows. A single repetition has its binomial variance subtracted.
//
// Guarantee  `squared` is unbiased for bins whose share of the rows is known; every figure is an
//            exact function of the rows.
// Errors     none: all entries must have the same bins; no repetition scores 0.
// Source     Kumar, Liang, Ma 2019, Verified Uncertainty Calibration, section 4.
CalibrationScore PoolCalibration(absl::Span<const std::vector<CalibrationBin>> repetitions);

}  // namespace coppice

#endif  // COPPICE_COMMON_EVALUATION_CALIBRATION_H_
