// One tree of a boosted model: grown on the records' residuals, with a value at every node.
//
// Splits are chosen by boost_scores.h's score. What is measured are sums of the positive and of the
// negative parts of every child, so that the next level asks for what is left.
//
// Guarantee  a level costs its shares: selection and measurement of its nodes (levels of a tree
//            divide the rows; docs/mechanisms.md#levels).
// Source     docs/mechanisms.md#boosting.

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

struct LevelShares {
  BudgetShare select;
  BudgetShare measure;
};

// Grows one tree, with the shares of its levels, and adds what it answers to the task's scores,
// level after level: these are what predictions will be. `tree_schema` has all of the rows'
// columns.
absl::StatusOr<BoostTree> GrowBoostTree(const Schema& tree_schema, const JointColumns& columns,
                                        absl::Span<const LevelShares> levels, BoostTask& task,
                                        PrivateReleaser& releaser);

// One measurement of all rows, without a tree: a leaf with the values that every row's scores grow
// by.
absl::StatusOr<BoostTree> ReleaseConstant(const BinnedRows& rows, const BudgetShare& share,
                                          BoostTask& task, PrivateReleaser& releaser);

}  // namespace coppice::trainers

#endif  // COPPICE_SERVER_TRAINERS_BOOSTING_BOOST_TREE_H_
