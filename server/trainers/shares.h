// How a budget is divided, among the levels of a tree for one.
//
// Guarantee  the shares never sum to more than the whole; each is rounded down to whole
//            nano-epsilons. Without privacy all shares are without.
// Errors     InvalidArgument if a share would be zero.

#ifndef COPPICE_SERVER_TRAINERS_SHARES_H_
#define COPPICE_SERVER_TRAINERS_SHARES_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/trainers/releaser.h"

namespace coppice {

// `levels` shares, each half as much again as the one above it (SPE, section 4.2); none for no
// levels. At most 40 levels.
absl::StatusOr<std::vector<Share>> GeometricShares(const Share& whole, uint32_t levels);

// One of `parts` shares of the same size.
absl::StatusOr<Share> EqualShare(const Share& whole, uint64_t parts);

// A share a weight, in proportion to it; weights are below 2^64 together, and above 0.
absl::StatusOr<std::vector<Share>> ProportionalShares(const Share& whole,
                                                      absl::Span<const uint64_t> weights);

// The part `share` of `whole`, in millionths, and what is left. 0 < share < 1.
struct TwoShares {
  Share part;
  Share rest;
};
absl::StatusOr<TwoShares> Divide(const Share& whole, double share);

}  // namespace coppice

#endif  // COPPICE_SERVER_TRAINERS_SHARES_H_
