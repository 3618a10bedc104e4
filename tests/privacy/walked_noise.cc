// ReleaseSums() for walks of whole trainers, which replaces common/privacy/noisy_sums.cc in the
// test that links it. A noise is one branch of its law instead of its sampler's thousands, since a
// few releases in a row could not be walked otherwise. What is summed, the sensitivity and the
// budget are the trainer's. tests/common/privacy and central_enumeration_test check that the
// sampler has this law.
//
// Sums on a fine grid, such as gradients', are released as the block, about their sensitivity wide,
// that the noisy sum falls into, by the exact law of that. Rounding is post-processing, so any loss
// that is found is the trainer's too; and rows' gradients are whole blocks at first, where rounding
// hides nothing.

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/privacy/noisy_sums.h"
#include "tests/support/walking_random.h"

namespace coppice {
namespace {

// Discrete Laplace noise from -most to most, and last the mass of all other values.
std::vector<double> NoiseLaw(double rate, int64_t most) {
  const double ratio = std::exp(-rate);
  std::vector<double> law;
  for (int64_t x = -most; x <= most; ++x) {
    law.push_back((1 - ratio) / (1 + ratio) * std::pow(ratio, static_cast<double>(std::abs(x))));
  }
  law.push_back(2 * std::pow(ratio, static_cast<double>(most) + 1) / (1 + ratio));
  return law;
}

// Noise further out, 8e-7 of the mass, counts as cut off. That is more than a walk with a cut-off
// of 1e-7 leaves out by itself: it finds a little less loss, and what it finds is still proven.
constexpr double kTail = 14;
constexpr uint64_t kFine = 1u << 16;  // sensitivities from here on are on a fine grid

// P(noise >= x), which keeps the law of blocks exact even where the grid is very fine.
double UpperTail(double rate, double x) {
  const double ratio = std::exp(-rate);
  return x > 0 ? std::exp(-rate * x) / (1 + ratio) : 1 - std::exp(-rate * (1 - x)) / (1 + ratio);
}

// Draws the block that `sum` plus noise falls into.
StatusOr<int64_t> DrawBlock(int64_t sum, uint64_t sensitivity, const Budget& epsilon,
                            testing::WalkingRandom& walk) {
  const auto block = static_cast<int64_t>(std::bit_floor(sensitivity));
  const int64_t rest = ((sum % block) + block) % block;
  const double rate = epsilon.epsilon() / static_cast<double>(sensitivity);
  const auto most = static_cast<int64_t>(kTail / rate / static_cast<double>(block)) + 2;
  std::vector<double> law;
  double others = 1;
  for (int64_t at = -most; at <= most; ++at) {
    // The noise is in [first, end). Below 0 symmetry is used, since differences are exact above.
    const auto first = static_cast<double>(at * block - rest);
    const double end = first + static_cast<double>(block);
    law.push_back(first > 0 ? UpperTail(rate, first) - UpperTail(rate, end)
                            : UpperTail(rate, 1 - end) - UpperTail(rate, 1 - first));
    others -= law.back();
  }
  law.push_back(std::max(others, 0.0));
  const uint64_t name = uint64_t{1} << 63 | epsilon.nanos() << 24 | static_cast<uint64_t>(rest);
  COPPICE_ASSIGN_OR_RETURN(const uint64_t place, walk.Place(name, law));
  if (place + 1 == law.size()) return OutOfRangeError("cut off");
  return sum - rest + (static_cast<int64_t>(place) - most) * block;
}

}  // namespace

StatusOr<std::vector<int64_t>> ReleaseSums(absl::Span<const int64_t> sums, uint64_t sensitivity,
                                           const Budget& epsilon, PrivateRandom& random) {
  auto& walk = dynamic_cast<testing::WalkingRandom&>(random);
  if (sensitivity >= kFine) {
    std::vector<int64_t> blocks;
    for (const int64_t sum : sums) {
      COPPICE_ASSIGN_OR_RETURN(blocks.emplace_back(), DrawBlock(sum, sensitivity, epsilon, walk));
    }
    return blocks;
  }
  const double rate = epsilon.epsilon() / static_cast<double>(sensitivity);
  const auto most = static_cast<int64_t>(kTail / rate) + 1;
  const std::vector<double> law = NoiseLaw(rate, most);
  std::vector<int64_t> noisy;
  for (const int64_t sum : sums) {
    COPPICE_ASSIGN_OR_RETURN(const uint64_t place, walk.Place(epsilon.nanos() / sensitivity, law));
    if (place + 1 == law.size()) return OutOfRangeError("cut off");
    noisy.push_back(sum + static_cast<int64_t>(place) - most);
  }
  return noisy;
}

StatusOr<std::vector<int64_t>> ReleaseSums(absl::Span<const int64_t> sums, uint64_t l2_squared,
                                           const Rho& rho, PrivateRandom& random) {
  constexpr double kDeviations = 6;  // beyond them is less mass than a walk cuts off
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
    if (place + 1 == law.size()) return OutOfRangeError("cut off");
    noisy.push_back(sum + static_cast<int64_t>(place) - most);
  }
  return noisy;
}

}  // namespace coppice
