// One tree of a boosted model: grown on the records' residuals, with a value at every node.
//
// Splits are chosen by boost_scores.h's score. What is measured are sums of the positive and of the
// negative parts of every child, or of parts of it, so that the next level asks for what is left.
//
// Guarantee  a level costs its shares: selection and measurement of its nodes (levels of a tree
//            divide the rows; docs/research/mechanisms.md#levels).
// Source     docs/research/mechanisms.md#boosting.

#ifndef COPPICE_SERVER_TRAINERS_BOOSTING_BOOST_TREE_H_
#define COPPICE_SERVER_TRAINERS_BOOSTING_BOOST_TREE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/schema/schema.h"
#include "common/tree/tree.h"
#include "server/trainers/boosting/boost_columns.h"
#include "server/trainers/boosting/boost_task.h"
#include "server/trainers/core/bins.h"
#include "server/trainers/core/private_releaser.h"

namespace coppice::trainers {

struct BoostTree {
  Tree tree;
  std::vector<std::vector<double>> scores;  // scores[leaf][output]: the values on its path, summed
  std::vector<std::vector<OutputNoise>> noise;  // of these
};

// What is measured of the children of a split, with one output. A row is in one part of one child:
// more parts are more noise for each, not more of the budget.
struct ChildDetail {
  // How many runs of even width a numeric column has on either side of the cut.
  uint32_t runs = 1;
  // What the other categories say, where one is split off, is measured category by category.
  bool categories = false;
  // Where runs are not measured apart, a child's score rises from its far end to the cut, or falls,
  // towards the other child's, by this much of their difference. It costs no noise, and ranks rows
  // that would be level.
  double tilt = 0;
};

struct LevelShares {
  BudgetShare select;
  BudgetShare measure;
};

// Grows one tree, with the shares of its levels, and adds what it answers to the task's scores,
// level after level: these are what predictions will be. `tree_schema` has all of the rows'
// columns.
//
// Levels with parts have a tree each, whose leaves are the parts: they add up to the tree that was
// grown. The last one has what is left, and is the only one without parts. `detail` is for tasks of
// one output; numbers take no more of it than a tilt.
absl::StatusOr<std::vector<BoostTree>> GrowBoostTree(const Schema& tree_schema,
                                                     const JointColumns& columns,
                                                     absl::Span<const LevelShares> levels,
                                                     const ChildDetail& detail, BoostTask& task,
                                                     PrivateReleaser& releaser);

// One measurement of all rows, without a tree: a leaf with the values that every row's scores grow
// by.
absl::StatusOr<BoostTree> ReleaseConstant(const BinnedRows& rows, const BudgetShare& share,
                                          BoostTask& task, PrivateReleaser& releaser);

}  // namespace coppice::trainers

#endif  // COPPICE_SERVER_TRAINERS_BOOSTING_BOOST_TREE_H_
