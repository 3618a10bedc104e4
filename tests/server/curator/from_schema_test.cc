#include "server/curator/partition/from_schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "tests/support/schemas.h"
#include "tests/support/status_matchers.h"

namespace coppice::curator {
namespace {

using ::coppice::testing::Categorical;
using ::coppice::testing::Numeric;
using ::coppice::testing::StatusIs;
using ::coppice::testing::Whole;
using ::testing::HasSubstr;

std::shared_ptr<const Schema> SchemaOf(std::vector<Feature> features) {
  return std::make_shared<const Schema>(*Schema::Create(std::move(features), "label", {"a", "b"}));
}

Tree GrowTreeBy(SplitRule rule, const Schema& schema, uint32_t depth, uint64_t seed = 1) {
  PublicRandom random(seed);
  return *GrowTreeFromSchema(schema, {.rule = rule, .max_depth = depth}, random, {});
}

PartitionOptions FromSchema(SplitRule rule, uint32_t trees = 1) {
  return {.rule = rule, .max_depth = 3, .trees = trees, .use_labels = false, .from_schema = true};
}

TEST(RowsFromSchemaTest, EachNumberIsInTheMiddleOfAPartOfItsOwn) {
  const Table rows = *RowsFromSchema(SchemaOf({Numeric("x", -2, 6), Numeric("flat", 7.7, 7.7)}), 1);
  ASSERT_EQ(rows.num_rows(), kSchemaRows);
  std::vector<double> x(rows.column(0).begin(), rows.column(0).end());
  std::sort(x.begin(), x.end());
  for (size_t i = 0; i < x.size(); ++i) {
    EXPECT_DOUBLE_EQ(x[i], -2 + 8 * (static_cast<double>(i) + 0.5) / kSchemaRows);
  }
  for (const double value : rows.column(1)) EXPECT_EQ(value, 7.7) << "whatever it is rounded to";
}

TEST(RowsFromSchemaTest, FitsTheWidestSchema) {
  constexpr double kMost = std::numeric_limits<double>::max() / 2;  // schemas take no wider range
  const auto schema = SchemaOf({Numeric("x", -kMost, kMost), Categorical("c", {"r", "g", "b"})});
  const Table rows = *RowsFromSchema(schema, 1);
  for (size_t i = 0; i < rows.num_rows(); ++i) ASSERT_OK(schema->Validate(rows.row(i)));
  for (const double category : {0, 1, 2}) {
    const auto often = std::count(rows.column(1).begin(), rows.column(1).end(), category);
    EXPECT_NEAR(static_cast<double>(often), kSchemaRows / 3.0, 1);
  }
}

TEST(RowsFromSchemaTest, TooManyFeaturesAreRefused) {
  std::vector<Feature> features;
  for (size_t i = 0; i <= kMaxFeaturesFromSchema; ++i) {
    features.push_back(Numeric("x" + std::to_string(i), 0, 1));
  }
  EXPECT_THAT(RowsFromSchema(SchemaOf(std::move(features)), 1),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("2048 features")));
}

TEST(RowsFromSchemaTest, FeaturesAreInOrdersOfTheirOwn) {
  const auto schema = SchemaOf({Numeric("x", 0, 1), Numeric("y", 0, 1)});
  const Table rows = *RowsFromSchema(schema, 1);
  size_t same = 0;
  for (size_t i = 0; i < rows.num_rows(); ++i) same += rows.value(i, 0) == rows.value(i, 1) ? 1 : 0;
  EXPECT_LT(same, 20u);
  EXPECT_EQ(RowsFromSchema(schema, 1)->value(5, 0), rows.value(5, 0));
  EXPECT_NE(RowsFromSchema(schema, 2)->value(5, 0), rows.value(5, 0));
}

TEST(GrowTreeFromSchemaTest, MaxEdgeHalvesTheDeclaredRangesInTurn) {
  const Tree tree =
      GrowTreeBy(SplitRule::kMaxEdge, *SchemaOf({Numeric("x", 0, 8), Numeric("y", -1, 1)}), 3);
  EXPECT_EQ(tree.num_leaves(), 8u);
  const absl::Span<const Node> nodes = tree.nodes();
  EXPECT_EQ(nodes[0].feature, 0u);
  EXPECT_EQ(nodes[0].threshold, 4);
  EXPECT_TRUE(nodes[0].missing_left);
  const Node& left = nodes[nodes[0].left];
  EXPECT_EQ(left.feature, 1u);
  EXPECT_EQ(left.threshold, 0);
  const Node& below = nodes[left.left];
  EXPECT_EQ(below.feature, 0u);
  EXPECT_EQ(below.threshold, 2);
}

TEST(GrowTreeFromSchemaTest, CategoriesLeaveInTheirOrderUntilOneIsLeft) {
  const Tree tree =
      GrowTreeBy(SplitRule::kMaxEdge, *SchemaOf({Categorical("c", {"r", "g"})}), kMaxDepth);
  // r | g | other
  EXPECT_EQ(tree.num_leaves(), 3u);
  EXPECT_EQ(tree.nodes()[0].threshold, 0);
  EXPECT_EQ(tree.nodes()[tree.nodes()[0].right].threshold, 1);
}

TEST(GrowTreeFromSchemaTest, WhatIsFlatIsNotCut) {
  const Tree tree = GrowTreeBy(SplitRule::kMaxEdge, *SchemaOf({Numeric("flat", 7, 7)}), 5);
  EXPECT_EQ(tree.num_leaves(), 1u);
}

TEST(GrowTreeFromSchemaTest, WholeNumbersAreCutBetweenNeighboursUntilOneIsLeft) {
  for (const SplitRule rule : {SplitRule::kMaxEdge, SplitRule::kRandomMaxEdge}) {
    const auto schema = SchemaOf({Whole("x", -2, 3)});
    const Tree tree = GrowTreeBy(rule, *schema, kMaxDepth);
    EXPECT_EQ(tree.num_leaves(), 6u);
    std::set<size_t> leaves;
    for (int x = -2; x <= 3; ++x) leaves.insert(tree.FindLeaf({static_cast<double>(x)}));
    EXPECT_EQ(leaves.size(), 6u);
    const Table rows = *RowsFromSchema(schema, 1);
    for (size_t i = 0; i < rows.num_rows(); ++i) ASSERT_OK(schema->Validate(rows.row(i)));
  }
}

TEST(GrowTreeFromSchemaTest, RandomTreesDifferAndRepeat) {
  const auto schema = SchemaOf({Numeric("x", 0, 1), Numeric("y", 0, 1), Numeric("z", 0, 1)});
  const auto grow = [&](uint64_t seed) {
    return GrowTreeBy(SplitRule::kRandomMaxEdge, *schema, 6, seed);
  };
  EXPECT_EQ(grow(1), grow(1));
  EXPECT_FALSE(grow(1) == grow(2));
}

TEST(GrowTreeFromSchemaTest, ATreeOfTooManyNodesIsRefused) {
  const auto schema = SchemaOf({Numeric("x", 0, 1)});
  PublicRandom random(1);
  EXPECT_THAT(GrowTreeFromSchema(*schema, {.max_depth = 64}, random, {}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("lower max_depth")));
}

TEST(GrowTreeFromSchemaTest, TreesShareTheRoomForNodes) {
  const auto schema = SchemaOf({Numeric("x", 0, 1), Numeric("y", 0, 1)});
  PublicRandom random(1);
  const PartitionOptions deep{.rule = SplitRule::kRandomMaxEdge, .max_depth = 12, .trees = 1024};
  EXPECT_FALSE(GrowTreeFromSchema(*schema, deep, random, {}).ok());
}

TEST(GrowPartitionTest, FromTheSchemaByTheRulesThatNeedNoLabels) {
  const auto schema = SchemaOf({Numeric("x", 0, 1), Categorical("c", {"r", "g"})});
  const Table rows = *RowsFromSchema(schema, 1);
  for (const SplitRule rule :
       {SplitRule::kHybrid, SplitRule::kMaxEdge, SplitRule::kRandomMaxEdge}) {
    const uint32_t trees = rule == SplitRule::kMaxEdge ? 1 : 2;
    const StatusOr<Forest> forest = GrowPartition(rows, FromSchema(rule, trees));
    ASSERT_OK(forest) << SplitRuleName(rule);
    EXPECT_EQ(forest->size(), trees);
    EXPECT_GT(forest->front().num_leaves(), 2u) << SplitRuleName(rule);
  }
  EXPECT_THAT(GrowPartition(rows, FromSchema(SplitRule::kCart)),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("has no labels")));
  EXPECT_THAT(GrowPartition(rows, FromSchema(SplitRule::kMaxEdge, 2)),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("the same tree")));
  PartitionOptions with_labels = FromSchema(SplitRule::kHybrid);
  with_labels.use_labels = true;
  EXPECT_THAT(GrowPartition(rows, with_labels),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("has no labels")));
}

}  // namespace
}  // namespace coppice::curator
