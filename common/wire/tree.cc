#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/wire/field_error.h"
#include "common/wire/terms.h"

namespace coppice {
namespace {

// Uses the numbers of coppice.v1.SplitKind.
StatusOr<SplitKind> MakeSplitKind(uint8_t number) {
  switch (number) {
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
StatusOr<std::vector<Node>> MakeShape(const std::vector<uint8_t>& kinds) {
  if (kinds.empty()) return FieldError("kinds", StrCat("must be 1 to ", kMaxNodes, ", are 0"));
  std::vector<Node> nodes(kinds.size());
  std::vector<uint32_t> waiting;
  for (uint32_t i = 0; i < nodes.size(); ++i) {
    const StatusOr<SplitKind> kind = MakeSplitKind(kinds[i]);
    if (!kind.ok()) return InField(ElementName("kinds", i), kind.status());
    nodes[i].kind = *kind;
    if (i > 0 && nodes[i - 1].kind == SplitKind::kLeaf) {
      if (waiting.empty()) return FieldError("kinds", StrCat("complete a tree before ", i));
      nodes[waiting.back()].right = i;
      waiting.pop_back();
    }
    if (*kind == SplitKind::kLeaf) continue;
    nodes[i].left = i + 1;
    waiting.push_back(i);
  }
  if (!waiting.empty()) return FieldError("kinds", "end before the tree is complete");
  return nodes;
}

bool IsSplit(const Node& node) { return node.kind != SplitKind::kLeaf; }
bool IsNumeric(const Node& node) { return node.kind == SplitKind::kNumeric; }
bool IsCategory(const Node& node) { return node.kind == SplitKind::kCategory; }
bool SendsMissing(const Node& node) { return IsNumeric(node) || IsCategory(node); }

// Gives each node with `has` its value of `column`, in order, and frees the column. Their numbers
// must match.
template <typename Value, typename Set>
Status FillColumn(std::string_view name, std::vector<Value> column, bool (*has)(const Node&),
                  std::vector<Node>& nodes, Set set) {
  const auto wanted = std::count_if(nodes.begin(), nodes.end(), has);
  if (column.size() != static_cast<size_t>(wanted)) {
    return FieldError(
        name, StrCat("must be ", wanted, ", one a node that needs it, are ", column.size()));
  }
  auto value = column.begin();
  for (Node& node : nodes) {
    if (has(node)) set(node, *value++);
  }
  return OkStatus();
}

}  // namespace

StatusOr<Tree> MakeTree(TreeMessage message, const Schema& schema) {
  COPPICE_ASSIGN_OR_RETURN(std::vector<Node> nodes, MakeShape(message.kinds));
  message.kinds = {};
  COPPICE_RETURN_IF_ERROR(FillColumn("features", std::move(message.features), IsSplit, nodes,
                                     [](Node& node, uint32_t feature) { node.feature = feature; }));
  COPPICE_RETURN_IF_ERROR(
      FillColumn("thresholds", std::move(message.thresholds), IsNumeric, nodes,
                 [](Node& node, double threshold) { node.threshold = threshold; }));
  COPPICE_RETURN_IF_ERROR(
      FillColumn("categories", std::move(message.categories), IsCategory, nodes,
                 [](Node& node, uint32_t category) { node.threshold = category; }));
  COPPICE_RETURN_IF_ERROR(
      FillColumn("missing_left", std::move(message.missing_left), SendsMissing, nodes,
                 [](Node& node, bool missing_left) { node.missing_left = missing_left; }));
  COPPICE_ASSIGN_OR_RETURN(Tree tree, Tree::Create(std::move(nodes), schema));
  if (message.centres.empty() && message.half_range == 0) return tree;
  return tree.WithCentres(
      {.of_leaf = std::move(message.centres), .half_range = message.half_range});
}

StatusOr<Forest> MakeForest(ForestMessage message, const Schema& schema) {
  if (message.trees.empty()) {
    return FieldError("forest.trees", StrCat("must be 1 to ", kMaxTrees, ", are 0"));
  }
  Forest forest;
  forest.reserve(message.trees.size());
  for (TreeMessage& tree : message.trees) {
    StatusOr<Tree> made = MakeTree(std::move(tree), schema);
    if (!made.ok()) return InField(ElementName("forest.trees", forest.size()), made.status());
    forest.push_back(*std::move(made));
  }
  return forest;
}

StatusOr<Tree> ReadTree(std::string_view bytes, const Schema& schema) {
  COPPICE_ASSIGN_OR_RETURN(TreeMessage message, ReadFields<TreeMessage>(bytes));
  return MakeTree(std::move(message), schema);
}

StatusOr<Forest> ReadForest(std::string_view bytes, const Schema& schema) {
  StatusOr<ForestMessage> message = ReadFields<ForestMessage>(bytes);
  if (!message.ok()) return InField("forest", message.status());
  return MakeForest(*std::move(message), schema);
}

}  // namespace coppice
