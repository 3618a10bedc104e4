// Estimates what the noise of released sums has added to the scores that are made of them.
//
// A score is f(M) of noisy sums M, and would be f(E) of the exact sums E. The law of the noise is
// public, E is not, and this assumes nothing about E: for Laplace noise of scale b the estimate f -
// b^2 f'' at M has the mean f(E) for every E (b^2 f'' is half the variance times f''), so its
// difference to f(M) is the expected effect of the noise; and 2 b^2 f'^2 + b^4 f''^2 has the mean
// of that estimate's variance. For Gaussian noise the first holds up to higher derivatives. Sums
// are not negative, so below 0 any smooth continuation of f will do.
//
// Guarantee  post-processing: everything here is a function of released sums and public numbers.
// Units      those of the score.
// Source     docs/research/mechanisms.md#noise-of-scores.

#ifndef COPPICE_SERVER_TRAINERS_CORE_NOISE_OF_SUMS_H_
#define COPPICE_SERVER_TRAINERS_CORE_NOISE_OF_SUMS_H_

#include <functional>
#include <vector>

#include "absl/types/span.h"
#include "common/model/model.h"
#include "server/trainers/core/private_releaser.h"

namespace coppice::trainers {

// Returns the noise of `factor` times the score.
inline OutputNoise Scaled(const OutputNoise& noise, double factor) {
  return {.mean = factor * noise.mean, .variance = factor * factor * noise.variance};
}

// Adds `more`, noise that is independent of `noise`, number by number.
void AddNoise(absl::Span<const OutputNoise> more, std::vector<OutputNoise>& noise);

// The law of a sum's noise; see Measurement.
struct NoiseLaw {
  double scale = 0;
  bool is_gaussian = false;
};

// Returns the noise of log(max(sum, 0) + smoothing).
OutputNoise NoiseOfLog(double sum, double smoothing, const NoiseLaw& law);

// Returns the noise of scores of many sums, by adding public draws of noise once more: to first
// order they show what the noise added the first time. `smooth` continues the scores to negative
// sums; `released` has the scores themselves.
std::vector<OutputNoise> NoiseBySimulation(
    const Measurement& measured, absl::Span<const double> released,
    const std::function<std::vector<double>(const Measurement&)>& smooth);

}  // namespace coppice::trainers

#endif  // COPPICE_SERVER_TRAINERS_CORE_NOISE_OF_SUMS_H_
