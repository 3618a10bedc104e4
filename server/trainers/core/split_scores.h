// Scores of a split, for a private selection among splits of one node (common/privacy/selection.h).
//
// A split's score is the sum of one term per child; higher is better. Every candidate keeps its
// score and may be chosen, even with empty children: dropping one would reveal its contents.
//
// Counts are below 2^40; a row's contribution is clamped before it is summed.
//
// Guarantee  adding or removing one row changes one child of each split. For any data its term
//            moves within an interval of length ...Range, which is the selection's `range`. Terms
//            are whole numbers: the floor of the exact value, and floors keep intervals of
//            whole-number length (docs/research/mechanisms.md#split-scores has each proof).
// Units      scores are in 2^-20 of the natural unit where a constant says kScoreUnit.
// Source     docs/research/mechanisms.md#split-scores; the papers' own constants are wrong or
//            loose, as tests/privacy/sensitivity_search_test.cc shows.

#ifndef COPPICE_SERVER_TRAINERS_CORE_SPLIT_SCORES_H_
#define COPPICE_SERVER_TRAINERS_CORE_SPLIT_SCORES_H_

#include <cstdint>

#include "absl/types/span.h"

namespace coppice::trainers {

inline constexpr int64_t kScoreUnit = int64_t{1} << 20;

// Second-order gain S^2 / (n + lambda) of residuals in [-g, g], in units of g^2 / kScoreUnit
// (DPBoost's gradients, section 3; Lemma 1 there is false). `sum` is in steps of g /
// kResidualSteps.
inline constexpr int64_t kResidualSteps = int64_t{1} << 20;
struct Lambda {
  uint32_t numerator = 1;
  uint32_t denominator = 10;  // 1 to 2^15
};
int64_t GainTerm(int64_t count, int64_t sum, Lambda lambda);
inline constexpr uint64_t kGainRange = uint64_t{4} * kScoreUnit;
// Does the same for vectors of residuals, one number per output: |S|^2 / (n + lambda). Here g
// bounds each record's Euclidean norm, whose square is at most `squared_norm` in squared steps of
// kResidualSteps: the range stays kGainRange.
int64_t GainTerm(int64_t count, absl::Span<const int64_t> sums, uint32_t squared_norm,
                 Lambda lambda);

// Minus the sum of squared errors of labels 0..steps about their mean (DiPriMe). `squares` is the
// sum of the labels' squares.
int64_t SquaredErrorTerm(int64_t count, int64_t sum, int64_t squares);
constexpr uint64_t SquaredErrorRange(uint32_t steps) { return uint64_t{steps} * steps; }

// Minus the number of rows outside the child's most frequent class (DiPriMe).
int64_t MiscountTerm(absl::Span<const int64_t> class_counts);
inline constexpr uint64_t kMiscountRange = 1;

// Minus n times the Gini impurity, in units of 1 / kScoreUnit (DiPriMe; CART).
int64_t GiniTerm(absl::Span<const int64_t> class_counts);
inline constexpr uint64_t kGiniRange = uint64_t{2} * kScoreUnit;

// Minus 4 a b / (a + b): the Gini impurity of weighted rows of two classes with the masses a and b
// (DP-TopDown; Lemmas 4.2.3 and 4.2.4 there are false). The score of splitting a leaf is the
// children's terms minus the leaf's own, and splits of different leaves compete. The range holds if
// neighbours' masses differ by at most `mass_change` in L1, over all rows.
int64_t WeightedGiniTerm(int64_t mass_of_0, int64_t mass_of_1);
constexpr uint64_t WeightedGiniRange(uint64_t mass_change) { return 4 * mass_change + 6; }

}  // namespace coppice::trainers

#endif  // COPPICE_SERVER_TRAINERS_CORE_SPLIT_SCORES_H_
