#include "common/privacy/concentrated.h"

#include <cmath>

#include "absl/numeric/int128.h"
#include "common/base/status.h"

namespace coppice {
namespace {

using absl::uint128;

constexpr int kDeviationBits = 40;
constexpr uint64_t kMaxL2Squared = uint64_t{1} << 60;

// rho-zCDP implies (epsilon, delta)-DP if, for any u > 0 (Renyi order 1 + u),
//   ln delta >= u ((1 + u) rho - epsilon) + u ln u - (1 + u) ln(1 + u),
// that is if rho <= (ln delta + u epsilon + h) / (u (1 + u)) with
//   h = (1 + u) ln(1 + u) - u ln u = ln(1 + u) + u ln(1 + 1/u),
// whose terms are all positive. This is the numerator.
struct Numerator {
  double value = 0;
  double error = 0;  // upper bound of the rounding error

  Numerator(double epsilon, double log_delta, double u) {
    const double gain = u * epsilon + std::log1p(u) + u * std::log1p(1 / u);
    value = gain + log_delta;
    // About a dozen operations, each accurate to two units in the last place (2^-52), on terms no
    // larger than these; rounding delta moves its logarithm by at most 2^-53. The margin is a
    // hundred times that.
    constexpr double kMargin = 1e-13;
    error = kMargin * (1 + gain - log_delta);
  }
};

// The bound at Renyi order 1 + u, rounded down.
double RhoAtOrder(double epsilon, double log_delta, double u) {
  const Numerator numerator(epsilon, log_delta, u);
  return (numerator.value - numerator.error) / (u * (1 + u));
}

// The numerator is concave and grows with u, the denominator is convex and positive, so the
// quotient has one peak. The bound is valid for every u, wherever the search ends.
double BestRho(double epsilon, double log_delta) {
  double low = -50;  // ln u
  double high = 50;
  for (int i = 0; i < 100; ++i) {
    const double left = low + (high - low) / 3;
    const double right = high - (high - low) / 3;
    if (RhoAtOrder(epsilon, log_delta, std::exp(left)) <
        RhoAtOrder(epsilon, log_delta, std::exp(right))) {
      low = left;
    } else {
      high = right;
    }
  }
  return RhoAtOrder(epsilon, log_delta, std::exp(low));
}

// The largest whole number below 2^`bits` that `fits`; 0 if none. `fits` must hold up to a number.
template <typename Fits>
uint64_t Largest(int bits, Fits fits) {
  uint64_t found = 0;
  for (uint64_t bit = uint64_t{1} << (bits - 1); bit > 0; bit /= 2) {
    if (fits(uint128(found | bit))) found |= bit;
  }
  return found;
}

}  // namespace

StatusOr<Rho> Rho::FromPicos(uint64_t picos) {
  if (picos == 0 || picos >= uint64_t{1} << 63) {
    return InvalidArgumentError("rho must be positive and below 9 million");
  }
  return Rho(picos);
}

StatusOr<Rho> Rho::Implying(const Budget& epsilon, uint64_t delta_atto) {
  if (delta_atto == 0 || delta_atto >= kDeltaOne) {
    return InvalidArgumentError("delta must lie between 0 and 1");
  }
  constexpr double kRoundDown = 1 - 1e-13;
  // Both conversions round to the nearest double, which the margin covers.
  const double delta = static_cast<double>(delta_atto) / kDeltaOne;
  const double rho = BestRho(epsilon.epsilon(), std::log(delta)) * kPicosPerRho * kRoundDown;
  // rho is at most about epsilon + ln(1/u), so far below 2^63.
  if (rho < 1) return InvalidArgumentError("epsilon and delta are too small together");
  return FromPicos(static_cast<uint64_t>(rho));
}

Budget Rho::ForPure() const {
  // As in ForSelection(), with a quarter of the square.
  const uint128 square = uint128(picos_) * 2'000'000;
  return *Budget::FromNanos(Largest(50, [&](uint128 nanos) { return nanos * nanos <= square; }));
}

Budget Rho::ForSelection() const {
  // epsilon = sqrt(8 rho), in nanos: the square is 8 * 10^18 / 10^12 per pico, so that
  // epsilon lies between 2.8e-6 and 8590.
  const uint128 square = uint128(picos_) * 8'000'000;
  return *Budget::FromNanos(Largest(50, [&](uint128 nanos) { return nanos * nanos <= square; }));
}

StatusOr<uint64_t> Rho::DeviationFor(uint64_t l2_squared) const {
  if (l2_squared == 0 || l2_squared > kMaxL2Squared) {
    return InvalidArgumentError("a squared sensitivity must be 1 to 2^60");
  }
  // rho = l2_squared / (2 deviation^2): takes the largest deviation that is too small, plus one.
  const uint128 wanted = uint128(l2_squared) * kPicosPerRho;
  const uint64_t too_small = Largest(kDeviationBits, [&](uint128 deviation) {
    return deviation * deviation < (wanted + 2 * uint128(picos_) - 1) / (2 * uint128(picos_));
  });
  if (too_small + 1 == uint64_t{1} << kDeviationBits) {
    return InvalidArgumentError("rho is too small: noise must have a deviation below 2^40");
  }
  return too_small + 1;
}

}  // namespace coppice
