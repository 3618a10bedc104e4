// Encodes a number as one of a few evenly spaced points of a public range: one of the two nearest,
// at random so that the mean of the draw is the number.
//
// With the two ends for points, a mechanism for two classes then hides which end it is, and code
// that reads margins of two classes reads numbers.
//
// Guarantee  none of its own. What is epsilon-private for any two points is so for any two numbers:
//            the report's law is a mixture of the laws of two points.
// Errors     those of the random source.
// Source     Duchi, Jordan and Wainwright 2018; docs/research/mechanisms.md#numbers.

#ifndef COPPICE_COMMON_LDP_RANDOMIZED_ROUNDING_H_
#define COPPICE_COMMON_LDP_RANDOMIZED_ROUNDING_H_

#include <cmath>
#include <cstdint>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/privacy/private_random.h"

namespace coppice {

// One of the points 0 to `steps` with mean steps * place, for a place in [0, 1], rounded down to a
// multiple of 2^-53, and at most 2^10 steps.
inline StatusOr<uint32_t> RoundToAStep(double place, uint32_t steps, PrivateRandom& random) {
  constexpr int kBits = 53;
  constexpr uint64_t kStep = uint64_t{1} << kBits;
  const uint64_t exact = static_cast<uint64_t>(std::ldexp(place, kBits)) * steps;
  COPPICE_ASSIGN_OR_RETURN(const bool is_upper, random.Bernoulli(exact % kStep, kStep));
  return static_cast<uint32_t>(exact / kStep) + (is_upper ? 1 : 0);
}

// 1, the upper end, with probability `place`.
inline StatusOr<uint32_t> RoundToAnEnd(double place, PrivateRandom& random) {
  return RoundToAStep(place, 1, random);
}

}  // namespace coppice

#endif  // COPPICE_COMMON_LDP_RANDOMIZED_ROUNDING_H_
