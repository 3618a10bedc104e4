// ReleaseSums() for a walk of whole trainers: takes the place of common/privacy/noisy_sums.cc in
// the test that links it. A noise is one branch of its law instead of the thousands that its
// sampler has, of which a few releases in a row could not be walked. What is summed, the
// sensitivity and the budget are the trainer's; that the sampler has this law is tested where it is
// (tests/common/privacy, central_enumeration_test).

#include <algorithm>
#include <cmath>
#include <vector>

#include "common/base/status_macros.h"
#include "common/privacy/noisy_sums.h"
#include "tests/support/walking_random.h"

namespace coppice {
namespace {

// Values from -most to most of discrete Laplace noise, and last all others together.
std::vector<double> NoiseLaw(double rate, int64_t most) {
  const double ratio = std::exp(-rate);
  std::vector<double> law;
  for (int64_t x = -most; x <= most; ++x) {
    law.push_back((1 - ratio) / (1 + ratio) * std::pow(ratio, static_cast<double>(std::abs(x))));
  }
  law.push_back(2 * std::pow(ratio, static_cast<double>(most) + 1) / (1 + ratio));
  return law;
}

}  // namespace

absl::StatusOr<std::vector<int64_t>> ReleaseSums(absl::Span<const int64_t> sums,
                                                 uint64_t sensitivity, const Budget& epsilon,
                                                 PrivateRandom& random) {
  constexpr double kTail = 14;  // of mass exp(-14): less than what a walk cuts off
  auto& walk = dynamic_cast<testing::WalkingRandom&>(random);
  const double rate = epsilon.epsilon() / static_cast<double>(sensitivity);
  const auto most = static_cast<int64_t>(kTail / rate) + 1;
  const std::vector<double> law = NoiseLaw(rate, most);
  std::vector<int64_t> noisy;
  for (const int64_t sum : sums) {
    COPPICE_ASSIGN_OR_RETURN(const uint64_t place, walk.Place(epsilon.nanos() / sensitivity, law));
    if (place + 1 == law.size()) return absl::OutOfRangeError("cut off");
    noisy.push_back(sum + static_cast<int64_t>(place) - most);
  }
  return noisy;
}

absl::StatusOr<std::vector<int64_t>> ReleaseSums(absl::Span<const int64_t> sums,
                                                 uint64_t l2_squared, const Rho& rho,
                                                 PrivateRandom& random) {
  constexpr double kDeviations = 6;  // beyond them: less than what a walk cuts off
  auto& walk = dynamic_cast<testing::WalkingRandom&>(random);
  COPPICE_ASSIGN_OR_RETURN(const uint64_t deviation, rho.DeviationFor(l2_squared));
  const auto wide = static_cast<double>(deviation);
  const auto most = static_cast<int64_t>(kDeviations * wide);
  std::vector<double> law;
  double all = 0;
  for (int64_t x = -4 * most; x <= 4 * most; ++x) {
    const double bell = std::exp(-static_cast<double>(x * x) / (2 * wide * wide));
    if (std::abs(x) <= most) law.push_back(bell);
    all += bell;
  }
  double others = 1;
  for (double& p : law) others -= p /= all;
  law.push_back(std::max(others, 0.0));
  std::vector<int64_t> noisy;
  for (const int64_t sum : sums) {
    COPPICE_ASSIGN_OR_RETURN(const uint64_t place, walk.Place(~deviation, law));
    if (place + 1 == law.size()) return absl::OutOfRangeError("cut off");
    noisy.push_back(sum + static_cast<int64_t>(place) - most);
  }
  return noisy;
}

}  // namespace coppice
