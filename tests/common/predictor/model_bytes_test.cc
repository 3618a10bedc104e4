// The size that the predictor is bounded by is that of a model as it is stored and sent.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/predictor/public_predictor.h"
#include "common/wire/proto/convert.h"
#include "tests/common/predictor/rows.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using ::coppice::testing::Categorical;
using ::coppice::testing::MixedFeatures;
using ::coppice::testing::MixedRows;
using ::coppice::testing::RandomLabels;

// A predictor of grown trees with scores of no meaning.
PublicPredictor GrownPredictor(const std::shared_ptr<const Schema>& schema, size_t rows) {
  Table table(schema);
  const std::vector<uint32_t> labels = RandomLabels(rows, 2, 1);
  const std::vector<Row> mixed = MixedRows(rows, 2);
  for (size_t i = 0; i < rows; ++i) {
    schema->target() ? table.AppendTarget(mixed[i], labels[i]) : table.Append(mixed[i], labels[i]);
  }
  const SortedFeatures features(table);
  TreeGrower grower(features);
  const std::vector<uint32_t> drawn(rows, 1);
  std::vector<ScoreTree> trees;
  for (uint64_t t = 0; t < 8; ++t) {
    PublicRandom random(t);
    GrownTree grown;
    grower.Grow({.labels = labels, .classes = 2}, drawn,
                {.rule = t % 2 == 0 ? CutRule::kBest : CutRule::kRandom}, random, grown);
    FinishedTree finished = *FinishTree(grown.nodes, *schema);
    const size_t scores = finished.tree.num_leaves() * ScoreColumns(*schema);
    trees.push_back({.tree = std::move(finished.tree), .values = std::vector<double>(scores, 0.3)});
  }
  return *PublicPredictor::Create(schema, std::vector<double>(ScoreColumns(*schema), 0.1), trees);
}

void ExpectCloseFromAbove(const std::shared_ptr<const Schema>& schema, size_t rows) {
  const PublicPredictor predictor = GrownPredictor(schema, rows);
  const PublicPredictor empty =
      *PublicPredictor::Create(schema, std::vector<double>(ScoreColumns(*schema), 0.1), {});
  const size_t taken =
      ToProto(*predictor.ToModel({})).ByteSizeLong() - ToProto(*empty.ToModel({})).ByteSizeLong();
  const size_t stated = predictor.model_bytes() - empty.model_bytes();
  EXPECT_GE(stated, taken);
  EXPECT_LE(static_cast<double>(stated), 1.1 * static_cast<double>(taken));
}

TEST(ModelBytesTest, BoundTheMessageFromAboveAndClosely) {
  for (const size_t rows : {30, 300, 3000}) {
    ExpectCloseFromAbove(
        std::make_shared<const Schema>(*Schema::Create(MixedFeatures(), "label", {"no", "yes"})),
        rows);
    std::vector<std::string> classes;
    for (int k = 0; k < 26; ++k) classes.push_back(std::string(1, static_cast<char>('a' + k)));
    ExpectCloseFromAbove(
        std::make_shared<const Schema>(*Schema::Create(MixedFeatures(), "label", classes)), rows);
    ExpectCloseFromAbove(std::make_shared<const Schema>(*Schema::CreateRegression(
                             MixedFeatures(), "number", {.min = 0, .max = 1})),
                         rows);
  }
}

}  // namespace
}  // namespace coppice
