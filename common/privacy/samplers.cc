#include "common/privacy/samplers.h"

#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"

namespace coppice {
namespace {

using absl::uint128;

Status CheckDenominator(uint128 denominator) {
  if (denominator == 0 || denominator > kMaxSamplerTerm) {
    return InvalidArgumentError("the denominator of a sampler's rate must be 1 to 2^100");
  }
  return OkStatus();
}

uint128 GreatestCommonDivisor(uint128 a, uint128 b) {
  while (b != 0) a = std::exchange(b, a % b);
  return a;
}

bool FitsIn64Bits(uint128 value) { return absl::Uint128High64(value) == 0; }

// Draws large bounds in two pieces of at most 63 bits, until the whole is below the bound.
StatusOr<uint128> UniformBelow(uint128 bound, PrivateRandom& random) {
  if (FitsIn64Bits(bound)) return random.UniformBelow(absl::Uint128Low64(bound));
  constexpr uint64_t kPiece = uint64_t{1} << 63;
  const uint64_t high_bound = absl::Uint128Low64((bound - 1) / kPiece) + 1;
  while (true) {
    COPPICE_ASSIGN_OR_RETURN(const uint64_t high, random.UniformBelow(high_bound));
    COPPICE_ASSIGN_OR_RETURN(const uint64_t low, random.UniformBelow(kPiece));
    const uint128 value = uint128(high) * kPiece + low;
    if (value < bound) return value;
  }
}

StatusOr<bool> Bernoulli(uint128 numerator, uint128 denominator, PrivateRandom& random) {
  if (FitsIn64Bits(denominator)) {
    return random.Bernoulli(absl::Uint128Low64(numerator), absl::Uint128Low64(denominator));
  }
  COPPICE_ASSIGN_OR_RETURN(const uint128 value, UniformBelow(denominator, random));
  return value < numerator;
}

// True with probability exp(-x), x = numerator / denominator at most 1: counts K - 1 successes in a
// row of coins with probability x/1, x/2, x/3, ...; K is odd with probability exp(-x).
StatusOr<bool> BernoulliExpBelowOne(uint128 numerator, uint128 denominator, PrivateRandom& random) {
  uint64_t k = 1;
  while (true) {
    // K passes 2^15 with probability 1/2^15!, which hardly needs a branch, but keeps the product in
    // range.
    if (k > uint64_t{1} << 15) return InternalError("the random source repeats itself");
    COPPICE_ASSIGN_OR_RETURN(const bool success, Bernoulli(numerator, denominator * k, random));
    if (!success) return k % 2 == 1;
    ++k;
  }
}

}  // namespace

StatusOr<bool> BernoulliExp(uint128 numerator, uint128 denominator, PrivateRandom& random) {
  COPPICE_RETURN_IF_ERROR(CheckDenominator(denominator));
  for (; numerator > denominator; numerator -= denominator) {
    COPPICE_ASSIGN_OR_RETURN(const bool success, BernoulliExpBelowOne(1, 1, random));
    if (!success) return false;
  }
  return BernoulliExpBelowOne(numerator, denominator, random);
}

StatusOr<int64_t> DiscreteLaplace(uint128 numerator, uint128 denominator, PrivateRandom& random) {
  COPPICE_RETURN_IF_ERROR(CheckDenominator(denominator));
  if (numerator == 0) return InvalidArgumentError("noise needs a positive rate");
  if (denominator / numerator >= kMaxNoiseScale) {
    return InvalidArgumentError("noise must have a scale below 2^48");
  }
  const uint128 divisor = GreatestCommonDivisor(numerator, denominator);
  const uint128 s = numerator / divisor;
  const uint128 t = denominator / divisor;
  while (true) {
    // u + t*v is geometric with ratio exp(-1/t); divided by s it has ratio exp(-s/t).
    COPPICE_ASSIGN_OR_RETURN(const uint128 u, UniformBelow(t, random));
    COPPICE_ASSIGN_OR_RETURN(const bool keep, BernoulliExp(u, t, random));
    if (!keep) continue;
    uint64_t v = 0;
    while (true) {
      COPPICE_ASSIGN_OR_RETURN(const bool more, BernoulliExpBelowOne(1, 1, random));
      if (!more) break;
      ++v;
    }
    const uint128 magnitude = (t * v + u) / s;
    COPPICE_ASSIGN_OR_RETURN(const bool negative, random.Bernoulli(1, 2));
    if (negative && magnitude == 0) continue;  // otherwise zero would count twice
    const auto value = static_cast<int64_t>(absl::Uint128Low64(magnitude));
    return negative ? -value : value;
  }
}

StatusOr<int64_t> DiscreteLaplace(const Budget& epsilon, uint64_t sensitivity,
                                  PrivateRandom& random) {
  if (sensitivity == 0) return InvalidArgumentError("a sensitivity must be positive");
  return DiscreteLaplace(epsilon.nanos(), uint128(Budget::kNanosPerEpsilon) * sensitivity, random);
}

// A discrete Laplace y of scale t is kept with probability exp(-(|y| - deviation^2 / t)^2 /
// (2 deviation^2)), which leaves exp(-y^2 / (2 deviation^2)) of any t; here t is the deviation.
StatusOr<int64_t> DiscreteGaussian(uint64_t deviation, PrivateRandom& random) {
  if (deviation == 0 || deviation > kMaxDeviation) {
    return InvalidArgumentError("a standard deviation must be 1 to 2^40");
  }
  while (true) {
    COPPICE_ASSIGN_OR_RETURN(const int64_t y, DiscreteLaplace(1, deviation, random));
    const auto off = absl::int128(y < 0 ? -absl::int128(y) : absl::int128(y)) - deviation;
    COPPICE_ASSIGN_OR_RETURN(
        const bool keep,
        BernoulliExp(uint128(off * off), 2 * uint128(deviation) * deviation, random));
    if (keep) return y;
  }
}

}  // namespace coppice
