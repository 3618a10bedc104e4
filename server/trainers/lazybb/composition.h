// What each of several selections may spend, chosen one after the other, so that all of them
// together are (epsilon, delta)-DP.
//
// There are three ways of adding up:
//
//   basic     epsilons add up; the delta is not used.
//   advanced  releases that are epsilon_i-DP each lose, all together, no more than as many
//             independent randomized responses do: each says the truth with odds e^epsilon_i. That
//             is as much as such releases can lose (Kairouz, Oh, Viswanath 2015; Murtagh, Vadhan
//             2016), so no way of adding up pure epsilons is tighter. Its delta is summed up term
//             by term.
//   zcdp      rhos add up (concentrated.h). A selection is then one of the exponential mechanism,
//             with four times less rho than its epsilon would cost otherwise.
//
// Guarantee  whatever was chosen before the shares were (a number of rounds) has to be paid for
//            beside them. Shares are rounded down, and a delta is bounded from above, so what is
//            spent is never more than what was given.
// Threads    plain values.
// Source     docs/research/mechanisms.md#several-rounds.

#ifndef COPPICE_SERVER_TRAINERS_LAZYBB_COMPOSITION_H_
#define COPPICE_SERVER_TRAINERS_LAZYBB_COMPOSITION_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/privacy/budget.h"
#include "server/trainers/core/private_releaser.h"

namespace coppice::trainers {

// At least the delta with which releases that are (part * step)-DP each, in nano-epsilons, are
// (epsilon, delta)-DP together, and a hundred-millionth of it more at most; 1, which is true of all
// releases, if the sum of the parts times `step` is 2^53 or more. Parts are above 0, and there is
// one at least.
double ComposedDelta(absl::Span<const uint64_t> parts, uint64_t step, const Budget& epsilon);

// More releases than this are not composed by way of ComposedDelta(), whose time grows with their
// number and the sum of their parts.
inline constexpr size_t kMaxComposed = 1024;

// Shares of epsilon in proportion to `weights` (shares.h): what basic or advanced composition
// allows, whichever is more. Without a delta, or privacy, ProportionalShares().
absl::StatusOr<std::vector<BudgetShare>> PureShares(const BudgetShare& whole, uint64_t delta_atto,
                                                    absl::Span<const uint64_t> weights);

// Shares of rho in proportion to the squares of `weights`. InvalidArgument if epsilon and delta
// allow none.
absl::StatusOr<std::vector<BudgetShare>> ConcentratedShares(const BudgetShare& whole,
                                                            uint64_t delta_atto,
                                                            absl::Span<const uint64_t> weights);

// Those of the two under which selections find the better candidate, when a share is divided among
// `selections`.
absl::StatusOr<std::vector<BudgetShare>> SelectionShares(const BudgetShare& whole,
                                                         uint64_t delta_atto,
                                                         absl::Span<const uint64_t> weights,
                                                         uint32_t selections);

// Permute and flip, which shares of epsilon pay for, errs as little as the exponential mechanism,
// which those of rho pay for, does with so many times the epsilon: with 1 to 2 times, and nearer to
// 1 the more candidates there are.
inline constexpr double kWorthOfPermuteAndFlip = 1.2;

}  // namespace coppice::trainers

#endif  // COPPICE_SERVER_TRAINERS_LAZYBB_COMPOSITION_H_
