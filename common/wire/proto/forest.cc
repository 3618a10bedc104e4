#include "common/wire/proto/convert.h"
#include "common/wire/terms.h"

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

bool IsSplit(const Node& node) { return node.kind != SplitKind::kLeaf; }
bool IsNumeric(const Node& node) { return node.kind == SplitKind::kNumeric; }
bool IsCategory(const Node& node) { return node.kind == SplitKind::kCategory; }
bool SendsMissing(const Node& node) { return IsNumeric(node) || IsCategory(node); }

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
  if (const std::optional<LeafCentres>& centres = tree.centres()) {
    proto.mutable_centres()->Add(centres->of_leaf.begin(), centres->of_leaf.end());
    proto.set_half_range(centres->half_range);
  }
  return proto;
}

StatusOr<Tree> ParseTree(const v1::Tree& proto, const Schema& schema) {
  return ReadTree(proto.SerializeAsString(), schema);
}

v1::Forest ToProto(const Forest& forest) {
  v1::Forest proto;
  for (const Tree& tree : forest) *proto.add_trees() = ToProto(tree);
  return proto;
}

StatusOr<Forest> ParseForest(const v1::Forest& proto, const Schema& schema) {
  return ReadForest(proto.SerializeAsString(), schema);
}

}  // namespace coppice
