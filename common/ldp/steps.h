// Builds geometric draws from a table's draws.

#ifndef COPPICE_COMMON_LDP_STEPS_H_
#define COPPICE_COMMON_LDP_STEPS_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/privacy/geometric_table.h"
#include "common/privacy/private_random.h"

namespace coppice {

// Maximum number of steps. Reached with probability ratio^(2^30), which is negligible for any ratio
// that a mechanism uses.
inline constexpr uint32_t kMaxSteps = 1u << 30;

// One geometric draw: P(steps >= i) = ratio^i.
inline StatusOr<uint32_t> DrawSteps(const GeometricTable& table, PrivateRandom& random) {
  uint32_t steps = 0;
  while (steps < kMaxSteps) {
    SignedSteps draw = 0;
    COPPICE_RETURN_IF_ERROR(random.Geometric(table, absl::MakeSpan(&draw, 1)));
    steps += StepsOf(draw);
    if (StepsOf(draw) < kManySteps) break;
  }
  return steps;
}

// Calls hit(position), in order, for each success in `trials` independent trials that fail with the
// table's ratio. Costs one draw per success, not one per trial.
template <typename Hit>
Status ForEachSuccess(const GeometricTable& failures, size_t trials, PrivateRandom& random,
                      Hit hit) {
  std::array<SignedSteps, 32> draws;
  // About as many as successes are expected, so that few draws are wasted.
  const uint64_t successes = (trials * ((uint64_t{1} << 32) - failures.numerator())) >> 32;
  const auto batch = absl::MakeSpan(draws.data(), std::min<uint64_t>(draws.size(), successes + 1));
  size_t position = 0;
  while (true) {
    COPPICE_RETURN_IF_ERROR(random.Geometric(failures, batch));
    for (const SignedSteps draw : batch) {
      position += StepsOf(draw);
      if (position >= trials) return OkStatus();
      if (StepsOf(draw) == kManySteps) continue;  // no success yet; the rest is memoryless
      hit(position);
      ++position;
    }
  }
}

}  // namespace coppice

#endif  // COPPICE_COMMON_LDP_STEPS_H_
