#include "common/evaluation/value_counts.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace coppice {

ValueCounts::ValueCounts(double min, double max, size_t max_distinct)
    : min_(min), max_(max), max_distinct_(max_distinct) {}

double ValueCounts::Round(double value) const {
  const double step = (max_ - min_) / static_cast<double>(max_distinct_ - 1);
  if (!(step > 0)) return min_;
  return min_ + step * std::round((std::clamp(value, min_, max_) - min_) / step);
}

void ValueCounts::Coarsen() {
  is_exact_ = false;
  const std::map<double, Groups> exact = std::exchange(counts_, {});
  for (const auto& [value, groups] : exact) {
    Groups& rounded = counts_[Round(value)];
    for (size_t g = 0; g < groups.size(); ++g) rounded[g] += groups[g];
  }
}

void ValueCounts::Add(double value, size_t group) {
  ++counts_[is_exact_ ? value : Round(value)][group];
  if (is_exact_ && counts_.size() > max_distinct_) Coarsen();
}

std::optional<double> RocArea(const ValueCounts& values) {
  double below = 0, seconds = 0, pairs = 0;
  for (const auto& [value, groups] : values.counts()) {
    const auto tied = static_cast<double>(groups[0]);
    pairs += static_cast<double>(groups[1]) * (below + tied / 2);
    below += tied;
    seconds += static_cast<double>(groups[1]);
  }
  if (below == 0 || seconds == 0) return std::nullopt;
  return pairs / (below * seconds);
}

}  // namespace coppice
