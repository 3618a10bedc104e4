// Grows one tree of a boosted model on the records' residuals, with a value at every node.
//
// A tree here is no more than a shared sequence of questions: each level's values are added to the
// rows' scores as soon as they are known, as if it were a boosting round of its own. Grown deep it
// can ask about several features together; measured level by level it never rests on the few rows
// of its last leaves.
//
// Splits are chosen by the score of boost_scores.h. The sums of the positive and of the negative
// parts are measured in every child, or in parts of it, so that the next level fits what remains.
//
// Guarantee  a level costs its shares: the selection and the measurement of its nodes (a tree's
//            levels divide the rows; docs/research/mechanisms.md#levels).
// Source     docs/research/mechanisms.md#boosting.

#ifndef COPPICE_SERVER_TRAINERS_BOOSTING_BOOST_TREE_H_
#define COPPICE_SERVER_TRAINERS_BOOSTING_BOOST_TREE_H_

#include <vector>

#include "absl/types/span.h"
#include "common/base/cancel_check.h"
#include "common/base/status.h"
#include "common/model/tree.h"
#include "common/schema/schema.h"
#include "server/trainers/boosting/boost_columns.h"
#include "server/trainers/boosting/boost_task.h"
#include "server/trainers/boosting/step_prior.h"
#include "server/trainers/core/bins.h"
#include "server/trainers/core/private_releaser.h"

namespace coppice::trainers {

struct BoostTree {
  Tree tree;
  std::vector<std::vector<double>> scores;  // scores[leaf][output]: the values on its path, summed
  std::vector<std::vector<OutputNoise>> noise;  // of these
};

// What is measured in the children of a split, for one output. A row is in one part of one child:
// more parts mean more noise in each, but cost no more budget.
struct ChildDetail {
  // The number of runs of even width that a numeric column has on either side of the cut.
  uint32_t runs = 1;
  // Whether the other categories are measured one by one where a split separates one category.
  bool categories = false;
  // If runs are not measured apart, a child's score changes from its far end to the cut, towards
  // the other child's score, by this part of their difference. It costs no noise, and ranks rows
  // that would otherwise tie.
  double tilt = 0;
};

struct LevelShares {
  BudgetShare select;
  BudgetShare measure;
};

// Grows one tree with the shares of its levels, and adds its answers to the task's scores, level
// after level, exactly as predictions will. `tree_schema` must have all of the rows' columns.
//
// Each level with parts becomes a tree of its own, whose leaves are the parts; the trees add up to
// the grown tree. The last one holds the rest, and is the only one that may have no parts. `detail`
// is for tasks of one output; numbers use only its tilt. With `prior`, which needs a `detail`
// without parts and tilt, it says what nodes add instead of the task, and their noise is not known.
// `check` is asked before each level, whose error ends the growing.
StatusOr<std::vector<BoostTree>> GrowBoostTree(
    const Schema& tree_schema, const JointColumns& columns, absl::Span<const LevelShares> levels,
    const ChildDetail& detail, BoostTask& task, PrivateReleaser& releaser,
    StepPrior* prior = nullptr, const CancelCheck& check = {});

// Makes one measurement of all rows, without splits: a leaf with the values that every row's scores
// grow by.
StatusOr<BoostTree> ReleaseConstant(const BinnedRows& rows, const BudgetShare& share,
                                    BoostTask& task, PrivateReleaser& releaser);

}  // namespace coppice::trainers

#endif  // COPPICE_SERVER_TRAINERS_BOOSTING_BOOST_TREE_H_
