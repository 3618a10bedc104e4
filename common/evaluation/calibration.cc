#include "common/evaluation/calibration.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

namespace coppice {
namespace {

constexpr double kNormal95OfErrors = 1.959964;

// A bin over all repetitions. A gap is the sum over rows of observed minus predicted.
struct PooledBin {
  double rows = 0;
  double gaps = 0;
  double squared_gaps = 0;  // sum over repetitions of their squared gaps

  void Add(const CalibrationBin& bin, double sign) {
    const double gap = static_cast<double>(bin.rows) * (bin.observed - bin.predicted);
    rows += sign * static_cast<double>(bin.rows);
    gaps += sign * gap;
    squared_gaps += sign * gap * gap;
  }
};

// `repetitions` must be at least 2.
double SquaredOf(absl::Span<const PooledBin> bins, double repetitions) {
  double sum = 0, rows = 0;
  for (const PooledBin& bin : bins) {
    rows += bin.rows;
    if (bin.rows > 0) sum += (bin.gaps * bin.gaps - bin.squared_gaps) / bin.rows;
  }
  return rows > 0 ? sum / rows * repetitions / (repetitions - 1) : 0;
}

// `squared` of a single repetition. Skips bins of one row, which have no variance estimate.
double SquaredOfOne(absl::Span<const CalibrationBin> bins) {
  double sum = 0, all_rows = 0;
  for (const CalibrationBin& bin : bins) {
    const auto rows = static_cast<double>(bin.rows);
    all_rows += rows;
    if (bin.rows < 2) continue;
    const double gap = bin.observed - bin.predicted;
    sum += rows * (gap * gap - bin.observed * (1 - bin.observed) / (rows - 1));
  }
  return all_rows > 0 ? sum / all_rows : 0;
}

double RootOf(double squared) { return std::sqrt(std::max(squared, 0.0)); }

// Leave-one-out squares, one per repetition, turned into values whose mean is the square.
std::vector<double> JackknifeValues(absl::Span<const std::vector<CalibrationBin>> repetitions,
                                    const std::vector<PooledBin>& all, double squared) {
  const auto n = static_cast<double>(repetitions.size());
  std::vector<double> values;
  values.reserve(repetitions.size());
  for (const std::vector<CalibrationBin>& left_out : repetitions) {
    std::vector<PooledBin> others = all;
    for (size_t b = 0; b < others.size(); ++b) others[b].Add(left_out[b], -1);
    values.push_back(n * squared - (n - 1) * SquaredOf(others, n - 1));
  }
  double sum = 0;
  for (const double value : values) sum += value;
  for (double& value : values) value += squared - sum / n;  // removes the bias of the ratio
  return values;
}

ConfidenceInterval IntervalOf(double squared, absl::Span<const double> values) {
  const auto n = static_cast<double>(values.size());
  double squares = 0;
  for (const double value : values) squares += (value - squared) * (value - squared);
  const double reach = kNormal95OfErrors * std::sqrt(squares / (n * (n - 1)));
  return {.low = RootOf(squared - reach), .high = RootOf(squared + reach)};
}

}  // namespace

CalibrationScore PoolCalibration(absl::Span<const std::vector<CalibrationBin>> repetitions) {
  constexpr size_t kMinForInterval = 3;  // leaving one out must leave two
  CalibrationScore score;
  score.interval.high = std::numeric_limits<double>::infinity();
  if (repetitions.empty()) return score;
  if (repetitions.size() == 1) {
    score.squared = SquaredOfOne(repetitions.front());
    score.squared_values = {score.squared};
  } else {
    std::vector<PooledBin> all(repetitions.front().size());
    for (const std::vector<CalibrationBin>& bins : repetitions) {
      for (size_t b = 0; b < all.size(); ++b) all[b].Add(bins[b], 1);
    }
    score.squared = SquaredOf(all, static_cast<double>(repetitions.size()));
    score.squared_values.assign(repetitions.size(), score.squared);
    if (repetitions.size() >= kMinForInterval) {
      score.squared_values = JackknifeValues(repetitions, all, score.squared);
      score.interval = IntervalOf(score.squared, score.squared_values);
    }
  }
  score.error = RootOf(score.squared);
  return score;
}

}  // namespace coppice
