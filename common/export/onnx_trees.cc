#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "common/export/model_parts.h"
#include "common/export/onnx_message.h"
#include "common/export/onnx_parts.h"

namespace coppice::formats::onnx {
namespace {

bool IsNumberByScores(const Model& model) {
  return model.schema().target() && model.leaf_kind() == LeafKind::kScores;
}

size_t NumOutputs(const Model& model) {
  return IsNumberByScores(model) ? 1 : model.schema().num_outputs();
}

// Returns what a leaf adds to each output.
std::vector<double> TermsOf(const Model& model, const LeafPrediction& leaf) {
  if (IsNumberByScores(model)) return {leaf.probabilities[1]};
  std::vector<double> terms = leaf.probabilities;
  if (model.leaf_kind() == LeafKind::kScores || model.leaf_kind() == LeafKind::kWeights) {
    return terms;
  }
  for (double& term : terms) term /= static_cast<double>(model.forest().size());
  return terms;
}

// The power of two whose multiples add up exactly in float32, which has 24 bits, whatever leaves
// are reached and in whichever order.
double StepOf(const Model& model) {
  std::vector<double> largest(NumOutputs(model));
  for (const std::vector<LeafPrediction>& leaves : model.leaves()) {
    std::vector<double> in_tree(largest.size());
    for (const LeafPrediction& leaf : leaves) {
      const std::vector<double> terms = TermsOf(model, leaf);
      for (size_t k = 0; k < terms.size(); ++k) {
        in_tree[k] = std::max(in_tree[k], std::abs(terms[k]));
      }
    }
    for (size_t k = 0; k < largest.size(); ++k) largest[k] += in_tree[k];
  }
  const double sum = *std::max_element(largest.begin(), largest.end());
  constexpr int kLeastExponent = -1000;  // smaller sums do not matter, and the step must not be 0
  return std::ldexp(1, std::max(sum > 0 ? std::ilogb(sum) : 0, kLeastExponent) - 22);
}

// Attributes of TreeEnsembleRegressor: columns with a row per node or per number of a leaf.
class Ensemble {
 public:
  Ensemble(const Model& model, size_t outputs, double step)
      : model_(model), outputs_(outputs), step_(step) {}

  void AddTree(size_t number) {
    const Tree& tree = model_.forest()[number];
    for (uint32_t i = 0; i < tree.nodes().size(); ++i) {
      AddNode(number, i, tree.nodes()[i]);
      if (tree.nodes()[i].kind == SplitKind::kLeaf) {
        AddLeaf(number, i, model_.leaves()[number][tree.first_leaf(i)]);
      }
    }
  }

  Operator ToOperator(const std::string& rows, const std::string& output) const {
    Operator op("TreeEnsembleRegressor", {rows}, output, "ai.onnx.ml");
    op.Ints("nodes_treeids", tree_)
        .Ints("nodes_nodeids", node_)
        .Ints("nodes_featureids", feature_)
        .Texts("nodes_modes", mode_)
        .Doubles("nodes_values_as_tensor", value_)
        .Ints("nodes_truenodeids", left_)
        .Ints("nodes_falsenodeids", right_)
        .Ints("nodes_missing_value_tracks_true", missing_left_)
        .Ints("target_treeids", leaf_tree_)
        .Ints("target_nodeids", leaf_node_)
        .Ints("target_ids", target_)
        .Doubles("target_weights_as_tensor", weight_)
        .Int("n_targets", static_cast<int64_t>(2 * outputs_ + (LeafDecides(model_) ? 1 : 0)))
        .Text("aggregate_function", "SUM")
        .Text("post_transform", "NONE");
    return op;
  }

 private:
  void AddNode(size_t tree, uint32_t number, const Node& node) {
    tree_.push_back(static_cast<int64_t>(tree));
    node_.push_back(number);
    feature_.push_back(node.feature);
    left_.push_back(node.left);
    right_.push_back(node.right);
    missing_left_.push_back(node.missing_left || node.kind == SplitKind::kMissing ? 1 : 0);
    value_.push_back(node.threshold);
    switch (node.kind) {
      case SplitKind::kLeaf:
        mode_.push_back("LEAF");
        break;
      case SplitKind::kCategory:
        mode_.push_back("BRANCH_EQ");
        break;
      case SplitKind::kMissing:  // no number is lower
        value_.back() = std::numeric_limits<double>::lowest();
        mode_.push_back("BRANCH_LT");
        break;
      case SplitKind::kNumeric:
        mode_.push_back("BRANCH_LT");
        break;
    }
  }

  void AddWeight(size_t tree, uint32_t node, size_t target, double weight) {
    leaf_tree_.push_back(static_cast<int64_t>(tree));
    leaf_node_.push_back(node);
    target_.push_back(static_cast<int64_t>(target));
    weight_.push_back(weight);
  }

  // Leaves out zeros except in the first column: every leaf must have a value.
  void AddLeaf(size_t tree, uint32_t node, const LeafPrediction& leaf) {
    const std::vector<double> terms = TermsOf(model_, leaf);
    for (size_t k = 0; k < terms.size(); ++k) {
      const double coarse = std::round(terms[k] / step_) * step_;
      const double fine = terms[k] - coarse;
      if (k == 0 || coarse != 0) AddWeight(tree, node, k, coarse);
      if (fine != 0) AddWeight(tree, node, outputs_ + k, fine);
    }
    if (LeafDecides(model_)) AddWeight(tree, node, 2 * outputs_, leaf.label);
  }

  const Model& model_;
  const size_t outputs_;
  const double step_;  // step of coarse parts
  std::vector<int64_t> tree_, node_, feature_, left_, right_, missing_left_;
  std::vector<std::string_view> mode_;
  std::vector<double> value_;
  std::vector<int64_t> leaf_tree_, leaf_node_, target_;
  std::vector<double> weight_;
};

}  // namespace

ForestSums AddForest(const Model& model, const std::string& rows, Graph& graph) {
  const size_t outputs = NumOutputs(model);
  Ensemble ensemble(model, outputs, StepOf(model));
  for (size_t tree = 0; tree < model.forest().size(); ++tree) ensemble.AddTree(tree);
  const std::string table = graph.Add(ensemble.ToOperator(rows, "forest"), "forest");

  // Returns columns of the table from `first` on, as doubles.
  const auto columns = [&](size_t first, size_t count, const std::string& name) {
    std::vector<int64_t> numbers(count);
    std::iota(numbers.begin(), numbers.end(), static_cast<int64_t>(first));
    const std::string indices = graph.Constant(name + "_columns", numbers);
    graph.Add(Operator("Gather", {table, indices}, name).Int("axis", 1), name);
    return AddCast(name, Element::kDouble, name + "_precise", graph);
  };
  ForestSums sums;
  sums.sums =
      graph.Add("Add", {columns(0, outputs, "coarse"), columns(outputs, outputs, "fine")}, "sums");
  if (LeafDecides(model)) sums.label = columns(2 * outputs, 1, "leaf_label");
  return sums;
}

}  // namespace coppice::formats::onnx
