// The released sums of leaves over their rows.
//
// An output is a class' count; or, for regression, the rows' distances from the two ends of the
// range: sum (1 - v) and sum v of targets v in [0, 1], which give the mean. As weights of a model
// (LeafKind::kWeights) they are in rows. Targets are whole steps of the range.
//
// Guarantee  all leaves of a tree together are epsilon-DP, where epsilon is the share. Adding or
//            removing a row changes one leaf: one class by 1, or the two distances by 1 together
//            (the half-sum encoding). Changing a label changes two counts by 1, so the noise
//            doubles; with two outputs only the second is released, with noise for 1, and the first
//            is the leaf's size, which is then public, minus the second.
// Source     docs/research/mechanisms.md#leaves.

#ifndef COPPICE_SERVER_TRAINERS_CORE_LEAVES_H_
#define COPPICE_SERVER_TRAINERS_CORE_LEAVES_H_

#include <cstdint>
#include <vector>

#include "common/base/status.h"
#include "common/model/model.h"
#include "common/privacy/neighbours.h"
#include "server/trainers/core/bins.h"
#include "server/trainers/core/grower.h"
#include "server/trainers/core/private_releaser.h"

namespace coppice::trainers {

// Per leaf and output, in steps: a row counts LeafUnit().
using LeafSums = std::vector<std::vector<int64_t>>;

// 1 for classes; kTargetSteps for regression.
int64_t LeafUnit(const BinnedRows& rows);
uint32_t NumOutputs(const BinnedRows& rows);

// Returns exact sums. Rows without a label do not count.
LeafSums SumLeaves(const BinnedRows& rows, const GrownTree& tree);

// Adds noise. `sums` must be those of all leaves of one tree.
StatusOr<LeafSums> ReleaseLeaves(const LeafSums& sums, int64_t unit, Neighbours neighbours,
                                 const BudgetShare& share, PrivateReleaser& releaser);

// Returns the standard error of a weight that was released with `share`; sqrt(2) times that if the
// two weights' noises are opposite, because predictions assume that they are independent.
double WeightError(int64_t unit, uint32_t outputs, Neighbours neighbours, const BudgetShare& share);

// Returns the model's leaves, with weights in rows.
std::vector<LeafPrediction> ToWeights(const Tree& tree, const LeafSums& sums, int64_t unit,
                                      double weight_error);

// Converts each leaf's weights to its own probabilities: a forest of these leaves averages.
std::vector<LeafPrediction> ToProbabilities(std::vector<LeafPrediction> weights);

}  // namespace coppice::trainers

#endif  // COPPICE_SERVER_TRAINERS_CORE_LEAVES_H_
