// Turns a weight for each bin of a column into trees that ask about this column alone.
//
// A model is a sum of trees and nothing else, whatever it was fitted as: then prediction, export,
// explanations and certificates need to know one kind of model.
//
// The shape follows from the bins: missing values first, then the cuts, halved, or the categories
// one by one; more than kCategoriesOfATree of them take several trees, whose weights add up.
//
// Threads    plain values.

#ifndef COPPICE_SERVER_TRAINERS_BOOSTING_COLUMN_TREES_H_
#define COPPICE_SERVER_TRAINERS_BOOSTING_COLUMN_TREES_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "common/base/status.h"
#include "common/model/tree.h"
#include "common/schema/schema.h"
#include "server/trainers/boosting/boost_task.h"
#include "server/trainers/core/bins.h"
#include "server/trainers/core/ensemble.h"

namespace coppice::trainers {

inline constexpr uint32_t kCategoriesOfATree = 256;

// The most leaves that AddColumnTrees() makes of such columns: one for each bin, and two that every
// tree has.
uint64_t MostColumnLeaves(absl::Span<const FeatureBins> bins);
// The most trees.
uint64_t MostColumnTrees(absl::Span<const FeatureBins> bins);

struct ColumnTree {
  Tree tree;
  std::vector<std::vector<double>> weights;  // weights[leaf][output]
};

// `weights[bin][output]`.
StatusOr<std::vector<ColumnTree>> ColumnTrees(const Schema& schema, uint32_t feature,
                                              const FeatureBins& bins,
                                              const std::vector<std::vector<double>>& weights);

// What a column adds to a row's scores, by the row's bin.
struct ColumnScores {
  std::vector<std::vector<double>> weights{};     // weights[bin][output]
  std::vector<std::vector<OutputNoise>> noise{};  // of these
  std::vector<double> terms{};                    // terms[bin] of a line (SharedNoise)

  ColumnScores(size_t bins, size_t outputs)
      : weights(bins, std::vector<double>(outputs)),
        noise(bins, std::vector<OutputNoise>(outputs)),
        terms(bins) {}
  void Add(const ColumnScores& more);
};

// Returns a tree of one leaf, with the scores of `constant`'s one bin.
TrainedTree ConstantTree(const ColumnScores& constant, const BoostTask& task);

// Adds the column's trees to `trees`, with the task's outputs in their leaves.
Status AddColumnTrees(const Schema& schema, uint32_t feature, const FeatureBins& bins,
                      const ColumnScores& scores, const BoostTask& task,
                      std::vector<TrainedTree>& trees);

}  // namespace coppice::trainers

#endif  // COPPICE_SERVER_TRAINERS_BOOSTING_COLUMN_TREES_H_
