// The noise that a device adds to its gradient before sending it.

#ifndef COPPICE_SERVER_RESEARCH_GRADIENT_NOISE_H_
#define COPPICE_SERVER_RESEARCH_GRADIENT_NOISE_H_

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "common/base/status.h"
#include "common/privacy/budget.h"
#include "common/privacy/private_random.h"

namespace coppice::research {

// Returns log P(N(0, 1) >= x), for every x; the second returns the x for a given `log_tail` < 0.
double LogGaussianTail(double x);
double GaussianTailQuantile(double log_tail);

// Makes unbiased reports of gradients.
//
// Guarantee  Randomize() is epsilon-LDP between any two gradients, up to what the implementation
//            says about its arithmetic; its mean is the clipped gradient.
class GradientNoise {
 public:
  virtual ~GradientNoise() = default;
  virtual Status Randomize(PrivateRandom& random, absl::Span<double> gradient) const = 0;
};

// PrivUnitG: draws a Gaussian vector that lies in the cap around the gradient's direction with
// probability p and outside it otherwise, scaled so that its mean is that direction. A gradient
// longer than 1 is clipped; one of length r < 1 is replaced by its direction with probability (1 +
// r) / 2 and by the opposite direction otherwise, which keeps the mean.
//
// Guarantee  epsilon-LDP in real arithmetic: the densities of two outputs differ by a factor of at
//            most p (1 - q) / (q (1 - p)) = exp(epsilon), where q is the cap's Gaussian measure. In
//            floating point two gradients need not even have the same possible outputs, so no
//            guarantee can be stated: only the two coins are exact, to 2^-53.
// Source     Asi, Feldman, Talwar 2022, "Optimal algorithms for mean estimation under local
//            differential privacy"; Lowy, Li, Huang, Razaviyayn 2023 use it for gradients.
class PrivUnitG final : public GradientNoise {
 public:
  // Splits epsilon between the coin and the cap to minimize the report's variance.
  PrivUnitG(double epsilon, size_t dimension);

  Status Randomize(PrivateRandom& random, absl::Span<double> gradient) const override;

  double coin() const { return coin_; }                // p
  double log_cap_measure() const { return log_cap_; }  // log q
  double cap_height() const { return height_; }        // of the cap: <u, v> >= height
  double scale() const { return scale_; }              // of the Gaussian vector

 private:
  double coin_ = 0, log_cap_ = 0, height_ = 0, scale_ = 0;
};

// Adds discrete Laplace noise to a gradient that is clipped to L1 norm 1 and rounded towards 0 on a
// grid with kGradientSteps steps per unit.
//
// Guarantee  epsilon-LDP, exact: the integers of two gradients differ by at most 2 kGradientSteps
//            in L1 norm. The mean is the clipped gradient, up to the rounding.
class LaplaceGradient final : public GradientNoise {
 public:
  static constexpr uint64_t kGradientSteps = uint64_t{1} << 20;

  explicit LaplaceGradient(const Budget& epsilon) : epsilon_(epsilon) {}

  Status Randomize(PrivateRandom& random, absl::Span<double> gradient) const override;

 private:
  const Budget epsilon_;
};

}  // namespace coppice::research

#endif  // COPPICE_SERVER_RESEARCH_GRADIENT_NOISE_H_
