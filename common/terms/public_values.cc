#include "common/terms/public_values.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"

namespace coppice {
namespace {

constexpr size_t kValueBytes = 8;
constexpr uint64_t kMissingBits = 0x7ff8000000000000;
constexpr uint64_t kNegativeZeroBits = 0x8000000000000000;

// The public features that some row's walk asks about, in ascending order.
std::vector<uint32_t> AskedFeatures(const Tree& tree, const Schema& schema) {
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

}  // namespace

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
      to_visit.push_back(node.left);  // visited next, so that leaves come from left to right
    }
  }
  return leaves;
}

std::vector<uint32_t> ShownFeatures(const Schema& schema, const Tree& tree) {
  return schema.all_public() ? schema.public_features() : AskedFeatures(tree, schema);
}

std::string EncodePublicValues(const Schema& schema, const Tree& tree, RowView row) {
  std::string bytes;
  for (const uint32_t feature : ShownFeatures(schema, tree)) {
    uint64_t bits = kMissingBits;
    const double value = row[feature] == 0 ? 0 : row[feature];  // -0 becomes 0
    if (!IsMissing(value)) std::memcpy(&bits, &value, sizeof(bits));
    for (size_t i = 0; i < kValueBytes; ++i) {
      bytes.push_back(static_cast<char>((bits >> (8 * i)) & 0xff));
    }
  }
  return bytes;
}

StatusOr<Row> DecodePublicValues(const Schema& schema, const Tree& tree, std::string_view bytes) {
  const std::vector<uint32_t> shown = ShownFeatures(schema, tree);
  if (bytes.size() != kValueBytes * shown.size()) {
    return InvalidArgumentError(StrCat("public values must have ", kValueBytes,
                                       " bytes for each of ", shown.size(), " features, have ",
                                       bytes.size()));
  }
  Row row(schema.num_features(), kMissingValue);
  for (const uint32_t feature : shown) {
    uint64_t bits = 0;
    for (size_t i = 0; i < kValueBytes; ++i) {
      bits |= uint64_t{static_cast<uint8_t>(bytes[i])} << (8 * i);
    }
    bytes.remove_prefix(kValueBytes);
    std::memcpy(&row[feature], &bits, sizeof(bits));
    if (IsMissing(row[feature]) && bits != kMissingBits) {
      return InvalidArgumentError("public values: a missing value has one form");
    }
    if (bits == kNegativeZeroBits) {
      return InvalidArgumentError("public values: zero has no sign");
    }
  }
  COPPICE_RETURN_IF_ERROR(schema.Validate(row));
  return row;
}

Status CheckJoinId(std::string_view id) {
  if (!id.empty() && id.size() <= kMaxJoinIdBytes) return OkStatus();
  return InvalidArgumentError(
      StrCat("an id must have 1 to ", kMaxJoinIdBytes, " bytes, has ", id.size()));
}

}  // namespace coppice
