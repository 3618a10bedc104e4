// Models that no trainer makes: every kind of split and leaf, cuts beyond bounds and between whole
// numbers, trees of one leaf and of a long row of splits, leaves without any information.

#ifndef COPPICE_TESTS_RUNTIMES_RANDOM_MODEL_H_
#define COPPICE_TESTS_RUNTIMES_RANDOM_MODEL_H_

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/model/model.h"
#include "common/schema/derived.h"

namespace coppice::testing {

struct RandomModelOptions {
  LeafKind kind = LeafKind::kScores;
  uint32_t trees = 20;
  uint32_t max_leaves = 30;
  bool chain = false;  // each split's right side is the next split
  bool derived = false;
  double scale = 1;  // of scores and weights
  uint64_t seed = 1;
};

class RandomModelMaker {
 public:
  RandomModelMaker(const Schema& schema, const RandomModelOptions& options)
      : schema_(schema), options_(options), engine_(options.seed) {}

  StatusOr<Model> Make() {
    std::vector<DerivedFeature> derived;
    if (options_.derived) {
      derived = {{{.feature = 0}, {.feature = 1}},
                 {{.feature = 0}, {.feature = 1, .minus = true}},
                 {{.feature = 0, .minus = true}, {.feature = 2}, {.feature = 3, .minus = true}}};
    }
    tree_schema_ = std::make_unique<Schema>(*ExtendSchema(schema_, derived));
    Forest forest;
    std::vector<std::vector<LeafPrediction>> leaves;
    for (uint32_t t = 0; t < options_.trees; ++t) {
      const StatusOr<Tree> tree = Tree::Create(RandomNodes(), *tree_schema_);
      if (!tree.ok()) return tree.status();
      leaves.emplace_back();
      for (uint32_t l = 0; l < tree->num_leaves(); ++l) leaves.back().push_back(Leaf(*tree, l));
      forest.push_back(*tree);
    }
    return Model::Create(schema_, std::move(forest), std::move(leaves), Certificate{},
                         options_.kind, std::move(derived));
  }

 private:
  double Unit() { return std::uniform_real_distribution<>(0, 1)(engine_); }
  size_t Below(size_t bound) {
    return std::uniform_int_distribution<size_t>(0, bound - 1)(engine_);
  }

  std::vector<Node> RandomNodes() {
    const size_t splits = options_.chain ? options_.max_leaves - 1 : Below(options_.max_leaves);
    std::vector<Node> nodes(1);
    std::vector<uint32_t> open = {0};
    for (size_t i = 0; i < splits; ++i) {
      const size_t which = options_.chain ? open.size() - 1 : Below(open.size());
      const uint32_t at = open[which];
      open.erase(open.begin() + static_cast<std::ptrdiff_t>(which));
      nodes[at] = Split();
      for (uint32_t* child : {&nodes[at].left, &nodes[at].right}) {
        *child = static_cast<uint32_t>(nodes.size() + (child == &nodes[at].right ? 1 : 0));
        open.push_back(*child);
      }
      nodes.resize(nodes.size() + 2);
    }
    return nodes;
  }

  Node Split() {
    Node node;
    node.feature = static_cast<uint32_t>(Below(tree_schema_->num_features()));
    if (Unit() < 0.15) {
      node.kind = SplitKind::kMissing;
      return node;
    }
    node.missing_left = Unit() < 0.5;
    const Feature& feature = tree_schema_->features()[node.feature];
    if (feature.type == FeatureType::kCategorical) {
      node.kind = SplitKind::kCategory;
      node.threshold = static_cast<double>(Below(feature.values.size() + 1));
      return node;
    }
    node.kind = SplitKind::kNumeric;
    node.threshold = feature.min + (1.2 * Unit() - 0.1) * (feature.max - feature.min);
    const double way = Unit();
    if (way < 0.2) node.threshold = std::round(node.threshold);
    if (way > 0.9) node.threshold = way > 0.95 ? feature.max : feature.min;
    return node;
  }

  LeafPrediction Leaf(const Tree& tree, uint32_t leaf) {
    const uint32_t outputs = schema_.num_outputs();
    LeafPrediction prediction;
    prediction.standard_error = std::numeric_limits<double>::infinity();
    prediction.label = static_cast<uint32_t>(Below(outputs));
    prediction.source_node = tree.leaf_node(leaf);
    double sum = 0;
    for (uint32_t k = 0; k < outputs; ++k) {
      const bool is_zero = Unit() < 0.1;
      const double value = is_zero ? 0 : NumberOf(options_.kind);
      prediction.probabilities.push_back(value);
      sum += value;
    }
    if (options_.kind == LeafKind::kAdditive) prediction.probabilities[0] += 1 - sum;
    if (options_.kind == LeafKind::kProbabilities) {
      for (double& p : prediction.probabilities) p = sum > 0 ? p / sum : 1.0 / outputs;
    }
    return prediction;
  }

  double NumberOf(LeafKind kind) {
    const bool number = schema_.target().has_value();
    switch (kind) {
      case LeafKind::kProbabilities:
        return Unit();
      case LeafKind::kAdditive:
        return 3 * (Unit() - 0.4);
      case LeafKind::kWeights:
        return options_.scale * (Unit() - 0.3);
      case LeafKind::kScores:
        return number ? (Unit() - 0.4) / 4 : options_.scale * (Unit() - 0.5);
    }
    return 0;
  }

  const Schema& schema_;
  const RandomModelOptions options_;
  std::mt19937_64 engine_;
  std::unique_ptr<Schema> tree_schema_;
};

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_RUNTIMES_RANDOM_MODEL_H_
