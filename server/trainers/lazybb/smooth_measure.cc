#include "server/trainers/lazybb/smooth_measure.h"

#include <algorithm>
#include <cmath>

namespace coppice::trainers {
namespace {

using absl::uint128;

constexpr int kWeightBits = 90;
constexpr double kLn2 = 0.6931471805599453;

// floor(2^kMassBits part / whole), for part <= whole < 2^127, digit by digit.
int64_t ShareOf(uint128 part, uint128 whole) {
  if (part == whole) return kMassUnit;
  int64_t share = 0;
  for (int bit = 0; bit < kMassBits; ++bit) {
    part <<= 1;
    share <<= 1;
    if (part >= whole) {
      part -= whole;
      share |= 1;
    }
  }
  return share;
}

}  // namespace

// If margins are further apart than 2^90 can hold, those a quarter of that below zero and less get
// the largest weight: they would be cut to 1 anyway. The table is public; any would do.
SmoothMeasure::SmoothMeasure(double rate, uint32_t density, uint32_t rounds)
    : density_(density), rounds_(rounds) {
  const double span = kWeightBits * kLn2 / rate;
  const double lowest = std::max(-static_cast<double>(rounds), -span / 4);
  for (int64_t margin = -int64_t{rounds}; margin <= int64_t{rounds}; ++margin) {
    const double above = std::max(static_cast<double>(margin) - lowest, 0.0);
    const double weight = std::ldexp(std::exp(-rate * above), kWeightBits);
    weights_.push_back(weight < 1 ? uint128(1) : static_cast<uint128>(weight));
  }
}

// Goes down from the largest weight, with c = left / sum of the remaining weights; while c W > 1,
// the margin is cut to 1 and leaves the rest.
std::vector<int64_t> SmoothMeasure::MassByMargin(absl::Span<const uint64_t> counts) const {
  uint128 rows = 0, weighed = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    rows += counts[i];
    weighed += weights_[i] * counts[i];
  }
  std::vector<int64_t> masses(counts.size());
  uint128 left = rows * density_;  // of the whole, in thousandths
  size_t margin = 0;
  for (; margin < counts.size(); ++margin) {
    if (counts[margin] == 0) continue;
    if (left * weights_[margin] <= weighed * kDensityUnit) break;
    masses[margin] = kMassUnit;
    left -= uint128(counts[margin]) * kDensityUnit;
    weighed -= weights_[margin] * counts[margin];
  }
  for (; margin < counts.size(); ++margin) {
    if (counts[margin] == 0) continue;
    masses[margin] = ShareOf(left * weights_[margin], weighed * kDensityUnit);
  }
  return masses;
}

uint64_t SmoothMeasure::MassChange(uint32_t done) const {
  const uint128 most = weight(-int64_t{done}) * density_, least = weight(done) * kDensityUnit;
  const int64_t largest = most >= least ? kMassUnit : ShareOf(most, least) + 1;
  // Rounded up: kappa is a whole number of thousandths.
  const int64_t kappa = ShareOf(density_, kDensityUnit);
  const int64_t change = std::max(kappa + 1, 2 * largest - kappa);
  return static_cast<uint64_t>(change) + kMaxRows;
}

}  // namespace coppice::trainers
