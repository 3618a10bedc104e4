// The values that a report shows: accepted bytes are the one encoding of their row, and that row
// has leaves. Input: which features are public, then the bytes.

#include "common/terms/public_values.h"

#include <string_view>
#include <utility>
#include <vector>

#include "tests/fuzz/fuzz_input.h"
#include "tests/support/schemas.h"

using coppice::Node;
using coppice::Schema;
using coppice::SplitKind;
using coppice::Tree;
using coppice::testing::Require;

namespace {

Schema SchemaOf(uint8_t is_public) {
  std::vector<coppice::Feature> features = {
      coppice::testing::Numeric("size", -1, 1), coppice::testing::Whole("age", 0, 100),
      coppice::testing::Categorical("color", {"red", "green"})};
  for (size_t i = 0; i < features.size(); ++i) features[i].is_public = (is_public >> i & 1) != 0;
  return *Schema::Create(std::move(features), "label", {"no", "yes"});
}

// size < 0 ? leaf 0 : (age < 30 ? leaf 1 : (color is the first ? leaf 2 : leaf 3))
Tree TreeOf(const Schema& schema) {
  const auto at = [](SplitKind kind, uint32_t feature, double cut, uint32_t left) {
    return Node{
        .kind = kind, .feature = feature, .threshold = cut, .left = left, .right = left + 1};
  };
  return *Tree::Create({at(SplitKind::kNumeric, 0, 0, 1), Node{}, at(SplitKind::kNumeric, 1, 30, 3),
                        Node{}, at(SplitKind::kCategory, 2, 0, 5), Node{}, Node{}},
                       schema);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view input = coppice::testing::AsBytes(data, size);
  const Schema schema = SchemaOf(coppice::testing::TakeByte(input));
  const Tree tree = TreeOf(schema);
  const auto row = coppice::DecodePublicValues(schema, tree, input);
  if (!row.ok()) return 0;
  Require(coppice::EncodePublicValues(schema, tree, *row) == input, "two forms of one row");
  const std::vector<uint32_t> leaves = coppice::ConsistentLeaves(tree, schema, *row);
  Require(!leaves.empty() && leaves.back() < tree.num_leaves(), "no leaf, or none of the tree");
  return 0;
}
