// Divides a budget, for example among the levels of a tree.
//
// Guarantee  the shares never sum to more than the whole; each is rounded down to whole
//            nano-epsilons, or pico-rhos. Without privacy all shares are without privacy.
// Errors     InvalidArgument if a share would be zero, or if the weights' sum does not fit 64 bits.

#ifndef COPPICE_SERVER_TRAINERS_CORE_SHARES_H_
#define COPPICE_SERVER_TRAINERS_CORE_SHARES_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "common/base/status.h"
#include "server/trainers/core/private_releaser.h"

namespace coppice::trainers {

// Each share is to / from times the share of the level above.
struct Growth {
  uint64_t to = 3;  // one and a half times: SPE, section 4.2
  uint64_t from = 2;
};
// Returns `levels` growing shares; none for no levels. InvalidArgument for more than 40 levels with
// a growth of 3 / 2, or 27 with 5 / 4.
StatusOr<std::vector<BudgetShare>> GeometricShares(const BudgetShare& whole, uint32_t levels,
                                                   Growth growth = {});

// Returns one of `parts` shares of the same size.
StatusOr<BudgetShare> EqualShare(const BudgetShare& whole, uint64_t parts);

// Returns a share per weight, in proportion to it; weights must be above 0. Each share is had
// `times` times, and all of these together are the whole. InvalidArgument if they add up to 2^64 or
// more.
StatusOr<std::vector<BudgetShare>> ProportionalShares(const BudgetShare& whole,
                                                      absl::Span<const uint64_t> weights,
                                                      uint64_t times = 1);

// The part `share` of `whole`, in millionths, and the rest. InvalidArgument unless 0 < share < 1.
struct TwoShares {
  BudgetShare part;
  BudgetShare rest;
};
StatusOr<TwoShares> Divide(const BudgetShare& whole, double share);

}  // namespace coppice::trainers

#endif  // COPPICE_SERVER_TRAINERS_CORE_SHARES_H_
