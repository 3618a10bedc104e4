// Private selection of one of a public list of candidates, where a higher score is more likely.
//
// With theta = epsilon / range, permute and flip goes through the candidates in random order and
// takes each with probability exp(-theta (best - score)). It is never worse in expectation than the
// exponential mechanism, where P(i) is proportional to exp(theta score_i), but the latter composes
// more tightly under zero-concentrated DP. Both work in whole numbers (BernoulliExp).
//
// Guarantee  epsilon-DP if `range` bounds how unevenly one step between neighbours moves the
//            scores: for neighbours D and D' let d_i = score_i(D') - score_i(D); then max d - min d
//            <= range for all of them. (A shift that all scores share costs nothing; twice the
//            sensitivity is always a range, once if scores move one way only.) The list and its
//            order must not depend on private data.
// Errors     InvalidArgument without candidates or with a range of 0; otherwise that of the
//            PrivateRandom.
// Source     McKenna, Sheldon 2020; docs/research/mechanisms.md#selection has the proof.

#ifndef COPPICE_COMMON_PRIVACY_SELECTION_H_
#define COPPICE_COMMON_PRIVACY_SELECTION_H_

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "common/base/status.h"
#include "common/privacy/budget.h"
#include "common/privacy/private_random.h"

namespace coppice {

// Returns the chosen candidate's place in `scores`.
StatusOr<size_t> PermuteAndFlip(absl::Span<const int64_t> scores, const Budget& epsilon,
                                uint64_t range, PrivateRandom& random);
StatusOr<size_t> ExponentialMechanism(absl::Span<const int64_t> scores, const Budget& epsilon,
                                      uint64_t range, PrivateRandom& random);

// Selects from a public grid of cuts one near the quantile `part` / `whole` of private numbers (1 /
// 2: the median). `ranks[j]` is how many of the `count` numbers are at most cut j.
//
// Guarantee  epsilon-DP, add or remove one number: score_j = -|whole rank_j - part count| moves by
//            at most max(part, whole - part), so the range is twice that.
// Errors     as above; InvalidArgument unless 0 < part < whole <= 2^20 and ranks are at most count,
//            which must be below 2^40.
StatusOr<size_t> SelectQuantile(absl::Span<const uint64_t> ranks, uint64_t count, uint64_t part,
                                uint64_t whole, const Budget& epsilon, PrivateRandom& random);

}  // namespace coppice

#endif  // COPPICE_COMMON_PRIVACY_SELECTION_H_
