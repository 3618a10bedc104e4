#include "server/trainers/core/leaves.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"

namespace coppice::trainers {
namespace {

uint64_t SensitivityOf(int64_t unit, uint32_t outputs, Neighbours neighbours) {
  const bool twice = neighbours == Neighbours::kChangeLabel && outputs > 2;
  return static_cast<uint64_t>(twice ? 2 * unit : unit);
}

bool SecondAlone(uint32_t outputs, Neighbours neighbours) {
  return neighbours == Neighbours::kChangeLabel && outputs == 2;
}

}  // namespace

int64_t LeafUnit(const BinnedRows& rows) { return rows.regression() ? kTargetSteps : 1; }

uint32_t NumOutputs(const BinnedRows& rows) { return rows.regression() ? 2 : rows.num_classes(); }

LeafSums SumLeaves(const BinnedRows& rows, const GrownTree& tree) {
  LeafSums sums(tree.tree.num_leaves(), std::vector<int64_t>(NumOutputs(rows)));
  for (uint32_t leaf = 0; leaf < sums.size(); ++leaf) {
    std::vector<int64_t>& sum = sums[leaf];
    for (const uint32_t row : tree.LeafRows(leaf)) {
      if (rows.regression()) {
        sum[0] += kTargetSteps - rows.targets()[row];
        sum[1] += rows.targets()[row];
      } else if (rows.labels()[row] != kUnlabelled) {
        ++sum[rows.labels()[row]];
      }
    }
  }
  return sums;
}

StatusOr<LeafSums> ReleaseLeaves(const LeafSums& sums, int64_t unit, Neighbours neighbours,
                                 const BudgetShare& share, PrivateReleaser& releaser) {
  LeafSums released;
  released.reserve(sums.size());
  for (const std::vector<int64_t>& sum : sums) {
    const auto outputs = static_cast<uint32_t>(sum.size());
    const uint64_t sensitivity = SensitivityOf(unit, outputs, neighbours);
    if (!SecondAlone(outputs, neighbours)) {
      COPPICE_ASSIGN_OR_RETURN(released.emplace_back(), releaser.Sums(sum, sensitivity, share));
      continue;
    }
    COPPICE_ASSIGN_OR_RETURN(
        const std::vector<int64_t> second,
        releaser.Sums(absl::MakeConstSpan(sum).subspan(1), sensitivity, share));
    released.push_back({sum[0] + sum[1] - second[0], second[0]});
  }
  return released;
}

double WeightError(int64_t unit, uint32_t outputs, Neighbours neighbours,
                   const BudgetShare& share) {
  if (!share.is_private()) return 0;
  const auto steps = static_cast<double>(unit);
  const double rate =
      share.budget().epsilon() / static_cast<double>(SensitivityOf(unit, outputs, neighbours));
  // Discrete Laplace noise of ratio a = exp(-rate) has variance 2 a / (1 - a)^2. If one output's
  // noise is the negative of the other's, a share has at most twice the variance that independent
  // noises would give it.
  const double correlated = SecondAlone(outputs, neighbours) ? 2 : 1;
  return std::sqrt(correlated * 2 * std::exp(-rate)) / -std::expm1(-rate) / steps;
}

std::vector<LeafPrediction> ToWeights(const Tree& tree, const LeafSums& sums, int64_t unit,
                                      double weight_error) {
  std::vector<LeafPrediction> leaves;
  leaves.reserve(sums.size());
  for (uint32_t leaf = 0; leaf < sums.size(); ++leaf) {
    LeafPrediction& added = leaves.emplace_back();
    for (const int64_t sum : sums[leaf]) {
      added.probabilities.push_back(static_cast<double>(sum) / static_cast<double>(unit));
    }
    added.standard_error = weight_error;
    added.label = static_cast<uint32_t>(std::max_element(sums[leaf].begin(), sums[leaf].end()) -
                                        sums[leaf].begin());
    added.source_node = tree.leaf_node(leaf);
  }
  return leaves;
}

std::vector<LeafPrediction> ToProbabilities(std::vector<LeafPrediction> weights) {
  for (LeafPrediction& leaf : weights) {
    Prediction alone = PredictFromWeights(std::move(leaf.probabilities),
                                          leaf.standard_error * leaf.standard_error);
    leaf.probabilities = std::move(alone.probabilities);
    leaf.standard_error = alone.standard_error;
  }
  return weights;
}

}  // namespace coppice::trainers
