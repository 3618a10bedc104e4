// Exact integer samplers, after Canonne, Kamath and Steinke, "The Discrete Gaussian for
// Differential Privacy" (2020), Algorithms 1, 2 and 3. They use no floating point: the laws are
// exact. Rates are fractions of whole numbers.
//
// The time of a draw depends on its result, as with every rejection sampler; docs/threat-model.md.
//
// Errors     InvalidArgument for parameters out of range; otherwise that of the PrivateRandom.

#ifndef COPPICE_COMMON_PRIVACY_SAMPLERS_H_
#define COPPICE_COMMON_PRIVACY_SAMPLERS_H_

#include <cstdint>

#include "absl/numeric/int128.h"
#include "common/base/status.h"
#include "common/privacy/budget.h"
#include "common/privacy/private_random.h"

namespace coppice {

// Maximum of the samplers' denominators: products stay in 128 bits.
inline constexpr absl::uint128 kMaxSamplerTerm = absl::uint128(1) << 100;
// Noise with a scale (denominator / numerator) of this or more is refused: it must fit 64 bits.
inline constexpr uint64_t kMaxNoiseScale = uint64_t{1} << 48;
inline constexpr uint64_t kMaxDeviation = uint64_t{1} << 40;

// True with probability exp(-numerator / denominator).
StatusOr<bool> BernoulliExp(absl::uint128 numerator, absl::uint128 denominator,
                            PrivateRandom& random);

// An integer x with P(x) proportional to exp(-|x| * numerator / denominator).
StatusOr<int64_t> DiscreteLaplace(absl::uint128 numerator, absl::uint128 denominator,
                                  PrivateRandom& random);

// Noise that makes an integer of sensitivity `sensitivity` epsilon-private.
StatusOr<int64_t> DiscreteLaplace(const Budget& epsilon, uint64_t sensitivity,
                                  PrivateRandom& random);

// An integer x with P(x) proportional to exp(-x^2 / (2 deviation^2)). The deviation is 1 to 2^40.
StatusOr<int64_t> DiscreteGaussian(uint64_t deviation, PrivateRandom& random);

}  // namespace coppice

#endif  // COPPICE_COMMON_PRIVACY_SAMPLERS_H_
