// The shares that several selections, chosen one after the other, may spend, so that together they
// are (epsilon, delta)-DP.
//
// There are three ways of adding up:
//
//   basic     epsilons add up; the delta is not used.
//   advanced  releases that are epsilon_i-DP together lose at most as much as independent
//             randomized responses that tell the truth with odds e^epsilon_i. Such releases can
//             lose that much (Kairouz, Oh, Viswanath 2015; Murtagh, Vadhan 2016), so no way of
//             adding up pure epsilons is tighter. Its delta is summed up term by term.
//   zcdp      rhos add up (concentrated.h). A selection then uses the exponential mechanism, with
//             a quarter of the rho that its epsilon would otherwise cost.
//
// Many selections may have the same weights, such as the rounds of each of several classes. Then
// `weights` has those of one class, `times` is the number of classes, and the work is that of one.
//
// Guarantee  what was chosen before the shares were (a number of rounds) must be paid for
//            separately. Shares are rounded down, and a delta is bounded from above, so no more is
//            spent than was given.
// Threads    plain values.
// Source     docs/research/mechanisms.md#several-rounds.

#ifndef COPPICE_SERVER_TRAINERS_LAZYBB_COMPOSITION_H_
#define COPPICE_SERVER_TRAINERS_LAZYBB_COMPOSITION_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "common/base/status.h"
#include "common/privacy/budget.h"
#include "server/trainers/core/private_releaser.h"

namespace coppice::trainers {

// Returns an upper bound of the delta with which releases that are each (part * step)-DP, in
// nano-epsilons, are (epsilon, delta)-DP together; it exceeds that delta by at most a
// hundred-millionth. Returns 1, which always holds, if the sum of the parts times `step` is 2^53 or
// more. There must be at least one part, and parts must be above 0.
double ComposedDelta(absl::Span<const uint64_t> parts, uint64_t step, const Budget& epsilon);

// More releases are not composed with ComposedDelta(), whose time grows with their number and with
// the sum of their parts.
inline constexpr size_t kMaxComposed = 1024;

// Returns shares of epsilon in proportion to `weights` (shares.h): what basic or advanced
// composition allows, whichever is more. Without a delta, or privacy, it is ProportionalShares().
StatusOr<std::vector<BudgetShare>> PureShares(const BudgetShare& whole, uint64_t delta_atto,
                                              absl::Span<const uint64_t> weights,
                                              uint64_t times = 1);

// Returns shares of rho in proportion to the squares of `weights`. InvalidArgument if epsilon and
// delta allow none.
StatusOr<std::vector<BudgetShare>> ConcentratedShares(const BudgetShare& whole, uint64_t delta_atto,
                                                      absl::Span<const uint64_t> weights,
                                                      uint64_t times = 1);

// Returns those of the two under which selections find the better candidate, if a share is divided
// among `selections`.
StatusOr<std::vector<BudgetShare>> SelectionShares(const BudgetShare& whole, uint64_t delta_atto,
                                                   absl::Span<const uint64_t> weights,
                                                   uint32_t selections, uint64_t times = 1);

// Permute and flip, which shares of epsilon pay for, errs as little as the exponential mechanism,
// which shares of rho pay for, with this many times its epsilon: really 1 to 2 times, and nearer to
// 1 with more candidates.
inline constexpr double kWorthOfPermuteAndFlip = 1.2;

}  // namespace coppice::trainers

#endif  // COPPICE_SERVER_TRAINERS_LAZYBB_COMPOSITION_H_
