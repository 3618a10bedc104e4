// BernoulliExp() for a walk of whole trainers: takes the place of common/privacy/samplers.cc in the
// test that links it. A coin is two branches of its law instead of the many that its sampler has,
// which for the fine masses of smooth boosting draws numbers that are too large to be branched on.
// Selections are the library's; that the sampler has this law is tested where it is
// (tests/common/privacy, central_enumeration_test).

#include <algorithm>
#include <cmath>
#include <vector>

#include "common/base/status_macros.h"
#include "common/privacy/samplers.h"
#include "tests/support/walking_random.h"

namespace coppice {

absl::StatusOr<bool> BernoulliExp(absl::uint128 numerator, absl::uint128 denominator,
                                  PrivateRandom& random) {
  auto& walk = dynamic_cast<testing::WalkingRandom&>(random);
  const double rate = static_cast<double>(numerator) / static_cast<double>(denominator);
  const double success = std::exp(-rate);
  // A law's name is its rate: rates that differ by less have the same coin.
  constexpr double kFine = 1e15;
  const auto name = static_cast<uint64_t>(std::min(rate, 1000.0) * kFine);
  COPPICE_ASSIGN_OR_RETURN(const uint64_t place,
                           walk.Place(uint64_t{1} << 63 | name, {1 - success, success}));
  return place == 1;
}

}  // namespace coppice
