// One tree of gradient boosting: at each node the split of the highest second-order gain, chosen
// privately.
//
// A score is |S|^2 / (n + lambda) over both children, of whole-number residuals (split_scores.h).
// Nodes are grown depth first, which is public, so that a histogram lives only while a descendant
// can need it.
//
// Guarantee  a level costs its share: the nodes of a level divide the rows by released splits, so a
//            record is seen by one selection per level (docs/mechanisms.md#levels). Every split
//            that a node's cell still has is a candidate, with its score, also one with empty
//            children; every node is grown to the last level, also an empty one.
// Errors     what the releaser returns.
// Source     docs/mechanisms.md#dpboost.

#ifndef COPPICE_SERVER_TRAINERS_DPBOOST_GRADIENT_TREE_H_
#define COPPICE_SERVER_TRAINERS_DPBOOST_GRADIENT_TREE_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "server/trainers/core/grower.h"
#include "server/trainers/core/private_releaser.h"
#include "server/trainers/core/split_scores.h"
#include "server/trainers/dpboost/histograms.h"

namespace coppice::trainers {

// Residuals of some rows: values[output][i] is that of rows[i].
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
  std::vector<std::vector<int32_t>> residuals;  // residuals[output][i] is that of grown.rows[i]
};

// `histograms` counts the rows of `all`.
absl::StatusOr<GradientTree> GrowGradientTree(const Schema& schema, const BinnedRows& all,
                                              HistogramBuilder& histograms, RowResiduals seen,
                                              const GradientTreeOptions& options,
                                              PrivateReleaser& releaser);

}  // namespace coppice::trainers

#endif  // COPPICE_SERVER_TRAINERS_DPBOOST_GRADIENT_TREE_H_
