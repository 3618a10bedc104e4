// The leaf values of a tree of gradient boosting, released.
//
// With one output what is released are n + S and n - S of the residuals' sum S and their number n,
// in steps (the half-sum encoding): a record moves them by U + r and U - r, |r| <= U =
// kResidualSteps, so 2U in L1. With several they are n and every output's S, with a record moving n
// by U steps and the sums by 2U in L1, so 3U (gradients.h has the bounds).
//
// A value is S / (n + lambda) with n cut at 0, cut to [-clip, clip]; 0 if n + lambda is 0.
//
// Guarantee  epsilon-DP, epsilon being the share, for all leaves of a tree together: a record is in
//            one. Values are post-processing of what is released.
// Source     DPBoost, section 3.1 (geometric leaf clipping); docs/mechanisms.md#dpboost.

#ifndef COPPICE_SERVER_TRAINERS_DPBOOST_GRADIENT_LEAVES_H_
#define COPPICE_SERVER_TRAINERS_DPBOOST_GRADIENT_LEAVES_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "server/trainers/core/private_releaser.h"
#include "server/trainers/dpboost/gradient_tree.h"

namespace coppice::trainers {

// By how much one record moves what is released of the leaves, in L1.
constexpr uint64_t GradientLeafSensitivity(size_t outputs) {
  return (outputs > 1 ? 3 : 2) * uint64_t{kResidualSteps};
}

// One row of numbers per leaf, before noise: what ReleaseGradientLeaves() adds it to.
std::vector<std::vector<int64_t>> GradientLeafSums(const GradientTree& tree);

struct GradientLeafOptions {
  BudgetShare share = BudgetShare::WithoutPrivacy();
  Lambda lambda;
  double clip = 1;  // in units of g*
};

// values[leaf][output], in units of g*.
absl::StatusOr<std::vector<std::vector<double>>> ReleaseGradientLeaves(
    const GradientTree& tree, const GradientLeafOptions& options, PrivateReleaser& releaser);

}  // namespace coppice::trainers

#endif  // COPPICE_SERVER_TRAINERS_DPBOOST_GRADIENT_LEAVES_H_
