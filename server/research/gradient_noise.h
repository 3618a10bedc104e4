// What a device does to its gradient before it sends it.

#ifndef COPPICE_SERVER_RESEARCH_GRADIENT_NOISE_H_
#define COPPICE_SERVER_RESEARCH_GRADIENT_NOISE_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/privacy/budget.h"
#include "common/privacy/private_random.h"

namespace coppice::research {

// log P(N(0, 1) >= x), for every x; and the x for which it is `log_tail` < 0.
double LogGaussianTail(double x);
double GaussianTailQuantile(double log_tail);

// Unbiased reports of gradients.
//
// Guarantee  Randomize() is epsilon-LDP for any gradient for any other, up to what the
//            implementation says of its arithmetic; its mean is the gradient, clipped.
class GradientNoise {
 public:
  virtual ~GradientNoise() = default;
  virtual absl::Status Randomize(PrivateRandom& random, absl::Span<double> gradient) const = 0;
};

// PrivUnitG: a Gaussian vector that lies in the cap around the gradient's direction with
// probability p, and outside it otherwise; scaled so that its mean is that direction. A gradient
// that is longer than 1 is clipped, and one of length r < 1 is replaced by its direction with
// probability (1 + r) / 2 and by the opposite one otherwise, which keeps the mean.
//
// Guarantee  epsilon-LDP in real arithmetic: the densities of two outputs differ by at most
//            p (1 - q) / (q (1 - p)) = exp(epsilon), q being the cap's Gaussian measure. In
//            floating point the outputs of two gradients need not even be the same numbers, so no
//            guarantee can be stated: of this program only the two coins are exact to 2^-53.
// Source     Asi, Feldman, Talwar 2022, "Optimal algorithms for mean estimation under local
//            differential privacy"; Lowy, Li, Huang, Razaviyayn 2023 use it for gradients.
class PrivUnitG final : public GradientNoise {
 public:
  // Splits epsilon between the coin and the cap so that the report's variance is least.
  PrivUnitG(double epsilon, size_t dimension);

  absl::Status Randomize(PrivateRandom& random, absl::Span<double> gradient) const override;

  double coin() const { return coin_; }                // p
  double log_cap_measure() const { return log_cap_; }  // log q
  double cap_height() const { return height_; }        // of the cap: <u, v> >= height
  double scale() const { return scale_; }              // of the Gaussian vector

 private:
  double coin_ = 0, log_cap_ = 0, height_ = 0, scale_ = 0;
};

// Discrete Laplace noise on a gradient that is clipped to L1 norm 1 and rounded towards 0 on a grid
// of kGradientSteps a unit.
//
// Guarantee  epsilon-LDP, exact: the integers of two gradients differ by at most 2 kGradientSteps
//            in L1 norm. The mean is the clipped gradient up to the rounding.
class LaplaceGradient final : public GradientNoise {
 public:
  static constexpr uint64_t kGradientSteps = uint64_t{1} << 20;

  explicit LaplaceGradient(const Budget& epsilon) : epsilon_(epsilon) {}

  absl::Status Randomize(PrivateRandom& random, absl::Span<double> gradient) const override;

 private:
  const Budget epsilon_;
};

}  // namespace coppice::research

#endif  // COPPICE_SERVER_RESEARCH_GRADIENT_NOISE_H_
