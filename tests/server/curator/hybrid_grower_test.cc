// The hybrid rule cut by cut, on tables small enough to work out by hand.

#include "server/curator/partition/hybrid_grower.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "common/base/status.h"
#include "server/curator/partition/partition.h"
#include "tests/support/schemas.h"
#include "tests/support/status_matchers.h"

namespace coppice::curator {
namespace {

using ::coppice::testing::Categorical;
using ::coppice::testing::Numeric;
using ::coppice::testing::StatusIs;

std::shared_ptr<const Schema> TwoNumbers() {
  return std::make_shared<const Schema>(
      *Schema::Create({Numeric("x", 0, 100), Numeric("y", 0, 100)}, "label", {"no", "yes"}));
}

Table TableOf(std::shared_ptr<const Schema> schema,
              const std::vector<std::pair<Row, uint32_t>>& rows) {
  Table table(std::move(schema));
  for (const auto& [row, label] : rows) table.Append(row, label);
  return table;
}

Tree GrowHybrid(const Table& table, const HybridOptions& options = {}, bool use_labels = true) {
  const HybridRows rows(table, use_labels);
  PublicRandom random(1);
  const std::vector<uint32_t> once(table.num_rows(), 1);
  return *GrowHybridTree(rows, once, options, random);
}

TEST(HybridGrowerTest, CutsByLabelsHalfWayBetweenValuesAndThenBySpread) {
  // x tells the labels apart at 25; on each side y then has the widest spread.
  const Table table = TableOf(
      TwoNumbers(),
      {{{10, 1}, 0}, {{11, 90}, 0}, {{20, 30}, 0}, {{30, 2}, 1}, {{31, 80}, 1}, {{32, 40}, 1}});
  const Tree tree = GrowHybrid(table, {.max_depth = 2});
  const Node& root = tree.nodes()[0];
  EXPECT_EQ(root.kind, SplitKind::kNumeric);
  EXPECT_EQ(root.feature, 0u);
  EXPECT_EQ(root.threshold, 25);
  for (const uint32_t child : {root.left, root.right}) {
    EXPECT_EQ(tree.nodes()[child].feature, 1u) << "the side is pure: the widest spread";
  }
  EXPECT_EQ(tree.num_leaves(), 4u);
}

TEST(HybridGrowerTest, WithoutLabelsSpreadDecidesFromTheRoot) {
  const Table table =
      TableOf(TwoNumbers(), {{{1, 50}, 0}, {{2, 50}, 1}, {{3, 50}, 0}, {{9, 51}, 1}});
  const Tree tree = GrowHybrid(table, {.max_depth = 1}, /*use_labels=*/false);
  // Ranks count, not values: x has four, y two. The median is between 2 and 3.
  EXPECT_EQ(tree.nodes()[0].feature, 0u);
  EXPECT_EQ(tree.nodes()[0].threshold, 2.5);
}

TEST(HybridGrowerTest, SpreadGoesOnUntilRowsCannotBeToldApart) {
  const Table table = TableOf(TwoNumbers(), {{{1, 1}, 0}, {{1, 1}, 0}, {{2, 1}, 0}, {{2, 7}, 0}});
  EXPECT_EQ(GrowHybrid(table).num_leaves(), 3u);
  EXPECT_EQ(GrowHybrid(table, {.min_leaf = 2}).num_leaves(), 2u);
}

TEST(HybridGrowerTest, AMixedCellThatNoCutImprovesIsCutBySpread) {
  // Exclusive or: no single cut lowers the entropy.
  const Table table = TableOf(TwoNumbers(), {{{1, 1}, 0}, {{1, 2}, 1}, {{2, 1}, 1}, {{2, 2}, 0}});
  EXPECT_EQ(GrowHybrid(table).num_leaves(), 4u);
}

TEST(HybridGrowerTest, LeastRowsCountRepetitionsOfTheBag) {
  const Table table = TableOf(
      TwoNumbers(), {{{1, 1}, 0}, {{2, 1}, 1}, {{3, 1}, 1}, {{4, 1}, 1}, {{5, 1}, 1}, {{6, 1}, 1}});
  const HybridRows rows(table, true);
  PublicRandom random(1);
  const std::vector<uint32_t> thrice = {3, 3, 0, 0, 0, 0}, once = {1, 1, 0, 0, 0, 0},
                              one_row = {6, 0, 0, 0, 0, 0};
  EXPECT_EQ(GrowHybridTree(rows, thrice, {.min_leaf = 3}, random)->num_leaves(), 2u);
  EXPECT_EQ(GrowHybridTree(rows, once, {.min_leaf = 2}, random)->num_leaves(), 1u);
  EXPECT_EQ(GrowHybridTree(rows, one_row, {}, random)->num_leaves(), 1u);
}

TEST(HybridGrowerTest, LeavesAreLimitedBreadthFirst) {
  std::vector<std::pair<Row, uint32_t>> rows;
  for (int i = 0; i < 64; ++i) rows.push_back({{static_cast<double>(i), 0}, 0});
  const Table table = TableOf(TwoNumbers(), rows);
  const Tree tree = GrowHybrid(table, {.max_leaves = 8});
  EXPECT_EQ(tree.num_leaves(), 8u);
  EXPECT_EQ(tree.depth(), 3u) << "level by level";
}

TEST(HybridGrowerTest, AMissingNumberIsBelowAllNumbers) {
  const Table table = TableOf(
      TwoNumbers(), {{{kMissingValue, 5}, 1}, {{kMissingValue, 5}, 1}, {{10, 5}, 0}, {{20, 5}, 0}});
  const Tree tree = GrowHybrid(table, {.max_depth = 1});
  const Node& root = tree.nodes()[0];
  EXPECT_EQ(root.threshold, 10) << "the lowest number: missing values alone are below";
  EXPECT_TRUE(root.missing_left);
  EXPECT_EQ(tree.FindLeaf({kMissingValue, 5}), 0u);
  EXPECT_EQ(tree.FindLeaf({10, 5}), 1u);
}

TEST(HybridGrowerTest, WhereNothingIsMissingMissingGoesWithMostRows) {
  const Table table =
      TableOf(TwoNumbers(), {{{1, 5}, 1}, {{10, 5}, 0}, {{20, 5}, 0}, {{30, 5}, 0}});
  EXPECT_FALSE(GrowHybrid(table, {.max_depth = 1}).nodes()[0].missing_left);
}

TEST(HybridGrowerTest, CategoriesStandAgainstTheRestAndMissingIsOne) {
  const auto schema = std::make_shared<const Schema>(
      *Schema::Create({Categorical("c", {"u", "v"})}, "label", {"no", "yes"}));
  const Table by_v =
      TableOf(schema, {{{0}, 0}, {{1}, 1}, {{1}, 1}, {{2}, 0}, {{kMissingValue}, 0}});
  const Node root = GrowHybrid(by_v, {.max_depth = 1}).nodes()[0];
  EXPECT_EQ(root.kind, SplitKind::kCategory);
  EXPECT_EQ(root.threshold, 1);
  EXPECT_FALSE(root.missing_left) << "missing is of the rest";
  const Table by_missing = TableOf(schema, {{{0}, 0}, {{1}, 0}, {{kMissingValue}, 1}});
  EXPECT_EQ(GrowHybrid(by_missing, {.max_depth = 1}).nodes()[0].kind, SplitKind::kMissing);
}

TEST(HybridGrowerTest, CategoryIsCutBySpreadAtTheMostEvenValue) {
  const auto schema = std::make_shared<const Schema>(
      *Schema::Create({Categorical("c", {"u", "v", "w"})}, "label", {"no", "yes"}));
  const Table table = TableOf(schema, {{{0}, 0}, {{1}, 0}, {{1}, 0}, {{1}, 0}, {{2}, 0}, {{2}, 0}});
  EXPECT_EQ(GrowHybrid(table, {.max_depth = 1}).nodes()[0].threshold, 1);
}

TEST(HybridGrowerTest, FewFeaturesFallBackOnTheOthers) {
  // Only x can be cut, and the third of the features that is drawn often lacks it.
  const auto schema = std::make_shared<const Schema>(*Schema::Create(
      {Numeric("a", 0, 1), Numeric("b", 0, 1), Numeric("x", 0, 9), Numeric("c", 0, 1)}, "label",
      {"no", "yes"}));
  const Table table = TableOf(schema, {{{0, 0, 1, 0}, 0}, {{0, 0, 2, 0}, 1}});
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(GrowHybrid(table, {.few_features = true}).num_leaves(), 2u);
  }
}

TEST(HybridGrowerTest, ForestIsTheSameForTheSameSeedAndItsTreesDiffer) {
  Table table(TwoNumbers());
  PublicRandom random(5);
  for (int i = 0; i < 60; ++i) {
    const Row row = {100 * random.Unit(), 100 * random.Unit()};
    table.Append(row, row[0] + row[1] > 100 ? 1 : 0);
  }
  PartitionOptions options = {.rule = SplitRule::kHybrid, .max_depth = 5, .trees = 8, .seed = 3};
  ASSERT_OK_AND_ASSIGN(const Forest forest, GrowPartition(table, options));
  ASSERT_OK_AND_ASSIGN(const Forest again, GrowPartition(table, options));
  EXPECT_EQ(forest, again);
  EXPECT_NE(forest[0], forest[1]);
  options.seed = 4;
  ASSERT_OK_AND_ASSIGN(const Forest other, GrowPartition(table, options));
  EXPECT_NE(forest[0], other[0]);
}

TEST(HybridGrowerTest, OtherRulesRefuseItsOptions) {
  const Table table = TableOf(TwoNumbers(), {{{1, 1}, 0}, {{2, 1}, 1}});
  EXPECT_THAT(GrowPartition(table, {.rule = SplitRule::kCart, .max_leaves = 4}),
              StatusIs(StatusCode::kInvalidArgument, ::testing::HasSubstr("hybrid")));
  EXPECT_THAT(GrowPartition(table, {.rule = SplitRule::kMaxEdge, .use_labels = false}),
              StatusIs(StatusCode::kInvalidArgument, ::testing::HasSubstr("hybrid")));
}

}  // namespace
}  // namespace coppice::curator
