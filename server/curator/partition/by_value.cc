#include "server/curator/partition/by_value.h"

#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/types/span.h"
#include "common/base/printable.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"

namespace coppice::curator {
namespace {

// Quotes a name that contains a character which could be taken for the text after it.
std::string PlainOrQuoted(std::string_view name) {
  if (name.find_first_of(" =\"\\") == std::string_view::npos) return std::string(name);
  return StrCat("\"", absl::Utf8SafeCEscape(std::string(name)), "\"");
}

template <typename Wanted>
std::vector<std::string> NamesOf(const Schema& schema, Wanted wanted) {
  std::vector<std::string> names;
  for (const Feature& feature : schema.features()) {
    if (wanted(feature)) names.push_back(feature.name);
  }
  return names;
}

bool IsCategorical(const Feature& feature) { return feature.type == FeatureType::kCategorical; }

bool CanBeInFront(const Feature& feature) { return feature.is_public && IsCategorical(feature); }

std::string ListOrNone(const std::vector<std::string>& names) {
  return names.empty() ? "there is none" : StrCat("there are ", ListOf(names));
}

// The question before copy `copy`, which must not be the last.
Node QuestionBefore(uint32_t copy, const Feature& asked, uint32_t feature) {
  if (copy < asked.values.size()) {
    return {
        .kind = SplitKind::kCategory, .feature = feature, .threshold = static_cast<double>(copy)};
  }
  return {.kind = SplitKind::kMissing, .feature = feature};
}

void AppendCopy(absl::Span<const Node> tree, std::vector<Node>& nodes) {
  const auto start = static_cast<uint32_t>(nodes.size());
  for (Node node : tree) {
    if (node.kind != SplitKind::kLeaf) {
      node.left += start;
      node.right += start;
    }
    nodes.push_back(node);
  }
}

// For all trees: keeps messages well below the largest answer that clients take, 64 MiB.
constexpr size_t kMaxCopiedNodes = size_t{1} << 22;

Status CheckSize(const Tree& tree, const Feature& asked) {
  const size_t copies = NumCopies(asked);
  const size_t nodes = copies * tree.nodes().size() + copies - 1;
  const size_t depth = copies - 1 + tree.depth();
  if (nodes <= kMaxNodes && depth <= kMaxModelDepth) return OkStatus();
  return InvalidArgumentError(
      StrCat("partition.by_feature: ", asked.name, " has ", asked.values.size(),
             " values; with a copy behind each, a tree would have ", nodes, " nodes and depth ",
             depth, "; at most ", kMaxNodes, " and ", kMaxModelDepth,
             " are allowed: use a feature with fewer values, or smaller trees"));
}

StatusOr<Tree> PutInFront(const Tree& tree, const Schema& schema, uint32_t feature) {
  const Feature& asked = schema.features()[feature];
  COPPICE_RETURN_IF_ERROR(CheckSize(tree, asked));
  const auto size = static_cast<uint32_t>(tree.nodes().size());
  std::vector<Node> nodes;
  for (uint32_t copy = 0; copy + 1 < NumCopies(asked); ++copy) {
    Node question = QuestionBefore(copy, asked, feature);
    question.left = static_cast<uint32_t>(nodes.size()) + 1;
    question.right = question.left + size;
    nodes.push_back(question);
    AppendCopy(tree.nodes(), nodes);
  }
  AppendCopy(tree.nodes(), nodes);
  return Tree::Create(std::move(nodes), schema);
}

// The subtree left of the first question, if there is one; else the tree itself.
StatusOr<Tree> FirstCopy(const Tree& tree, const Schema& schema) {
  const absl::Span<const Node> nodes = tree.nodes();
  if (nodes[0].kind == SplitKind::kLeaf) return tree;
  std::vector<Node> first(nodes.begin() + 1, nodes.begin() + nodes[0].right);
  for (Node& node : first) {
    if (node.kind == SplitKind::kLeaf) continue;
    --node.left;
    --node.right;
  }
  return Tree::Create(std::move(first), schema);
}

}  // namespace

std::string FeatureValue::ToString() const {
  const std::string name = PlainOrQuoted(feature);
  switch (kind) {
    case Kind::kCategory:
      return StrCat(name, " = ", category);
    case Kind::kMissing:
      return StrCat(name, " is missing");
    case Kind::kOther:
      return StrCat(name, " is not in the schema");
  }
  return name;
}

StatusOr<EncodedValue> EncodeValue(const Schema& schema, const FeatureValue& value) {
  for (uint32_t i = 0; i < schema.num_features(); ++i) {
    const Feature& feature = schema.features()[i];
    if (feature.name != value.feature || !IsCategorical(feature)) continue;
    if (value.kind == FeatureValue::Kind::kMissing) return EncodedValue{.feature = i};
    if (value.kind == FeatureValue::Kind::kOther) {
      return EncodedValue{.feature = i, .value = feature.other()};
    }
    for (size_t code = 0; code < feature.values.size(); ++code) {
      if (feature.values[code] != value.category) continue;
      return EncodedValue{.feature = i, .value = static_cast<double>(code)};
    }
    return InvalidArgumentError(StrCat("where.category: ", feature.name, " has no value \"",
                                       value.category, "\"; ", ListOrNone(feature.values)));
  }
  return InvalidArgumentError(StrCat("where.feature: the study has no categorical feature \"",
                                     value.feature, "\"; ",
                                     ListOrNone(NamesOf(schema, IsCategorical))));
}

StatusOr<uint32_t> FindByFeature(const Schema& schema, std::string_view name) {
  for (uint32_t i = 0; i < schema.num_features(); ++i) {
    const Feature& feature = schema.features()[i];
    if (feature.name == name && CanBeInFront(feature)) return i;
  }
  return InvalidArgumentError(StrCat("partition.by_feature: \"", name,
                                     "\" is not a public categorical feature of the schema; ",
                                     ListOrNone(NamesOf(schema, CanBeInFront))));
}

uint32_t CopyOf(const Schema& schema, const EncodedValue& value) {
  const auto values = static_cast<uint32_t>(schema.features()[value.feature].values.size());
  if (IsMissing(value.value)) return values;
  const auto code = static_cast<uint32_t>(value.value);
  return code < values ? code : values + 1;
}

std::vector<uint32_t> NodesOfValues(const Tree& tree, uint32_t copies) {
  std::vector<uint32_t> nodes;
  uint32_t question = 0;
  for (uint32_t copy = 0; copy + 1 < copies; ++copy) {
    const Node& asked = tree.nodes()[question];
    nodes.push_back(asked.left);
    nodes.push_back(asked.right);
    question = asked.right;
  }
  return nodes;
}

StatusOr<Forest> PutValuesInFront(const Forest& forest, const Schema& schema, uint32_t feature) {
  const Feature& asked = schema.features()[feature];
  size_t nodes = 0;
  for (const Tree& tree : forest) nodes += NumCopies(asked) * tree.nodes().size();
  if (nodes > kMaxCopiedNodes) {
    return InvalidArgumentError(StrCat(
        "partition.by_feature: ", asked.name, " has ", asked.values.size(),
        " values; with a copy behind each, the trees would have ", nodes, " nodes in all; at most ",
        kMaxCopiedNodes, " fit into an answer: use a feature with fewer values, or fewer trees"));
  }
  Forest result;
  for (const Tree& tree : forest) {
    COPPICE_ASSIGN_OR_RETURN(Tree longer, PutInFront(tree, schema, feature));
    result.push_back(std::move(longer));
  }
  return result;
}

StatusOr<Forest> TakeValuesFromFront(const Forest& forest, const Schema& schema, uint32_t feature) {
  Forest result;
  for (const Tree& tree : forest) {
    COPPICE_ASSIGN_OR_RETURN(Tree first, FirstCopy(tree, schema));
    COPPICE_ASSIGN_OR_RETURN(const Tree again, PutInFront(first, schema, feature));
    if (again != tree) {
      return InvalidArgumentError(StrCat("partition.by_feature: tree ", result.size(),
                                         " does not begin with the values of ",
                                         schema.features()[feature].name));
    }
    result.push_back(std::move(first));
  }
  return result;
}

}  // namespace coppice::curator
