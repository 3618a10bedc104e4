#include "server/trainers/core/model_size.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/tree/tree.h"

namespace coppice::trainers {
namespace {

// A model of this size still loads in a second, and its file is read by any editor.
constexpr uint64_t kLarge = uint64_t{16} << 20;
// A file of a model is JSON, whose numbers have up to 17 digits and names.
constexpr uint64_t kTextPerByte = 6;
// Names and certificate.
constexpr uint64_t kRest = 16 * 1024;

uint64_t VarintBytes(uint64_t value) {
  uint64_t bytes = 1;
  for (; value >= 128; value /= 128) ++bytes;
  return bytes;
}

// The size of a field with this many bytes, its tag and length included.
uint64_t FieldBytes(uint64_t bytes) { return 1 + VarintBytes(bytes) + bytes; }

// The names and bounds of a schema, with room for the tags of each.
uint64_t SchemaBytes(const Schema& schema) {
  constexpr uint64_t kTags = 8, kBounds = 40;
  uint64_t bytes = kRest;
  for (const Feature& feature : schema.features()) {
    bytes += feature.name.size() + feature.unit.size() + kBounds;
    for (const std::string& category : feature.values) bytes += category.size() + kTags;
  }
  for (const std::string& name : schema.classes()) bytes += name.size() + kTags;
  return bytes;
}

}  // namespace

uint64_t MostModelBytes(const ModelShape& shape, const Schema& schema) {
  if (shape.leaves == 0) return 0;
  constexpr uint64_t kDouble = 9;  // with its tag
  const uint64_t outputs = schema.target() ? 2 : schema.num_classes();
  // A leaf: numbers per output, error, label, node and, for scores, the means and variances of
  // noise and a term.
  uint64_t leaf = (shape.scores ? 3 : 1) * FieldBytes(8 * outputs) + kDouble + 1 +
                  VarintBytes(outputs) + 1 + VarintBytes(kMaxNodes);
  if (shape.scores) leaf += kDouble;
  // For each leaf two nodes' kinds, and a split: feature, cut or category, and where missing
  // values go.
  const uint64_t split = 2 + VarintBytes(schema.num_features()) + 8 + 1;
  constexpr uint64_t kTree = 64;  // lengths and tags
  return shape.leaves * (FieldBytes(leaf) + split) + shape.trees * kTree + SchemaBytes(schema);
}

std::vector<std::string> WarnOfSize(const ModelShape& shape, const Schema& schema) {
  const uint64_t bytes = MostModelBytes(shape, schema);
  if (bytes < kLarge) return {};
  return {absl::StrCat("the model may have ", shape.leaves, " leaves and take ", bytes >> 20,
                       " MiB, about ", bytes * kTextPerByte >> 20,
                       " MiB as a file of text. To make it smaller, ", shape.advice)};
}

}  // namespace coppice::trainers
