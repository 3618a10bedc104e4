#include "common/tree/consistent_leaves.h"

#include <algorithm>

namespace coppice {

std::vector<uint32_t> ConsistentLeaves(const Tree& tree, const Schema& schema, RowView row) {
  const absl::Span<const Node> nodes = tree.nodes();
  std::vector<uint32_t> leaves;
  std::vector<uint32_t> to_visit = {0};
  while (!to_visit.empty()) {
    const uint32_t at = to_visit.back();
    to_visit.pop_back();
    const Node& node = nodes[at];
    if (node.kind == SplitKind::kLeaf) {
      leaves.push_back(tree.first_leaf(at));
    } else if (schema.features()[node.feature].is_public) {
      to_visit.push_back(GoesLeft(node, row[node.feature]) ? node.left : node.right);
    } else {
      to_visit.push_back(node.right);
      to_visit.push_back(node.left);  // next, so that leaves come from left to right
    }
  }
  return leaves;
}

std::vector<uint32_t> PublicFeaturesOf(const Tree& tree, const Schema& schema) {
  std::vector<uint32_t> features;
  for (const Node& node : tree.nodes()) {
    if (node.kind != SplitKind::kLeaf && schema.features()[node.feature].is_public) {
      features.push_back(node.feature);
    }
  }
  std::sort(features.begin(), features.end());
  features.erase(std::unique(features.begin(), features.end()), features.end());
  return features;
}

}  // namespace coppice
