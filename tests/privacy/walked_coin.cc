// BernoulliExp() for walks of whole trainers, which replaces common/privacy/samplers.cc in the test
// that links it. A coin is two branches of its law instead of its sampler's many; for the fine
// masses of smooth boosting the sampler draws numbers too large to branch on. Selections are the
// library's. tests/common/privacy and central_enumeration_test check that the sampler has this law.

#include <algorithm>
#include <cmath>
#include <vector>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/privacy/samplers.h"
#include "tests/support/walking_random.h"

namespace coppice {

StatusOr<bool> BernoulliExp(absl::uint128 numerator, absl::uint128 denominator,
                            PrivateRandom& random) {
  auto& walk = dynamic_cast<testing::WalkingRandom&>(random);
  const double rate = static_cast<double>(numerator) / static_cast<double>(denominator);
  const double success = std::exp(-rate);
  // A law is named by its rate: rates that differ by less than 1 / kFine share a coin.
  constexpr double kFine = 1e15;
  const auto name = static_cast<uint64_t>(std::min(rate, 1000.0) * kFine);
  COPPICE_ASSIGN_OR_RETURN(const uint64_t place,
                           walk.Place(uint64_t{1} << 63 | name, {1 - success, success}));
  return place == 1;
}

}  // namespace coppice
