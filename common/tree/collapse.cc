#include "common/tree/collapse.h"

#include <cstddef>
#include <cstdint>
#include <utility>

#include "common/base/status_macros.h"

namespace coppice {
namespace {

// Where the answers below a node come from, if they all come from one node.
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

  // Whether there is anything to draw together.
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
      // An ancestor above has its new place already; one at or below this node is this leaf.
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
  std::vector<LeafPrediction> kept_;  // from left to right, as leaves are numbered
};

}  // namespace

absl::StatusOr<CollapsedTree> Collapse(const Tree& tree, const std::vector<LeafPrediction>& leaves,
                                       const Schema& schema) {
  if (leaves.size() != tree.num_leaves()) {
    return absl::InvalidArgumentError("a tree to collapse needs one prediction a leaf");
  }
  Collapser collapser(tree, leaves);
  if (!collapser.Shrinks()) return CollapsedTree{tree, leaves};
  collapser.Copy(0);
  COPPICE_ASSIGN_OR_RETURN(Tree collapsed, Tree::Create(collapser.TakeNodes(), schema));
  return CollapsedTree{std::move(collapsed), collapser.TakeLeaves()};
}

}  // namespace coppice
