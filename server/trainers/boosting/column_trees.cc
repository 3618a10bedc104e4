#include "server/trainers/boosting/column_trees.h"

#include <algorithm>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "server/trainers/core/noise_of_sums.h"

namespace coppice::trainers {
namespace {

using Weights = std::vector<std::vector<double>>;

class ColumnTreeBuilder {
 public:
  ColumnTreeBuilder(uint32_t feature, const FeatureBins& bins, const Weights& weights)
      : feature_(feature), bins_(bins), weights_(weights) {}

  StatusOr<ColumnTree> Numeric(const Schema& schema) {
    const uint32_t root = AskIfMissing(weights_[bins_.missing()]);
    nodes_[root].right = Between(0, bins_.ordinary());
    return Finish(schema);
  }

  // Makes a tree of the categories from `first` to `end`. The first tree has the weight of all
  // other values; the trees after it hold differences from that.
  StatusOr<ColumnTree> Categories(uint32_t first, uint32_t end, const Schema& schema) {
    const std::vector<double>& other = weights_[bins_.known];
    const std::vector<double> nothing(other.size());
    uint32_t parent = AskIfMissing(first == 0 ? weights_[bins_.missing()] : nothing);
    for (uint32_t category = first; category < end; ++category) {
      std::vector<double> weight = weights_[category];
      for (size_t i = 0; first > 0 && i < weight.size(); ++i) weight[i] -= other[i];
      const uint32_t question = Ask(SplitKind::kCategory, category);
      nodes_[parent].right = question;
      nodes_[question].left = Leaf(std::move(weight));
      parent = question;
    }
    nodes_[parent].right = Leaf(first == 0 ? other : nothing);
    return Finish(schema);
  }

 private:
  uint32_t Ask(SplitKind kind, double threshold) {
    nodes_.push_back({.kind = kind, .feature = feature_, .threshold = threshold});
    return static_cast<uint32_t>(nodes_.size() - 1);
  }
  uint32_t AskIfMissing(std::vector<double> weight) {
    const uint32_t root = Ask(SplitKind::kMissing, 0);
    nodes_[root].left = Leaf(std::move(weight));
    return root;
  }
  // Leaves must be made from left to right, in the order of their numbers.
  uint32_t Leaf(std::vector<double> weight) {
    nodes_.emplace_back();
    leaves_.push_back(std::move(weight));
    return static_cast<uint32_t>(nodes_.size() - 1);
  }
  uint32_t Between(uint32_t first, uint32_t end) {
    if (end - first == 1) return Leaf(weights_[first]);
    const uint32_t middle = first + (end - first) / 2;
    const uint32_t question = Ask(SplitKind::kNumeric, bins_.cuts[middle - 1]);
    const uint32_t left = Between(first, middle);
    const uint32_t right = Between(middle, end);
    nodes_[question].left = left;
    nodes_[question].right = right;
    return question;
  }
  StatusOr<ColumnTree> Finish(const Schema& schema) {
    COPPICE_ASSIGN_OR_RETURN(Tree tree, Tree::Create(std::move(nodes_), schema));
    return ColumnTree{.tree = std::move(tree), .weights = std::move(leaves_)};
  }

  uint32_t feature_;
  const FeatureBins& bins_;
  const Weights& weights_;
  std::vector<Node> nodes_;
  Weights leaves_;
};

}  // namespace

StatusOr<std::vector<ColumnTree>> ColumnTrees(const Schema& schema, uint32_t feature,
                                              const FeatureBins& bins, const Weights& weights) {
  std::vector<ColumnTree> trees;
  if (bins.type == FeatureType::kNumeric) {
    COPPICE_ASSIGN_OR_RETURN(ColumnTree tree,
                             ColumnTreeBuilder(feature, bins, weights).Numeric(schema));
    trees.push_back(std::move(tree));
    return trees;
  }
  uint32_t first = 0;
  do {
    const uint32_t end = std::min(first + kCategoriesOfATree, bins.known);
    COPPICE_ASSIGN_OR_RETURN(
        ColumnTree tree, ColumnTreeBuilder(feature, bins, weights).Categories(first, end, schema));
    trees.push_back(std::move(tree));
    first = end;
  } while (first < bins.known);
  return trees;
}

namespace {

// Puts a bin's numbers side by side: all of them add up over a column's trees.
std::vector<double> Pack(const ColumnScores& scores, size_t bin) {
  std::vector<double> numbers = scores.weights[bin];
  for (const OutputNoise& noise : scores.noise[bin]) {
    numbers.push_back(noise.mean);
    numbers.push_back(noise.variance);
  }
  numbers.push_back(scores.terms[bin]);
  return numbers;
}

LeafPrediction Unpack(absl::Span<const double> numbers, const BoostTask& task, uint32_t node) {
  const size_t outputs = numbers.size() / 3;
  std::vector<OutputNoise> noise;
  for (size_t i = outputs; i + 1 < numbers.size(); i += 2) {
    noise.push_back({.mean = numbers[i], .variance = numbers[i + 1]});
  }
  LeafPrediction leaf =
      ScoreLeaf(task.Outputs(numbers.first(outputs)), task.OutputsNoise(noise), node);
  leaf.term = numbers.back();
  return leaf;
}

}  // namespace

uint64_t MostColumnTrees(absl::Span<const FeatureBins> bins) {
  uint64_t trees = 0;
  for (const FeatureBins& column : bins) trees += column.known / kCategoriesOfATree + 1;
  return trees;
}

uint64_t MostColumnLeaves(absl::Span<const FeatureBins> bins) {
  uint64_t leaves = 2 * MostColumnTrees(bins);
  for (const FeatureBins& column : bins) leaves += column.size();
  return leaves;
}

void ColumnScores::Add(const ColumnScores& more) {
  for (size_t bin = 0; bin < weights.size(); ++bin) {
    for (size_t output = 0; output < weights[bin].size(); ++output) {
      weights[bin][output] += more.weights[bin][output];
    }
    AddNoise(more.noise[bin], noise[bin]);
    terms[bin] += more.terms[bin];
  }
}

TrainedTree ConstantTree(const ColumnScores& constant, const BoostTask& task) {
  return {.leaves = {Unpack(Pack(constant, 0), task, /*node=*/0)}};
}

Status AddColumnTrees(const Schema& schema, uint32_t feature, const FeatureBins& bins,
                      const ColumnScores& scores, const BoostTask& task,
                      std::vector<TrainedTree>& trees) {
  Weights packed;
  for (size_t bin = 0; bin < scores.weights.size(); ++bin) packed.push_back(Pack(scores, bin));
  COPPICE_ASSIGN_OR_RETURN(std::vector<ColumnTree> of_column,
                           ColumnTrees(schema, feature, bins, packed));
  for (ColumnTree& tree : of_column) {
    TrainedTree& trained = trees.emplace_back();
    for (uint32_t leaf = 0; leaf < tree.weights.size(); ++leaf) {
      trained.leaves.push_back(Unpack(tree.weights[leaf], task, tree.tree.leaf_node(leaf)));
    }
    trained.tree = std::move(tree.tree);
  }
  return OkStatus();
}

}  // namespace coppice::trainers
