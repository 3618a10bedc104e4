#include <utility>

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

absl::StatusOr<SplitKind> FromProto(v1::SplitKind proto) {
  switch (proto) {
    case v1::SPLIT_KIND_LEAF:
      return SplitKind::kLeaf;
    case v1::SPLIT_KIND_NUMERIC:
      return SplitKind::kNumeric;
    case v1::SPLIT_KIND_CATEGORY:
      return SplitKind::kCategory;
    case v1::SPLIT_KIND_MISSING:
      return SplitKind::kMissing;
    default:
      return FieldError("kind", "must be set, to a split that this version knows");
  }
}

v1::Node ToProto(const Node& node) {
  v1::Node proto;
  proto.set_kind(ToProto(node.kind));
  proto.set_feature(node.feature);
  proto.set_threshold(node.threshold);
  proto.set_missing_left(node.missing_left);
  proto.set_left(node.left);
  proto.set_right(node.right);
  return proto;
}

absl::StatusOr<Node> FromProto(const v1::Node& proto) {
  const absl::StatusOr<SplitKind> kind = FromProto(proto.kind());
  if (!kind.ok()) return kind.status();
  return Node{.kind = *kind,
              .missing_left = proto.missing_left(),
              .feature = proto.feature(),
              .threshold = proto.threshold(),
              .left = proto.left(),
              .right = proto.right()};
}

}  // namespace

v1::Tree ToProto(const Tree& tree) {
  v1::Tree proto;
  proto.mutable_nodes()->Reserve(static_cast<int>(tree.nodes().size()));
  for (const Node& node : tree.nodes()) *proto.add_nodes() = ToProto(node);
  return proto;
}

absl::StatusOr<Tree> FromProto(const v1::Tree& proto, const Schema& schema) {
  std::vector<Node> nodes;
  nodes.reserve(proto.nodes_size());
  for (const v1::Node& node_proto : proto.nodes()) {
    const absl::StatusOr<Node> node = FromProto(node_proto);
    if (!node.ok()) return InField(ElementName("nodes", nodes.size()), node.status());
    nodes.push_back(*node);
  }
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
