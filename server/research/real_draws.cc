#include "server/research/real_draws.h"

#include <cmath>
#include <numbers>

#include "common/base/status.h"
#include "common/base/status_macros.h"

namespace coppice::research {

StatusOr<double> DrawUnit(PrivateRandom& random) {
  COPPICE_ASSIGN_OR_RETURN(const uint64_t step, random.UniformBelow(kUnitSteps));
  return (static_cast<double>(step) + 0.5) / static_cast<double>(kUnitSteps);
}

StatusOr<double> DrawLaplace(double scale, PrivateRandom& random) {
  COPPICE_ASSIGN_OR_RETURN(const double u, DrawUnit(random));
  return u < 0.5 ? scale * std::log(2 * u) : -scale * std::log(2 - 2 * u);
}

StatusOr<std::vector<double>> DrawGaussians(size_t count, PrivateRandom& random) {
  std::vector<double> drawn;
  while (drawn.size() < count) {
    COPPICE_ASSIGN_OR_RETURN(const double u, DrawUnit(random));
    COPPICE_ASSIGN_OR_RETURN(const double v, DrawUnit(random));
    const double radius = std::sqrt(-2 * std::log(u)), angle = 2 * std::numbers::pi * v;
    drawn.push_back(radius * std::cos(angle));
    drawn.push_back(radius * std::sin(angle));
  }
  drawn.resize(count);
  return drawn;
}

}  // namespace coppice::research
