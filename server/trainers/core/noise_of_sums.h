// What noise in released sums has added to the scores that are made of them.
//
// A score is f(M) of sums M with noise, and would be f(E) of the sums E before it. The noise's law
// is public, E is not, and no guess about E is made: for Laplace noise of scale b the estimate
// f - b^2 f'' at M has the mean f(E) whatever E is (b^2 f'' is half the variance times f''), so the
// difference to f(M) is what noise is expected to have added; and 2 b^2 f'^2 + b^4 f''^2 has the
// mean of that estimate's variance. For Gaussian noise the first holds but for higher derivatives.
// Sums are not negative, so where M is below 0 any smooth continuation of f does.
//
// Guarantee  post-processing: everything here is a function of released sums and public numbers.
// Units      those of the score.
// Source     docs/research/mechanisms.md#noise-of-scores.

#ifndef COPPICE_SERVER_TRAINERS_CORE_NOISE_OF_SUMS_H_
#define COPPICE_SERVER_TRAINERS_CORE_NOISE_OF_SUMS_H_

#include <functional>
#include <vector>

#include "absl/types/span.h"
#include "common/tree/model.h"
#include "server/trainers/core/private_releaser.h"

namespace coppice::trainers {

// The noise of `factor` times the score.
inline OutputNoise Scaled(const OutputNoise& noise, double factor) {
  return {.mean = factor * noise.mean, .variance = factor * factor * noise.variance};
}

// Adds `more`, noise that is independent of `noise`, number by number.
void AddNoise(absl::Span<const OutputNoise> more, std::vector<OutputNoise>& noise);

// How much noise a sum has: see Measurement.
struct NoiseLaw {
  double scale = 0;
  bool is_gaussian = false;
};

// The noise of log(max(sum, 0) + smoothing).
OutputNoise NoiseOfLog(double sum, double smoothing, const NoiseLaw& law);

// The noise of scores of many sums, by public draws of noise that is added to them once more: to
// first order that shows what it added the first time. `smooth` is their continuation to negative
// sums, and `released` the scores themselves.
std::vector<OutputNoise> NoiseBySimulation(
    const Measurement& measured, absl::Span<const double> released,
    const std::function<std::vector<double>(const Measurement&)>& smooth);

}  // namespace coppice::trainers

#endif  // COPPICE_SERVER_TRAINERS_CORE_NOISE_OF_SUMS_H_
