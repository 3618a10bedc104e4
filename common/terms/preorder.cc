#include "common/terms/preorder.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"

namespace coppice {
namespace {

Status ColumnError(std::string_view column, std::string_view problem) {
  return InvalidArgumentError(StrCat(column, ": ", problem));
}

// Uses the numbers of coppice.v1.SplitKind.
StatusOr<SplitKind> ReadKind(int32_t kind) {
  switch (kind) {
    case 1:
      return SplitKind::kLeaf;
    case 2:
      return SplitKind::kNumeric;
    case 3:
      return SplitKind::kCategory;
    case 4:
      return SplitKind::kMissing;
    default:
      return InvalidArgumentError("must be set, to a split that this version knows");
  }
}

// Builds the nodes with kinds and children, which follow from preorder: the left child follows its
// parent, and after a leaf comes the right child of the innermost split that waits for one.
StatusOr<std::vector<Node>> ReadShape(const std::vector<int32_t>& kinds) {
  if (kinds.empty() || kinds.size() > kMaxNodes) {
    return ColumnError("kinds", StrCat("must be 1 to ", kMaxNodes, ", are ", kinds.size()));
  }
  std::vector<Node> nodes(kinds.size());
  std::vector<uint32_t> waiting;
  for (uint32_t i = 0; i < nodes.size(); ++i) {
    const StatusOr<SplitKind> kind = ReadKind(kinds[i]);
    if (!kind.ok()) {
      return ColumnError(StrCat("kinds[", i, "]"), kind.status().message());
    }
    nodes[i].kind = *kind;
    if (i > 0 && nodes[i - 1].kind == SplitKind::kLeaf) {
      if (waiting.empty()) return ColumnError("kinds", StrCat("complete a tree before ", i));
      nodes[waiting.back()].right = i;
      waiting.pop_back();
    }
    if (*kind == SplitKind::kLeaf) continue;
    nodes[i].left = i + 1;
    waiting.push_back(i);
  }
  if (!waiting.empty()) return ColumnError("kinds", "end before the tree is complete");
  return nodes;
}

bool IsSplit(const Node& node) { return node.kind != SplitKind::kLeaf; }
bool IsNumeric(const Node& node) { return node.kind == SplitKind::kNumeric; }
bool IsCategory(const Node& node) { return node.kind == SplitKind::kCategory; }
bool SendsMissing(const Node& node) { return IsNumeric(node) || IsCategory(node); }

// Gives each node with `has` its value of `column`, in order. Their numbers must match.
template <typename Column, typename Set>
Status ReadColumn(std::string_view name, const Column& column, bool (*has)(const Node&),
                  std::vector<Node>& nodes, Set set) {
  const auto wanted = std::count_if(nodes.begin(), nodes.end(), has);
  if (column.size() != static_cast<size_t>(wanted)) {
    return ColumnError(
        name, StrCat("must be ", wanted, ", one a node that needs it, are ", column.size()));
  }
  auto value = column.begin();
  for (Node& node : nodes) {
    if (has(node)) set(node, *value++);
  }
  return OkStatus();
}

}  // namespace

StatusOr<Tree> MakeTree(const PreorderTree& preorder, const Schema& schema) {
  COPPICE_ASSIGN_OR_RETURN(std::vector<Node> nodes, ReadShape(preorder.kinds));
  COPPICE_RETURN_IF_ERROR(ReadColumn("features", preorder.features, IsSplit, nodes,
                                     [](Node& node, uint32_t feature) { node.feature = feature; }));
  COPPICE_RETURN_IF_ERROR(
      ReadColumn("thresholds", preorder.thresholds, IsNumeric, nodes,
                 [](Node& node, double threshold) { node.threshold = threshold; }));
  COPPICE_RETURN_IF_ERROR(
      ReadColumn("categories", preorder.categories, IsCategory, nodes,
                 [](Node& node, uint32_t category) { node.threshold = category; }));
  COPPICE_RETURN_IF_ERROR(
      ReadColumn("missing_left", preorder.missing_left, SendsMissing, nodes,
                 [](Node& node, bool missing_left) { node.missing_left = missing_left; }));
  return Tree::Create(std::move(nodes), schema);
}

}  // namespace coppice
