// What a leaf knows: sums over its rows, released.
//
// An output is a class' count; or, for regression, the rows' distances from the two ends of the
// range: sum (1 - v) and sum v of targets v in [0, 1], from which the mean follows. As weights of a
// model (LeafKind::kWeights) they are in rows. Targets are whole steps of the range.
//
// Guarantee  epsilon-DP, epsilon being the share, for all leaves of a tree together.
//            Add or remove a row: it moves one leaf, one class by 1, or the two distances by 1
//            together (the half-sum encoding). Change a label: two counts move by 1, so the noise
//            is twice; with two outputs only the second is released, with noise for 1, and the
//            first is the leaf's size, which is public then, less that.
// Source     docs/research/mechanisms.md#leaves.

#ifndef COPPICE_SERVER_TRAINERS_CORE_LEAVES_H_
#define COPPICE_SERVER_TRAINERS_CORE_LEAVES_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "common/privacy/neighbours.h"
#include "common/tree/model.h"
#include "server/trainers/core/bins.h"
#include "server/trainers/core/grower.h"
#include "server/trainers/core/private_releaser.h"

namespace coppice::trainers {

// Per leaf and output, in steps of LeafUnit() a row.
using LeafSums = std::vector<std::vector<int64_t>>;

// 1 for classes; kTargetSteps for regression.
int64_t LeafUnit(const BinnedRows& rows);
uint32_t NumOutputs(const BinnedRows& rows);

// Exact. Rows without a label do not count.
LeafSums SumLeaves(const BinnedRows& rows, const GrownTree& tree);

// With noise. `sums` are those of all leaves of one tree.
absl::StatusOr<LeafSums> ReleaseLeaves(const LeafSums& sums, int64_t unit, Neighbours neighbours,
                                       const BudgetShare& share, PrivateReleaser& releaser);

// Standard error of a weight that was released with `share`; sqrt(2) times that where the two
// weights' noises are opposite, because predictions take them for independent.
double WeightError(int64_t unit, uint32_t outputs, Neighbours neighbours, const BudgetShare& share);

// The model's leaves: weights in rows.
std::vector<LeafPrediction> ToWeights(const Tree& tree, const LeafSums& sums, int64_t unit,
                                      double weight_error);

// The same as probabilities of each leaf alone: a forest of them averages.
std::vector<LeafPrediction> ToProbabilities(std::vector<LeafPrediction> weights);

}  // namespace coppice::trainers

#endif  // COPPICE_SERVER_TRAINERS_CORE_LEAVES_H_
