#include <algorithm>
#include <utility>
#include <vector>

#include "common/base/status_macros.h"
#include "common/wire/convert.h"
#include "common/wire/field_error.h"

namespace coppice {
namespace {

v1::SplitKind ToProto(SplitKind kind) {
  switch (kind) {
    case SplitKind::kLeaf:
      return v1::SPLIT_KIND_LEAF;
    case SplitKind::kNumeric:
      return v1::SPLIT_KIND_NUMERIC;
    case SplitKind::kCategory:
      return v1::SPLIT_KIND_CATEGORY;
    case SplitKind::kMissing:
      return v1::SPLIT_KIND_MISSING;
  }
  return v1::SPLIT_KIND_UNSPECIFIED;
}

absl::StatusOr<SplitKind> ReadKind(int kind) {
  switch (kind) {
    case v1::SPLIT_KIND_LEAF:
      return SplitKind::kLeaf;
    case v1::SPLIT_KIND_NUMERIC:
      return SplitKind::kNumeric;
    case v1::SPLIT_KIND_CATEGORY:
      return SplitKind::kCategory;
    case v1::SPLIT_KIND_MISSING:
      return SplitKind::kMissing;
    default:
      return absl::InvalidArgumentError("must be set, to a split that this version knows");
  }
}

using Kinds = google::protobuf::RepeatedField<int>;

// The nodes with their kinds and children, which preorder gives: the left child follows its parent,
// and after a leaf comes the right child of the innermost split that waits for one.
absl::StatusOr<std::vector<Node>> ReadShape(const Kinds& kinds) {
  if (kinds.empty() || kinds.size() > static_cast<int>(kMaxNodes)) {
    return FieldError("kinds", absl::StrCat("must be 1 to ", kMaxNodes, ", are ", kinds.size()));
  }
  std::vector<Node> nodes(kinds.size());
  std::vector<uint32_t> waiting;
  for (uint32_t i = 0; i < nodes.size(); ++i) {
    const absl::StatusOr<SplitKind> kind = ReadKind(kinds[static_cast<int>(i)]);
    if (!kind.ok()) return InField(ElementName("kinds", i), kind.status());
    nodes[i].kind = *kind;
    if (i > 0 && nodes[i - 1].kind == SplitKind::kLeaf) {
      if (waiting.empty()) return FieldError("kinds", absl::StrCat("complete a tree before ", i));
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

// Gives each node that `has` one its value of `column`, in order. The column must have as many.
template <typename Column, typename Set>
absl::Status ReadColumn(absl::string_view name, const Column& column, bool (*has)(const Node&),
                        std::vector<Node>& nodes, Set set) {
  const auto wanted = std::count_if(nodes.begin(), nodes.end(), has);
  if (column.size() != wanted) {
    return FieldError(
        name, absl::StrCat("must be ", wanted, ", one a node that needs it, are ", column.size()));
  }
  auto value = column.begin();
  for (Node& node : nodes) {
    if (has(node)) set(node, *value++);
  }
  return absl::OkStatus();
}

}  // namespace

v1::Tree ToProto(const Tree& tree) {
  v1::Tree proto;
  for (const Node& node : tree.nodes()) {
    proto.add_kinds(ToProto(node.kind));
    if (IsSplit(node)) proto.add_features(node.feature);
    if (IsNumeric(node)) proto.add_thresholds(node.threshold);
    if (IsCategory(node)) proto.add_categories(static_cast<uint32_t>(node.threshold));
    if (SendsMissing(node)) proto.add_missing_left(node.missing_left);
  }
  return proto;
}

absl::StatusOr<Tree> FromProto(const v1::Tree& proto, const Schema& schema) {
  COPPICE_ASSIGN_OR_RETURN(std::vector<Node> nodes, ReadShape(proto.kinds()));
  COPPICE_RETURN_IF_ERROR(ReadColumn("features", proto.features(), IsSplit, nodes,
                                     [](Node& node, uint32_t feature) { node.feature = feature; }));
  COPPICE_RETURN_IF_ERROR(
      ReadColumn("thresholds", proto.thresholds(), IsNumeric, nodes,
                 [](Node& node, double threshold) { node.threshold = threshold; }));
  COPPICE_RETURN_IF_ERROR(
      ReadColumn("categories", proto.categories(), IsCategory, nodes,
                 [](Node& node, uint32_t category) { node.threshold = category; }));
  COPPICE_RETURN_IF_ERROR(
      ReadColumn("missing_left", proto.missing_left(), SendsMissing, nodes,
                 [](Node& node, bool missing_left) { node.missing_left = missing_left; }));
  return Tree::Create(std::move(nodes), schema);
}

v1::Forest ToProto(const Forest& forest) {
  v1::Forest proto;
  for (const Tree& tree : forest) *proto.add_trees() = ToProto(tree);
  return proto;
}

absl::StatusOr<Forest> FromProto(const v1::Forest& proto, const Schema& schema) {
  const int size = proto.trees_size();
  if (size < 1 || size > static_cast<int>(kMaxTrees)) {
    return FieldError("forest.trees", absl::StrCat("must be 1 to ", kMaxTrees, ", are ", size));
  }
  Forest forest;
  forest.reserve(size);
  for (const v1::Tree& tree_proto : proto.trees()) {
    absl::StatusOr<Tree> tree = FromProto(tree_proto, schema);
    if (!tree.ok()) return InField(ElementName("forest.trees", forest.size()), tree.status());
    forest.push_back(*std::move(tree));
  }
  return forest;
}

}  // namespace coppice
