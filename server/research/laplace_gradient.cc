#include <cmath>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/privacy/samplers.h"
#include "server/research/gradient_noise.h"

namespace coppice::research {

Status LaplaceGradient::Randomize(PrivateRandom& random, absl::Span<double> gradient) const {
  double norm = 1;  // a gradient within it needs no clipping
  double total = 0;
  for (const double g : gradient) total += std::abs(g);
  // The extra 1e-9 keeps the rounding of this division from making the sum of integers too large.
  if (total > norm) norm = total * (1 + 1e-9);
  constexpr double kSteps = kGradientSteps;
  for (double& g : gradient) {
    COPPICE_ASSIGN_OR_RETURN(const int64_t noise,
                             DiscreteLaplace(epsilon_, 2 * kGradientSteps, random));
    g = static_cast<double>(static_cast<int64_t>(g / norm * kSteps) + noise) / kSteps;
  }
  return OkStatus();
}

}  // namespace coppice::research
