#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <vector>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "server/research/gradient_noise.h"
#include "server/research/real_draws.h"

namespace coppice::research {
namespace {

constexpr double kLogRootTwoPi = 0.91893853320467274178;

double LogGaussianDensity(double x) { return -x * x / 2 - kLogRootTwoPi; }
double LogOnePlusExp(double x) {
  return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
}

StatusOr<bool> DrawCoin(double probability, PrivateRandom& random) {
  return random.Bernoulli(static_cast<uint64_t>(probability * static_cast<double>(kUnitSteps)),
                          kUnitSteps);
}

double Norm(absl::Span<const double> x) {
  return std::sqrt(std::inner_product(x.begin(), x.end(), x.begin(), 0.0));
}

// The cap that gets the rest of epsilon after a coin of log-odds `log_odds`, and its properties.
struct Cap {
  double coin = 0, log_measure = 0, height = 0, scale = 0, variance = 0;
};

Cap MakeCap(double epsilon, double log_odds, size_t dimension) {
  Cap cap;
  cap.coin = 1 / (1 + std::exp(-log_odds));
  cap.log_measure = -LogOnePlusExp(epsilon - log_odds);
  cap.height = GaussianTailQuantile(cap.log_measure);
  const double log_density = LogGaussianDensity(cap.height);
  const double above = std::exp(log_density - cap.log_measure);
  const double below = std::exp(log_density - LogGaussianTail(-cap.height));
  const double mean = cap.coin * above - (1 - cap.coin) * below;
  cap.scale = 1 / mean;
  // Squares along the direction: E[z^2 | z >= h] = 1 + h above, E[z^2 | z < h] = 1 - h below
  const double along = 1 + cap.height * (cap.coin * above - (1 - cap.coin) * below);
  cap.variance = cap.scale * cap.scale * (along + static_cast<double>(dimension) - 1) - 1;
  return cap;
}

}  // namespace

double LogGaussianTail(double x) {
  constexpr double kFar = 20;  // from here the asymptotic series is exact to 1e-12
  if (x < kFar) return std::log(std::erfc(x / std::numbers::sqrt2) / 2);
  const double s = 1 / (x * x);
  return LogGaussianDensity(x) - std::log(x) +
         std::log1p(-s * (1 - 3 * s * (1 - 5 * s * (1 - 7 * s))));
}

// The logarithm is concave and decreasing, so Newton's steps approach from the right after the
// first.
double GaussianTailQuantile(double log_tail) {
  double x = log_tail < -1 ? std::sqrt(-2 * log_tail) : 0;
  for (int i = 0; i < 200; ++i) {
    const double value = LogGaussianTail(x);
    const double step = (value - log_tail) / std::exp(LogGaussianDensity(x) - value);
    x += step;
    if (std::abs(step) < 1e-13 * (1 + std::abs(x))) break;
  }
  return x;
}

PrivUnitG::PrivUnitG(double epsilon, size_t dimension) {
  constexpr int kSplits = 400;
  Cap best;
  for (int i = 1; i < kSplits; ++i) {
    const Cap cap = MakeCap(epsilon, epsilon * i / kSplits, dimension);
    if (cap.scale > 0 && (i == 1 || cap.variance < best.variance)) best = cap;
  }
  coin_ = best.coin;
  log_cap_ = best.log_measure;
  height_ = best.height;
  scale_ = best.scale;
}

Status PrivUnitG::Randomize(PrivateRandom& random, absl::Span<double> gradient) const {
  const double norm = Norm(gradient);
  if (norm == 0) {
    std::fill(gradient.begin(), gradient.end(), 0.0);
    gradient[0] = 1;
  } else {
    for (double& g : gradient) g /= norm;
  }
  COPPICE_ASSIGN_OR_RETURN(const bool keeps, DrawCoin((1 + std::min(norm, 1.0)) / 2, random));
  const double sign = keeps ? 1 : -1;
  COPPICE_ASSIGN_OR_RETURN(const bool inside, DrawCoin(coin_, random));
  COPPICE_ASSIGN_OR_RETURN(const double u, DrawUnit(random));
  const double along = inside ? GaussianTailQuantile(log_cap_ + std::log(u))
                              : -GaussianTailQuantile(LogGaussianTail(-height_) + std::log(u));
  COPPICE_ASSIGN_OR_RETURN(const std::vector<double> drawn, DrawGaussians(gradient.size(), random));
  const double across = std::inner_product(drawn.begin(), drawn.end(), gradient.begin(), 0.0);
  for (size_t i = 0; i < gradient.size(); ++i) {
    gradient[i] = scale_ * (drawn[i] + (sign * along - across) * gradient[i]);
  }
  return OkStatus();
}

}  // namespace coppice::research
