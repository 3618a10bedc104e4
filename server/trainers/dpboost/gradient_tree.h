// One tree of gradient boosting: its privately chosen splits, and the values of its leaves.
//
// The gain of a split is how much the loss falls, to second order, if each side gets its best value
// (Friedman 2001): squared sums over counts, which are large where residuals on a side have one
// sign.
//
// At each node the split of the highest second-order gain is chosen. A score is |S|^2 / (n +
// lambda) over both children, of whole-number residuals (split_scores.h). Nodes are grown depth
// first, which is public, so that a histogram lives only while a descendant can need it.
//
// Guarantee  a level costs its share: released splits divide the rows among a level's nodes, so one
//            selection per level sees a record (docs/research/mechanisms.md#levels). Every split
//            that a node's cell still has is a candidate with its score, even one with empty
//            children; every node, even an empty one, is grown to the last level.
// Errors     what the releaser returns.
// Source     docs/research/mechanisms.md#dpboost.

#ifndef COPPICE_SERVER_TRAINERS_DPBOOST_GRADIENT_TREE_H_
#define COPPICE_SERVER_TRAINERS_DPBOOST_GRADIENT_TREE_H_

#include <cstdint>
#include <vector>

#include "common/base/status.h"
#include "common/model/model.h"
#include "server/trainers/core/grower.h"
#include "server/trainers/core/private_releaser.h"
#include "server/trainers/core/split_scores.h"
#include "server/trainers/dpboost/histograms.h"

namespace coppice::trainers {

// Residuals of some rows: values[output][i] belongs to rows[i].
struct RowResiduals {
  std::vector<uint32_t> rows;
  std::vector<std::vector<int32_t>> values;
};

struct GradientTreeOptions {
  uint32_t depth = 0;
  BudgetShare split = BudgetShare::WithoutPrivacy();  // of a level
  Lambda lambda;
  uint32_t squared_norm = 1;  // of a record's residuals at most, in squared steps
};

struct GradientTree {
  GrownTree grown;
  std::vector<std::vector<int32_t>> residuals;  // residuals[output][i] belongs to grown.rows[i]
};

// `histograms` counts the rows of `all`.
StatusOr<GradientTree> GrowGradientTree(const Schema& schema, const BinnedRows& all,
                                        HistogramBuilder& histograms, RowResiduals seen,
                                        const GradientTreeOptions& options,
                                        PrivateReleaser& releaser);

// What is released of a leaf. For one output it is n + S and n - S, where S is the sum and n the
// number of the residuals, in steps (the half-sum encoding): a record moves these by U + r and U -
// r, |r| <= U = kResidualSteps, so by 2U in L1. For several it is n and every output's S: a record
// moves n by U steps and the sums by 2U in L1, so 3U (gradients.h has the bounds).
//
// Returns by how much one record moves all of it, in L1:
constexpr uint64_t GradientLeafSensitivity(size_t outputs) {
  return (outputs > 1 ? 3 : 2) * uint64_t{kResidualSteps};
}

// Returns one list of numbers per leaf, before ReleaseGradientLeaves() adds noise.
std::vector<std::vector<int64_t>> GradientLeafSums(const GradientTree& tree);

struct GradientLeafOptions {
  BudgetShare share = BudgetShare::WithoutPrivacy();
  Lambda lambda;
  double clip = 1;  // in units of g*
};

// In units of g*. A value is S / (n + lambda), with n at least 0, clamped to [-clip, clip]; 0 if n
// + lambda is 0.
struct GradientLeaf {
  std::vector<double> values{};      // one per output
  std::vector<OutputNoise> noise{};  // of these
};

// Releases leaf by leaf.
//
// Guarantee  all leaves of a tree together are epsilon-DP, where epsilon is the share: a record is
//            in one leaf. Values are post-processing of what is released.
// Source     DPBoost, section 3.1 (geometric leaf clipping).
StatusOr<std::vector<GradientLeaf>> ReleaseGradientLeaves(const GradientTree& tree,
                                                          const GradientLeafOptions& options,
                                                          PrivateReleaser& releaser);

}  // namespace coppice::trainers

#endif  // COPPICE_SERVER_TRAINERS_DPBOOST_GRADIENT_TREE_H_
