// Encodes a number as one of two classes: the ends of a public range, the upper one with the
// probability that is the number's place in the range. The mean of the draw is the number.
//
// A mechanism for two classes then hides which end it is, and code that reads margins of two
// classes reads numbers.
//
// Guarantee  none of its own. What is epsilon-private for any two classes is so for any two
//            numbers: the report's law is a mixture of the laws of the two ends.
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

// 1, the upper end, with probability `place` in [0, 1], rounded down to a multiple of 2^-53.
inline StatusOr<uint32_t> RoundToAnEnd(double place, PrivateRandom& random) {
  constexpr int kBits = 53;
  const auto numerator = static_cast<uint64_t>(std::ldexp(place, kBits));
  COPPICE_ASSIGN_OR_RETURN(const bool is_upper, random.Bernoulli(numerator, uint64_t{1} << kBits));
  return is_upper ? 1u : 0u;
}

}  // namespace coppice

#endif  // COPPICE_COMMON_LDP_RANDOMIZED_ROUNDING_H_
