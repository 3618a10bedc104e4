// Discrete Laplace noise for whole vectors, exact and fast, for both Laplace mechanisms.
//
// The law is P(z) proportional to ratio^|z| with ratio = A / 2^32, A the least whole number with
// ratio >= exp(-epsilon / sensitivity). The noise follows it exactly; its variance exceeds that of
// exp(-epsilon |z| / sensitivity), the textbook's law, by at most 2^-32 (relative).

#ifndef COPPICE_COMMON_LDP_LAPLACE_NOISE_H_
#define COPPICE_COMMON_LDP_LAPLACE_NOISE_H_

#include <cstddef>
#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "common/base/status.h"
#include "common/privacy/budget.h"
#include "common/privacy/geometric_table.h"
#include "common/privacy/private_random.h"

namespace coppice {

// Guarantee  an integer vector of L1 sensitivity `sensitivity` plus independent noise is
//            epsilon-DP: for outputs a distance d apart the densities differ by ratio^-d <= exp(d
//            epsilon / sensitivity).
// Source     docs/research/mechanisms.md#laplace; the law itself is CKS 2020, Algorithm 2, which
//            samplers.h implements for any rational scale; the table here draws the same law in
//            one look-up.
class LaplaceNoise {
 public:
  static StatusOr<LaplaceNoise> Create(const Budget& epsilon, uint64_t sensitivity);

  // Draws `count` independent noises, a few hundred at a time: calls take(start, noise) with the
  // noises from index `start` on. `take` may change the span's values.
  using Take = absl::FunctionRef<void(size_t start, absl::Span<int32_t> noise)>;
  Status Draw(PrivateRandom& random, size_t count, Take take) const;
  // Adds independent noise to `sums`.
  Status AddTo(PrivateRandom& random, absl::Span<int64_t> sums) const;

  // The sum of `count` independent noises.
  StatusOr<int64_t> SumOf(uint64_t count, PrivateRandom& random) const;

  double variance() const { return variance_; }
  double LogProbability(int64_t noise) const;
  // Noise exceeds this with probability below 2^-100: no honest device sends it.
  int64_t bound() const { return bound_; }
  // The absolute values of `count` independent noises add up to more than this with probability
  // below 2^-100 (Chernoff).
  int64_t TotalBound(size_t count) const;

 private:
  explicit LaplaceNoise(GeometricTable table);

  GeometricTable table_;
  double log_ratio_;    // negative
  double log_of_zero_;  // log P(0)
  double variance_;
  int64_t bound_;
};

}  // namespace coppice

#endif  // COPPICE_COMMON_LDP_LAPLACE_NOISE_H_
