// How often a report may tell the truth: the rate of the mechanisms that keep one of a few public
// sets of symbols and else send any symbol at all.

#ifndef COPPICE_COMMON_LDP_KEEP_RATE_H_
#define COPPICE_COMMON_LDP_KEEP_RATE_H_

#include <cstdint>

#include "common/privacy/budget.h"

namespace coppice {

inline constexpr int kKeepRateBits = 62;
inline constexpr uint64_t kKeepAlways = uint64_t{1} << kKeepRateBits;  // the rate of probability 1

// A report is uniform on a set of `kept` symbols with probability K / 2^62, and uniform on all
// `symbols` of them otherwise. Where rows have different sets of one size, the worst ratio of
// probabilities is 1 + symbols K / (kept (2^62 - K)). Returns the largest K with which that is at
// most e / 2^60 <= exp(epsilon), e = ExpLowerBound(epsilon).
//
// Guarantee  0 < K < 2^62, computed in whole numbers without overflow.
// Units      `kept` is 1 to 127 and less than `symbols`.
// Source     docs/research/mechanisms.md#symbol_response and #window_response.
uint64_t KeepRate(const Budget& epsilon, uint32_t kept, uint32_t symbols);

}  // namespace coppice

#endif  // COPPICE_COMMON_LDP_KEEP_RATE_H_
