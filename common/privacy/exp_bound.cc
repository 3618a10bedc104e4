#include "common/privacy/exp_bound.h"

#include <algorithm>

namespace coppice {
namespace {

constexpr uint64_t kMaxExponent = 20;

absl::uint128 CeilDivide(absl::uint128 numerator, absl::uint128 denominator) {
  return (numerator + denominator - 1) / denominator;
}

}  // namespace

// Proved: exp_lower_bound_is_below in tests/proofs/statements.v.
absl::uint128 ExpLowerBound(const Budget& epsilon, uint64_t divisor) {
  const uint64_t unit = Budget::kNanosPerEpsilon * divisor;
  const uint64_t nanos = std::min(epsilon.nanos(), kMaxExponent * unit);
  // Taylor series, each term rounded down. A term is at most 2^86 and nanos below 2^37, so the
  // products fit; every rounding loses less than one unit of 2^-60.
  absl::uint128 term = absl::uint128(1) << kExpBits;
  absl::uint128 sum = term;
  for (uint64_t k = 1; term > 0; ++k) {
    term = term * nanos / (absl::uint128(unit) * k);
    sum += term;
  }
  return sum;
}

uint32_t DecayRatio(const Budget& epsilon, uint64_t divisor) {
  // This fits: the smallest budget over the largest divisor is 2.5e-10, more than 2^-32.
  return static_cast<uint32_t>(absl::Uint128Low64(
      CeilDivide(absl::uint128(1) << (kExpBits + 32), ExpLowerBound(epsilon, divisor))));
}

uint32_t LieRate(const Budget& epsilon, uint64_t divisor) {
  const absl::uint128 one = absl::uint128(1) << kExpBits;
  return static_cast<uint32_t>(
      absl::Uint128Low64(CeilDivide(one << 32, one + ExpLowerBound(epsilon, divisor))));
}

}  // namespace coppice
