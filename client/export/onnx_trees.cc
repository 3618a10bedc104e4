#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "client/export/model_parts.h"
#include "client/export/onnx_message.h"
#include "client/export/onnx_parts.h"

namespace coppice::formats::onnx {
namespace {

// The attributes of TreeEnsembleRegressor: a column each, a row per node or per number of a leaf.
class Ensemble {
 public:
  explicit Ensemble(const Model& model) : model_(model) {}

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
        .Int("n_targets", NumTargets())
        .Text("aggregate_function", "SUM")
        .Text("post_transform", "NONE");
    return op;
  }

 private:
  bool IsNumberByScores() const {
    return model_.schema().target() && model_.leaf_kind() == LeafKind::kScores;
  }

  int64_t NumTargets() const {
    if (IsNumberByScores()) return 1;
    return model_.schema().num_outputs() + (LeafDecides(model_) ? 1 : 0);
  }

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
      case SplitKind::kMissing:  // no number is below the lowest
        value_.back() = std::numeric_limits<double>::lowest();
        mode_.push_back("BRANCH_LT");
        break;
      case SplitKind::kNumeric:
        mode_.push_back("BRANCH_LT");
        break;
    }
  }

  void AddWeight(size_t tree, uint32_t node, int64_t target, double weight) {
    leaf_tree_.push_back(static_cast<int64_t>(tree));
    leaf_node_.push_back(node);
    target_.push_back(target);
    weight_.push_back(weight);
  }

  // Zeros are left out but for the first output's: a leaf has to say something.
  void AddLeaf(size_t tree, uint32_t node, const LeafPrediction& leaf) {
    if (IsNumberByScores()) return AddWeight(tree, node, 0, leaf.probabilities[1]);
    const bool is_mean =
        model_.leaf_kind() != LeafKind::kScores && model_.leaf_kind() != LeafKind::kWeights;
    const double parts = is_mean ? static_cast<double>(model_.forest().size()) : 1;
    const size_t outputs = leaf.probabilities.size();
    for (size_t k = 0; k < outputs; ++k) {
      const double weight = leaf.probabilities[k] / parts;
      if (k == 0 || weight != 0) AddWeight(tree, node, static_cast<int64_t>(k), weight);
    }
    if (LeafDecides(model_)) AddWeight(tree, node, static_cast<int64_t>(outputs), leaf.label);
  }

  const Model& model_;
  std::vector<int64_t> tree_, node_, feature_, left_, right_, missing_left_;
  std::vector<absl::string_view> mode_;
  std::vector<double> value_;
  std::vector<int64_t> leaf_tree_, leaf_node_, target_;
  std::vector<double> weight_;
};

}  // namespace

std::string AddTreeSums(const Model& model, const std::string& rows, Graph& graph) {
  Ensemble ensemble(model);
  for (size_t tree = 0; tree < model.forest().size(); ++tree) ensemble.AddTree(tree);
  return graph.Add(ensemble.ToOperator(rows, "sums"), "sums");
}

}  // namespace coppice::formats::onnx
