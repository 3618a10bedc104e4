// Regression trees on the slopes of a loss, without noise: what gradient boosting adds up when
// nothing has to be kept private.
//
// A row has a gradient and a curvature for each score: minus the first and the second derivative of
// its loss. Near the current scores the loss of a leaf's rows is a parabola; its least value lies
// at sum of gradients / (sum of curvatures + ridge), and going there lowers the loss by half the
// gain
//   G^2 / (H + ridge)
// which is added up over the scores. A split gains what its sides gain beyond their parent, so the
// leaf whose best split gains most is split next, until the tree has enough leaves.
//
// Sums over bins find every leaf's best split in one pass over its rows. Of two sides only the
// smaller one is passed over: the other one's sums are what is left of their parent's.
//
// Guarantee  none: cuts and splits follow the rows. The same rows in the same order give the same
//            bits.
// Threads    plain values.
// Source     Friedman, "Greedy function approximation" (2001); Chen and Guestrin, "XGBoost" (2016).

#ifndef COPPICE_SERVER_TRAINERS_BOOSTING_NEWTON_TREE_H_
#define COPPICE_SERVER_TRAINERS_BOOSTING_NEWTON_TREE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "common/base/status.h"
#include "common/model/tree.h"
#include "common/table/table.h"
#include "server/trainers/core/bins.h"

namespace coppice::trainers {

// Returns bins of `rows` between their own values: at most this many cuts of a number, each
// half-way between neighbours at the rows' quantiles. Where there are no more values than that,
// each has a bin of its own.
std::vector<FeatureBins> QuantileBins(const Table& rows, uint32_t most_cuts);

struct Slope {
  float gradient = 0;   // minus the derivative
  float curvature = 0;  // above 0
};

// Slopes of all rows, and the scores among them that a tree is for: of one class, or of all.
struct Slopes {
  absl::Span<const Slope> all{};  // all[row * scores + score]
  size_t scores = 1;
  size_t first = 0, count = 1;

  const Slope* of(size_t row) const { return all.data() + row * scores + first; }
};

struct NewtonOptions {
  uint32_t most_leaves = 31;  // scikit-learn's and LightGBM's default
  uint32_t least_rows = 20;   // of a leaf; theirs too
  // Keeps steps of nearly certain rows short. XGBoost has 1, which costs 3 % of the log loss on
  // electricity, and scikit-learn 0.
  double ridge = 0.1;
  double rate = 0.1;  // the part of a step that is gone; the default of all three
};

// A tree that asks for bins. Node 0 is its root.
struct BinTree {
  struct Node {
    SplitKind kind = SplitKind::kLeaf;
    bool missing_left = false;
    uint32_t feature = 0;
    uint32_t bin = 0;   // kNumeric: this one and those below go left. kCategory: this one goes left
    uint32_t left = 0;  // the right child follows it
    double gain = 0;    // of the split
    std::vector<double> value{};  // of a leaf, one per score that the tree is for
  };
  std::vector<Node> nodes{};

  const std::vector<double>& ValueOf(const BinnedRows& rows, size_t row) const;
};

// The tree as a model has it, with the values of its leaves from left to right.
struct NewtonTree {
  Tree tree;
  std::vector<std::vector<double>> values;
};
StatusOr<NewtonTree> ToNewtonTree(const BinTree& tree, const Schema& schema,
                                  const std::vector<FeatureBins>& bins);

// Grows a tree on the rows at `positions`.
BinTree GrowNewtonTree(const BinnedRows& rows, std::vector<uint32_t> positions,
                       const Slopes& slopes, const NewtonOptions& options);

}  // namespace coppice::trainers

#endif  // COPPICE_SERVER_TRAINERS_BOOSTING_NEWTON_TREE_H_
