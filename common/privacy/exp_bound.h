// A rigorous lower bound of an exponential, in integers: it turns an epsilon into a rational rate
// that is never less private than the epsilon.
//
// Source     docs/research/mechanisms.md#rates.

#ifndef COPPICE_COMMON_PRIVACY_EXP_BOUND_H_
#define COPPICE_COMMON_PRIVACY_EXP_BOUND_H_

#include <cstdint>

#include "absl/numeric/int128.h"
#include "common/privacy/budget.h"

namespace coppice {

// ExpLowerBound() returns a fixed-point number with this many fraction bits.
inline constexpr int kExpBits = 60;

// A whole number e with e / 2^60 <= exp(epsilon / divisor), with a relative error of at most 2^-50
// up to epsilon / divisor = 20; beyond that, the bound of 20. `divisor` is 1 to 4.
absl::uint128 ExpLowerBound(const Budget& epsilon, uint64_t divisor);

// The least A with A / 2^32 >= exp(-epsilon / divisor), a ratio of geometric noise.
uint32_t DecayRatio(const Budget& epsilon, uint64_t divisor);

// The least A with (2^32 - A) / A <= exp(epsilon / divisor), that is A / 2^32 >= 1 / (1 +
// exp(...)): how often a bit lies.
uint32_t LieRate(const Budget& epsilon, uint64_t divisor);

}  // namespace coppice

#endif  // COPPICE_COMMON_PRIVACY_EXP_BOUND_H_
