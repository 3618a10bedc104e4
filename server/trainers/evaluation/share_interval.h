// Confidence intervals of shares and areas that are made of counts with noise, from the exact law
// of that noise.
//
// A share a of hits among rows is estimated from noisy sums of hits and of misses. Were a the true
// share, (1 - a) hits - a misses would be of mean 0: the rows' own chance, at most rows * a(1 - a)
// in variance, and noise of a known law. The interval has every a for which what was released is
// not too far out. So no estimate is divided by another, and the interval holds for few rows too,
// where it is wide. The law of a sum of independent discrete Laplace terms and a normal one is
// inverted from its characteristic function.
//
// Guarantee  post-processing: everything here is a function of released sums and public numbers. An
//            interval covers the expectation over rows drawn like these with probability `level`,
//            up to the normal law that stands for the rows' own chance.
// Threads    plain values.
// Source     docs/research/mechanisms.md#private-evaluation.

#ifndef COPPICE_SERVER_TRAINERS_EVALUATION_SHARE_INTERVAL_H_
#define COPPICE_SERVER_TRAINERS_EVALUATION_SHARE_INTERVAL_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "common/evaluation/value_counts.h"

namespace coppice::trainers {

inline constexpr double kEvaluationLevel = 0.95;

// Independent discrete Laplace variables that enter a sum with the same weight.
struct NoiseTerms {
  double weight = 0;
  size_t count = 0;
};

// The chance that a sum of discrete Laplace variables of this scale, so weighted, and of a normal
// one of this variance is at most `reach` away from 0. Rounded down in so far as a normal term of
// at least a hundredth of the noise is added.
double ChanceWithin(double reach, absl::Span<const NoiseTerms> terms, double scale,
                    double variance);

// Noisy sums of hits and misses: what was added up, and of how many noisy cells each is the sum.
struct NoisyShare {
  double hits = 0;
  double misses = 0;
  size_t hit_cells = 1;
  size_t miss_cells = 1;
  double scale = 0;  // of the noise in each cell
  double row = 1;    // what one row adds to hits and misses together
};

struct Estimate {
  double value = 0;
  ConfidenceInterval interval{};

  friend bool operator==(const Estimate& a, const Estimate& b) {
    return a.value == b.value && a.interval.low == b.interval.low &&
           a.interval.high == b.interval.high;
  }
};

// The share of hits. 1/2 with the interval [0, 1] if nothing is known.
Estimate ShareOf(const NoisyShare& share, double level = kEvaluationLevel);

// The area under the ROC curve from noisy counts of rows by bin of their score, the lowest bin
// first, each the sum of `cells` noisy ones. The interval allows for what the bins hide: rows of
// one bin in either order.
Estimate AreaOf(absl::Span<const int64_t> negatives, absl::Span<const int64_t> positives,
                double scale, size_t cells = 1, double level = kEvaluationLevel);

}  // namespace coppice::trainers

#endif  // COPPICE_SERVER_TRAINERS_EVALUATION_SHARE_INTERVAL_H_
