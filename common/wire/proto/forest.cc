#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/terms/preorder.h"
#include "common/wire/proto/convert.h"
#include "common/wire/proto/field_error.h"

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
  return proto;
}

StatusOr<Tree> FromProto(const v1::Tree& proto, const Schema& schema) {
  return MakeTree({.kinds = {proto.kinds().begin(), proto.kinds().end()},
                   .features = {proto.features().begin(), proto.features().end()},
                   .thresholds = {proto.thresholds().begin(), proto.thresholds().end()},
                   .categories = {proto.categories().begin(), proto.categories().end()},
                   .missing_left = {proto.missing_left().begin(), proto.missing_left().end()}},
                  schema);
}

v1::Forest ToProto(const Forest& forest) {
  v1::Forest proto;
  for (const Tree& tree : forest) *proto.add_trees() = ToProto(tree);
  return proto;
}

StatusOr<Forest> FromProto(const v1::Forest& proto, const Schema& schema) {
  const int size = proto.trees_size();
  if (size < 1 || size > static_cast<int>(kMaxTrees)) {
    return FieldError("forest.trees", StrCat("must be 1 to ", kMaxTrees, ", are ", size));
  }
  Forest forest;
  forest.reserve(size);
  for (const v1::Tree& tree_proto : proto.trees()) {
    StatusOr<Tree> tree = FromProto(tree_proto, schema);
    if (!tree.ok()) return InField(ElementName("forest.trees", forest.size()), tree.status());
    forest.push_back(*std::move(tree));
  }
  return forest;
}

}  // namespace coppice
