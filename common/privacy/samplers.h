// Exact integer samplers, after Canonne, Kamath and Steinke, "The Discrete Gaussian for
// Differential Privacy" (2020), Algorithms 1 and 2. No floating point: the laws are exact, not
// close.
//
// Errors     InvalidArgument for parameters out of range; what the PrivateRandom returns otherwise.

#ifndef COPPICE_COMMON_PRIVACY_SAMPLERS_H_
#define COPPICE_COMMON_PRIVACY_SAMPLERS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "common/privacy/budget.h"
#include "common/privacy/private_random.h"

namespace coppice {

// Largest numerator or denominator that the samplers take: products stay in 64 bits.
inline constexpr uint64_t kMaxSamplerTerm = uint64_t{1} << 48;

// True with probability exp(-numerator / denominator).
absl::StatusOr<bool> BernoulliExp(uint64_t numerator, uint64_t denominator, PrivateRandom& random);

// An integer x with P(x) proportional to exp(-|x| * numerator / denominator).
absl::StatusOr<int64_t> DiscreteLaplace(uint64_t numerator, uint64_t denominator,
                                        PrivateRandom& random);

// The noise that makes an integer of sensitivity `sensitivity` epsilon-private.
absl::StatusOr<int64_t> DiscreteLaplace(const Budget& epsilon, uint64_t sensitivity,
                                        PrivateRandom& random);

}  // namespace coppice

#endif  // COPPICE_COMMON_PRIVACY_SAMPLERS_H_
