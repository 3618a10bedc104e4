#include "common/model/model.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"

namespace coppice {
namespace {

// Rounding of sums of doubles: a few parts in 1e16 per class.
constexpr double kSumTolerance = 1e-9;
// A larger term of a mean says nothing about a probability; a weight is a count of rows.
constexpr double kMaxTerm = 1e9;
constexpr double kMaxWeight = 1e15;

Status CheckNumbers(const std::vector<double>& numbers, LeafKind kind) {
  const auto all = [&](auto is_good) {
    return std::all_of(numbers.begin(), numbers.end(), is_good);
  };
  switch (kind) {
    case LeafKind::kWeights:
      if (all([](double x) { return std::abs(x) <= kMaxWeight; })) return OkStatus();
      return InvalidArgumentError("weights must be finite");
    case LeafKind::kScores:
      if (all([](double x) { return std::abs(x) <= kMaxTerm; })) return OkStatus();
      return InvalidArgumentError("scores must be finite");
    case LeafKind::kAdditive:
      if (all([](double x) { return std::abs(x) <= kMaxTerm; })) break;
      return InvalidArgumentError("terms of probabilities must be finite");
    case LeafKind::kProbabilities:
      if (all([](double x) { return x >= 0 && x <= 1; })) break;
      return InvalidArgumentError("probabilities must be in [0, 1]");
  }
  const double size = std::accumulate(numbers.begin(), numbers.end(), 1.0,
                                      [](double sum, double x) { return sum + std::abs(x); });
  const double sum = std::accumulate(numbers.begin(), numbers.end(), 0.0);
  if (std::abs(sum - 1) <= kSumTolerance * size) return OkStatus();
  return InvalidArgumentError("probabilities must add up to 1");
}

Status CheckNoise(const LeafPrediction& leaf, uint32_t num_outputs, LeafKind kind) {
  const bool has_none = leaf.noise.empty() && leaf.term == 0;
  if (has_none) return OkStatus();
  if (kind != LeafKind::kScores) {
    return InvalidArgumentError("noise is of scores, which these leaves do not hold");
  }
  if (leaf.noise.size() != num_outputs) {
    return InvalidArgumentError(StrCat("needs the noise of ", num_outputs, " outputs"));
  }
  for (const OutputNoise& noise : leaf.noise) {
    if (!std::isfinite(noise.mean) || !std::isfinite(noise.variance)) {
      return InvalidArgumentError("noise must be finite");
    }
  }
  if (std::isfinite(leaf.term)) return OkStatus();
  return InvalidArgumentError("a term of shared noise must be finite");
}

Status CheckSharedNoise(const SharedNoise& noise, size_t trees, LeafKind kind) {
  if (noise == SharedNoise{}) return OkStatus();
  if (kind != LeafKind::kScores) {
    return InvalidArgumentError("shared noise is of scores, which the leaves do not hold");
  }
  for (size_t i = 0; i < noise.trees.size(); ++i) {
    if (noise.trees[i] >= trees || (i > 0 && noise.trees[i] <= noise.trees[i - 1])) {
      return InvalidArgumentError("shared noise must name trees in increasing order");
    }
  }
  if (noise.factor.size() != noise.trees.size() * noise.trees.size()) {
    return InvalidArgumentError("shared noise needs a square of numbers, one row a tree");
  }
  if (std::all_of(noise.factor.begin(), noise.factor.end(),
                  [](double x) { return std::isfinite(x); })) {
    return OkStatus();
  }
  return InvalidArgumentError("shared noise must be finite");
}

Status CheckLeaf(const Tree& tree, uint32_t leaf, const LeafPrediction& prediction,
                 uint32_t num_outputs, LeafKind kind) {
  if (prediction.probabilities.size() != num_outputs) {
    return InvalidArgumentError(StrCat("needs ", num_outputs, " probabilities"));
  }
  COPPICE_RETURN_IF_ERROR(CheckNumbers(prediction.probabilities, kind));
  if (!(prediction.standard_error >= 0)) {
    return InvalidArgumentError("standard_error must be at least 0");
  }
  if (prediction.label >= num_outputs) {
    return InvalidArgumentError(StrCat("label must be below ", num_outputs));
  }
  COPPICE_RETURN_IF_ERROR(CheckNoise(prediction, num_outputs, kind));
  const uint32_t source = prediction.source_node;
  if (source >= tree.nodes().size() || tree.first_leaf(source) > leaf ||
      tree.end_leaf(source) <= leaf) {
    return InvalidArgumentError("source_node must be the leaf's node or an ancestor of it");
  }
  return OkStatus();
}

Status CheckTree(const Schema& schema, const Tree& tree, const std::vector<LeafPrediction>& leaves,
                 LeafKind kind) {
  // The tree was checked, but not necessarily with this schema.
  const absl::Span<const Node> nodes = tree.nodes();
  COPPICE_RETURN_IF_ERROR(Tree::Create({nodes.begin(), nodes.end()}, schema).status());
  if (leaves.size() != tree.num_leaves()) {
    return InvalidArgumentError(
        StrCat("needs ", tree.num_leaves(), " leaf predictions, not ", leaves.size()));
  }
  for (uint32_t l = 0; l < leaves.size(); ++l) {
    const Status status = CheckLeaf(tree, l, leaves[l], schema.num_outputs(), kind);
    if (!status.ok()) {
      return InvalidArgumentError(StrCat("leaf ", l, ": ", status.message()));
    }
  }
  return OkStatus();
}

// Marks a node below which answers come from several nodes.
constexpr uint32_t kSeveral = ~0u;

std::vector<uint32_t> SourcesBelow(const Tree& tree, const std::vector<LeafPrediction>& leaves) {
  std::vector<uint32_t> sources(tree.nodes().size());
  for (size_t i = sources.size(); i-- > 0;) {  // children come after their parent
    const Node& node = tree.nodes()[i];
    if (node.kind == SplitKind::kLeaf) {
      sources[i] = leaves[tree.first_leaf(static_cast<uint32_t>(i))].source_node;
    } else {
      sources[i] = sources[node.left] == sources[node.right] ? sources[node.left] : kSeveral;
    }
  }
  return sources;
}

class Collapser {
 public:
  Collapser(const Tree& tree, const std::vector<LeafPrediction>& leaves)
      : tree_(tree), leaves_(leaves), sources_(SourcesBelow(tree, leaves)) {}

  // Whether any node collapses.
  bool Shrinks() const {
    for (size_t i = 0; i < sources_.size(); ++i) {
      if (tree_.nodes()[i].kind != SplitKind::kLeaf && sources_[i] != kSeveral) return true;
    }
    return false;
  }

  // Copies the subtree at `node` to the end; returns its new position.
  uint32_t Copy(uint32_t node) {
    const auto at = static_cast<uint32_t>(nodes_.size());
    moved_to_.resize(tree_.nodes().size());
    moved_to_[node] = at;
    if (sources_[node] != kSeveral) {
      nodes_.emplace_back();
      kept_.push_back(leaves_[tree_.first_leaf(node)]);
      // An ancestor above has its new place already; a source at or below this node is this leaf.
      const bool above = tree_.node_depth(sources_[node]) < tree_.node_depth(node);
      kept_.back().source_node = above ? moved_to_[sources_[node]] : at;
      return at;
    }
    nodes_.push_back(tree_.nodes()[node]);
    const uint32_t left = Copy(tree_.nodes()[node].left);
    const uint32_t right = Copy(tree_.nodes()[node].right);
    nodes_[at].left = left;
    nodes_[at].right = right;
    return at;
  }

  std::vector<Node> TakeNodes() { return std::move(nodes_); }
  std::vector<LeafPrediction> TakeLeaves() { return std::move(kept_); }

 private:
  const Tree& tree_;
  const std::vector<LeafPrediction>& leaves_;
  const std::vector<uint32_t> sources_;
  std::vector<Node> nodes_;
  std::vector<uint32_t> moved_to_;
  std::vector<LeafPrediction> kept_;  // from left to right, in leaf order
};

}  // namespace

// By tree: whether none of its leaves has noise although other trees' leaves do.
static std::vector<bool> FindPublicTrees(const std::vector<std::vector<LeafPrediction>>& leaves) {
  std::vector<bool> is_public;
  for (const std::vector<LeafPrediction>& of_tree : leaves) {
    is_public.push_back(std::all_of(of_tree.begin(), of_tree.end(),
                                    [](const LeafPrediction& leaf) { return leaf.noise.empty(); }));
  }
  const bool all = std::find(is_public.begin(), is_public.end(), false) == is_public.end();
  if (all) is_public.assign(is_public.size(), false);
  return is_public;
}

Model::Model(Schema schema, Schema tree_schema, Forest forest,
             std::vector<std::vector<LeafPrediction>> leaves, Certificate certificate,
             LeafKind leaf_kind, std::vector<DerivedFeature> derived, SharedNoise shared_noise)
    : schema_(std::move(schema)),
      tree_schema_(std::move(tree_schema)),
      forest_(std::move(forest)),
      leaves_(std::move(leaves)),
      certificate_(std::move(certificate)),
      leaf_kind_(leaf_kind),
      derived_(std::move(derived)),
      shared_noise_(std::move(shared_noise)),
      is_public_(FindPublicTrees(leaves_)) {}

StatusOr<Model> Model::Create(Schema schema, Forest forest,
                              std::vector<std::vector<LeafPrediction>> leaves,
                              Certificate certificate, LeafKind leaf_kind,
                              std::vector<DerivedFeature> derived, SharedNoise shared_noise) {
  if (forest.empty()) return InvalidArgumentError("a model needs at least one tree");
  if (leaves.size() != forest.size()) {
    return InvalidArgumentError(StrCat(
        "a model of ", forest.size(), " trees needs as many lists of leaves, not ", leaves.size()));
  }
  COPPICE_RETURN_IF_ERROR(CheckCertificate(certificate));
  COPPICE_ASSIGN_OR_RETURN(Schema tree_schema, ExtendSchema(schema, derived));
  for (size_t t = 0; t < forest.size(); ++t) {
    const Status status = CheckTree(tree_schema, forest[t], leaves[t], leaf_kind);
    if (!status.ok()) {
      return InvalidArgumentError(StrCat("tree ", t, ": ", status.message()));
    }
  }
  COPPICE_RETURN_IF_ERROR(CheckSharedNoise(shared_noise, forest.size(), leaf_kind));
  return Model(std::move(schema), std::move(tree_schema), std::move(forest), std::move(leaves),
               std::move(certificate), leaf_kind, std::move(derived), std::move(shared_noise));
}

StatusOr<CollapsedTree> Collapse(const Tree& tree, const std::vector<LeafPrediction>& leaves,
                                 const Schema& schema) {
  if (leaves.size() != tree.num_leaves()) {
    return InvalidArgumentError("a tree to collapse needs one prediction a leaf");
  }
  Collapser collapser(tree, leaves);
  if (!collapser.Shrinks()) return CollapsedTree{tree, leaves};
  collapser.Copy(0);
  COPPICE_ASSIGN_OR_RETURN(Tree collapsed, Tree::Create(collapser.TakeNodes(), schema));
  return CollapsedTree{std::move(collapsed), collapser.TakeLeaves()};
}

}  // namespace coppice
