#include "common/model/tree.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"

namespace coppice {
namespace {

Status NodeError(size_t node, std::string_view problem) {
  return InvalidArgumentError(StrCat("tree node ", node, ": ", problem));
}

bool IsCategory(double code, const Feature& feature) {
  return code >= 0 && code <= feature.other() && code == std::floor(code);
}

// Checks what the split asks of its feature; CheckShape() checks the children.
Status CheckSplit(size_t i, const Node& node, const Schema& schema) {
  if (node.feature >= schema.num_features()) {
    return NodeError(i, StrCat("feature must be below ", schema.num_features()));
  }
  const Feature& feature = schema.features()[node.feature];
  switch (node.kind) {
    case SplitKind::kNumeric:
      if (feature.type != FeatureType::kNumeric) return NodeError(i, "feature is not numeric");
      if (!std::isfinite(node.threshold)) return NodeError(i, "threshold must be finite");
      return OkStatus();
    case SplitKind::kCategory:
      if (feature.type != FeatureType::kCategorical) {
        return NodeError(i, "feature is not categorical");
      }
      if (!IsCategory(node.threshold, feature)) {
        return NodeError(i, StrCat("category must be a number from 0 to ", feature.values.size()));
      }
      return OkStatus();
    case SplitKind::kMissing:
      // Every tree has one spelling: a field without a meaning must not carry a value.
      if (node.missing_left || node.threshold != 0) {
        return NodeError(i, "a missing split has no threshold and no missing_left");
      }
      return OkStatus();
    case SplitKind::kLeaf:
      break;
  }
  return NodeError(i, "unknown kind of split");
}

Status CheckNodes(absl::Span<const Node> nodes, const Schema& schema) {
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].kind != SplitKind::kLeaf) {
      COPPICE_RETURN_IF_ERROR(CheckSplit(i, nodes[i], schema));
    } else if (nodes[i] != Node{}) {
      return NodeError(i, "a leaf has no split and no children");
    }
  }
  return OkStatus();
}

// Checks that children come after their parent (so there is no cycle) and every node except the
// root has one parent (so all are reachable).
Status CheckShape(absl::Span<const Node> nodes) {
  std::vector<uint32_t> parents(nodes.size(), kNoParent);
  std::vector<uint32_t> depths(nodes.size(), 0);
  for (uint32_t i = 0; i < nodes.size(); ++i) {
    if (i > 0 && parents[i] == kNoParent) return NodeError(i, "no parent before it");
    if (depths[i] > kMaxModelDepth) {
      return NodeError(i, StrCat("deeper than ", kMaxModelDepth));
    }
    if (nodes[i].kind == SplitKind::kLeaf) continue;
    for (const uint32_t child : {nodes[i].left, nodes[i].right}) {
      if (child <= i || child >= nodes.size()) {
        return NodeError(i, StrCat("child must be after it and below ", nodes.size()));
      }
      if (parents[child] != kNoParent) return NodeError(child, "more than one parent");
      parents[child] = i;
      depths[child] = depths[i] + 1;
    }
  }
  return OkStatus();
}

// Whether the nodes are in preorder already, as those of a message are: then they are not copied.
bool IsInPreorder(absl::Span<const Node> nodes) {
  std::vector<uint32_t> ends(nodes.size());  // past each node's subtree
  for (size_t i = nodes.size(); i-- > 0;) {
    const Node& node = nodes[i];
    if (node.kind == SplitKind::kLeaf) {
      ends[i] = static_cast<uint32_t>(i + 1);
    } else if (node.left == i + 1 && node.right == ends[node.left]) {
      ends[i] = ends[node.right];
    } else {
      return false;
    }
  }
  return true;
}

// Returns the same tree with its nodes in preorder.
std::vector<Node> InPreorder(absl::Span<const Node> nodes) {
  struct Waiting {
    uint32_t node;
    uint32_t right_of;  // new position of its parent, or kNoParent if that is known already
  };
  std::vector<Node> ordered;
  ordered.reserve(nodes.size());
  std::vector<Waiting> waiting = {{0, kNoParent}};
  while (!waiting.empty()) {
    const Waiting next = waiting.back();
    waiting.pop_back();
    const auto at = static_cast<uint32_t>(ordered.size());
    if (next.right_of != kNoParent) ordered[next.right_of].right = at;
    ordered.push_back(nodes[next.node]);
    if (ordered[at].kind == SplitKind::kLeaf) continue;
    ordered[at].left = at + 1;
    waiting.push_back({nodes[next.node].right, at});
    waiting.push_back({nodes[next.node].left, kNoParent});
  }
  return ordered;
}

}  // namespace

Tree Tree::SingleLeaf() {
  Tree tree;
  tree.nodes_ = {Node{}};
  tree.parents_ = {kNoParent};
  tree.depths_ = {0};
  tree.first_leaf_ = {0};
  tree.end_leaf_ = {1};
  tree.leaf_nodes_ = {0};
  return tree;
}

StatusOr<Tree> Tree::Create(std::vector<Node> nodes, const Schema& schema) {
  if (nodes.empty() || nodes.size() > kMaxNodes) {
    return InvalidArgumentError(
        StrCat("a tree must have 1 to ", kMaxNodes, " nodes, not ", nodes.size()));
  }
  COPPICE_RETURN_IF_ERROR(CheckNodes(nodes, schema));
  COPPICE_RETURN_IF_ERROR(CheckShape(nodes));
  Tree tree;
  tree.nodes_ = IsInPreorder(nodes) ? std::move(nodes) : InPreorder(nodes);
  tree.Index();
  return tree;
}

StatusOr<Tree> Tree::WithCentres(LeafCentres centres) const {
  if (centres.of_leaf.size() != num_leaves()) {
    return InvalidArgumentError(
        StrCat("centres: must be ", num_leaves(), ", one a leaf, are ", centres.of_leaf.size()));
  }
  for (size_t leaf = 0; leaf < centres.of_leaf.size(); ++leaf) {
    if (!std::isfinite(centres.of_leaf[leaf])) {
      return InvalidArgumentError(StrCat("centres[", leaf, "]: must be finite"));
    }
  }
  if (!std::isfinite(centres.half_range) || !(centres.half_range > 0)) {
    return InvalidArgumentError("half_range: must be finite and above 0");
  }
  Tree tree = *this;
  tree.centres_ = std::move(centres);
  return tree;
}

Tree Tree::WithoutCentres() const {
  Tree tree = *this;
  tree.centres_.reset();
  return tree;
}

Status Tree::CheckFits(const Schema& schema) const { return CheckNodes(nodes_, schema); }

void Tree::Index() {
  const size_t size = nodes_.size();
  parents_.assign(size, kNoParent);
  depths_.assign(size, 0);
  for (uint32_t i = 0; i < size; ++i) {
    if (nodes_[i].kind == SplitKind::kLeaf) continue;
    for (const uint32_t child : {nodes_[i].left, nodes_[i].right}) {
      parents_[child] = i;
      depths_[child] = depths_[i] + 1;
    }
  }
  max_depth_ = *std::max_element(depths_.begin(), depths_.end());

  // Counts leaves below each node, children first; then numbers them left to right, parents first.
  std::vector<uint32_t> leaves(size, 1);
  for (size_t i = size; i-- > 0;) {
    const Node& node = nodes_[i];
    if (node.kind != SplitKind::kLeaf) leaves[i] = leaves[node.left] + leaves[node.right];
  }
  first_leaf_.assign(size, 0);
  end_leaf_.assign(size, 0);
  leaf_nodes_.assign(leaves[0], 0);
  for (uint32_t i = 0; i < size; ++i) {
    const Node& node = nodes_[i];
    const uint32_t first = first_leaf_[i];
    end_leaf_[i] = first + leaves[i];
    if (node.kind == SplitKind::kLeaf) {
      leaf_nodes_[first] = i;
    } else {
      first_leaf_[node.left] = first;
      first_leaf_[node.right] = first + leaves[node.left];
    }
  }
}

uint32_t Tree::FindLeaf(RowView row) const {
  uint32_t i = 0;
  while (nodes_[i].kind != SplitKind::kLeaf) {
    i = GoesLeft(nodes_[i], row[nodes_[i].feature]) ? nodes_[i].left : nodes_[i].right;
  }
  return first_leaf_[i];
}

std::vector<uint32_t> Tree::Path(RowView row) const {
  std::vector<uint32_t> path = {0};
  while (nodes_[path.back()].kind != SplitKind::kLeaf) {
    const Node& node = nodes_[path.back()];
    path.push_back(GoesLeft(node, row[node.feature]) ? node.left : node.right);
  }
  return path;
}

}  // namespace coppice
