// What each split rule does on tables small enough to check by hand.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string_view>
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
using ::coppice::testing::Whole;
using ::testing::HasSubstr;

struct Labelled {
  Row row;
  uint32_t label;
};

Table MakeTable(std::vector<Feature> features, const std::vector<Labelled>& rows) {
  Table table(
      std::make_shared<const Schema>(*Schema::Create(std::move(features), "y", {"a", "b", "c"})));
  for (const Labelled& r : rows) table.Append(r.row, r.label);
  return table;
}

Tree Grow(const Table& rows, const PartitionOptions& options) {
  return GrowPartition(rows, options)->front();
}

// The corners of a square: two numeric features, of which the second gives the class.
Table Corners() {
  return MakeTable({Numeric("x", -100, 100), Numeric("z", -100, 100)},
                   {{{0, 10}, 0}, {{0, 30}, 1}, {{8, 10}, 0}, {{8, 30}, 1}});
}

TEST(PartitionRulesTest, NamesReadBack) {
  for (const SplitRule rule : {SplitRule::kMaxEdge, SplitRule::kRandomMaxEdge, SplitRule::kCart,
                               SplitRule::kHybrid, SplitRule::kRandomCut}) {
    EXPECT_EQ(*ParseSplitRule(SplitRuleName(rule)), rule);
  }
  for (const Criterion criterion : {Criterion::kGini, Criterion::kEntropy}) {
    EXPECT_EQ(*ParseCriterion(CriterionName(criterion)), criterion);
  }
  EXPECT_THAT(ParseSplitRule("best"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("max_edge, random_max_edge")));
  EXPECT_THAT(ParseCriterion("mse"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("gini or entropy")));
}

TEST(PartitionRulesTest, OptionsOutOfRangeAreRefused) {
  const auto refused = [](const PartitionOptions& options, std::string_view message) {
    EXPECT_THAT(GrowPartition(Corners(), options),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr(message)));
  };
  refused({.max_depth = 65}, "max_depth must be from 0 to 64");
  refused({.min_leaf = 0}, "min_leaf must be at least 1");
  refused({.trees = 0}, "trees must be from 1 to 1024");
  refused({.trees = 1025}, "trees must be from 1 to 1024");
  EXPECT_THAT(GrowPartition(Table(Corners().shared_schema()), {}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("one public row")));
}

TEST(PartitionRulesTest, MaxEdgeCutsTheBoxOfThePublicRowsInTheMiddle) {
  const Tree tree = Grow(Corners(), {.max_depth = 1});
  EXPECT_EQ(tree.nodes()[0].feature, 1u) << "the edge with the larger decrease";
  EXPECT_EQ(tree.nodes()[0].threshold, 20);
}

TEST(PartitionRulesTest, WholeNumbersAreCutAtMostAtOne) {
  std::vector<Labelled> labelled;
  for (int i = 0; i < 24; ++i) {
    labelled.push_back({{static_cast<double>(i % 4)}, static_cast<uint32_t>(i % 4) / 2});
  }
  const Table rows = MakeTable({Whole("x", 0, 9)}, labelled);
  for (const SplitRule rule :
       {SplitRule::kMaxEdge, SplitRule::kRandomMaxEdge, SplitRule::kCart, SplitRule::kHybrid}) {
    const Tree tree = Grow(rows, {.rule = rule, .max_depth = 8, .min_leaf = 1});
    size_t cuts = 0;
    for (const Node& node : tree.nodes()) {
      if (node.kind != SplitKind::kNumeric) continue;
      ++cuts;
      const double most = std::nextafter(node.threshold, -1.0);
      EXPECT_EQ(most, std::floor(most)) << SplitRuleName(rule);
    }
    EXPECT_GE(cuts, 1u) << SplitRuleName(rule);
    EXPECT_LE(cuts, 3u) << SplitRuleName(rule);
  }
}

TEST(PartitionRulesTest, MaxEdgeTakesTheLongestEdgeNextAndSplitsWithoutADecrease) {
  const Tree tree = Grow(Corners(), {.max_depth = 2});
  ASSERT_EQ(tree.num_leaves(), 4u);
  for (const uint32_t child : {tree.nodes()[0].left, tree.nodes()[0].right}) {
    EXPECT_EQ(tree.nodes()[child].feature, 0u);
    EXPECT_EQ(tree.nodes()[child].threshold, 4);
  }
  EXPECT_EQ(Grow(Corners(), {.max_depth = 9}).num_leaves(), 4u) << "one row is not split";
}

TEST(PartitionRulesTest, MaxEdgeTriesTheNextLongestEdgeAndThenGivesUp) {
  // Cutting x in the middle leaves one row on its right, and cutting z two.
  const Table table = MakeTable({Numeric("x", 0, 10), Numeric("z", 0, 10)},
                                {{{0, 0}, 0}, {{1, 0}, 0}, {{2, 8}, 0}, {{8, 8}, 1}});
  EXPECT_EQ(Grow(table, {.max_depth = 1, .min_leaf = 1}).nodes()[0].feature, 0u);
  EXPECT_EQ(Grow(table, {.max_depth = 1, .min_leaf = 2}).nodes()[0].feature, 1u);
  EXPECT_EQ(Grow(table, {.max_depth = 1, .min_leaf = 3}).num_leaves(), 1u);
}

TEST(PartitionRulesTest, ACellWhoseLongestEdgesCannotBeCutIsALeafThoughAShorterOneCould) {
  // After the cut of x, z is the longest edge of both cells and all their rows are on one side.
  const Table table = MakeTable({Numeric("x", 0, 8), Numeric("z", 0, 8)},
                                {{{0, 0}, 0}, {{3, 1}, 1}, {{5, 8}, 2}, {{8, 7}, 2}});
  const Tree tree = Grow(table, {.max_depth = 5});
  EXPECT_EQ(tree.nodes()[0].feature, 0u);
  EXPECT_EQ(tree.num_leaves(), 2u);
}

TEST(PartitionRulesTest, ConstantFeaturesAreNeverCut) {
  const Table table = MakeTable({Numeric("x", 0, 10), Numeric("z", 0, 10), Numeric("gone", 0, 1)},
                                {{{5, 0, kMissingValue}, 0}, {{5, 9, kMissingValue}, 1}});
  for (const SplitRule rule : {SplitRule::kMaxEdge, SplitRule::kRandomMaxEdge, SplitRule::kCart}) {
    const Tree tree = Grow(table, {.rule = rule});
    ASSERT_EQ(tree.num_leaves(), 2u);
    EXPECT_EQ(tree.nodes()[0].feature, 1u);
  }
}

TEST(PartitionRulesTest, EdgeRulesCutMissingFirstAndKeepTheEdge) {
  const Table table =
      MakeTable({Numeric("x", 0, 10)},
                {{{kMissingValue}, 0}, {{kMissingValue}, 1}, {{0}, 0}, {{4}, 1}, {{10}, 0}});
  for (const SplitRule rule : {SplitRule::kMaxEdge, SplitRule::kRandomMaxEdge}) {
    const Tree tree = Grow(table, {.rule = rule, .max_depth = 2});
    ASSERT_EQ(tree.num_leaves(), 3u);
    EXPECT_EQ(tree.nodes()[0].kind, SplitKind::kMissing);
    EXPECT_EQ(tree.nodes()[2].kind, SplitKind::kNumeric);
    EXPECT_EQ(tree.nodes()[2].threshold, 5);
    EXPECT_TRUE(tree.nodes()[2].missing_left) << "the side with more rows";
  }
}

TEST(PartitionRulesTest, TooFewMissingRowsGoAlongWithASide) {
  const Table table = MakeTable({Numeric("x", 0, 10)},
                                {{{kMissingValue}, 1}, {{0}, 0}, {{1}, 0}, {{9}, 1}, {{10}, 1}});
  const Tree tree = Grow(table, {.max_depth = 1, .min_leaf = 2});
  EXPECT_EQ(tree.nodes()[0].kind, SplitKind::kNumeric);
  EXPECT_FALSE(tree.nodes()[0].missing_left);
}

// Twelve rows: five u, four v, three w; only w is of class a.
Table Categories() {
  std::vector<Labelled> rows;
  for (int i = 0; i < 12; ++i) {
    const double category = i < 5 ? 0 : i < 9 ? 1 : 2;
    rows.push_back({{category}, category == 2 ? 0u : 1u});
  }
  return MakeTable({Categorical("c", {"u", "v", "w"})}, rows);
}

TEST(PartitionRulesTest, CategoriesAreCutOneAgainstTheRest) {
  EXPECT_EQ(Grow(Categories(), {.max_depth = 1}).nodes()[0].threshold, 2);
  EXPECT_EQ(Grow(Categories(), {.rule = SplitRule::kCart, .max_depth = 1}).nodes()[0].threshold, 2);
  const PartitionOptions random = {.rule = SplitRule::kRandomMaxEdge, .max_depth = 1};
  EXPECT_EQ(Grow(Categories(), random).nodes()[0].threshold, 0);
  EXPECT_EQ(Grow(Categories(), {.max_depth = 9}).num_leaves(), 3u);
  EXPECT_EQ(Grow(Categories(), {.rule = SplitRule::kCart}).num_leaves(), 2u) << "pure by then";
}

TEST(PartitionRulesTest, TheEdgeOfTheRemainingCategoriesIsShorterThanAWholeOne) {
  // Both features separate the classes. The category goes first, as the lower feature; then the
  // numeric edge (1) is longer than that of the remaining categories (3 of 4).
  std::vector<Labelled> rows;
  for (int i = 0; i < 12; ++i) {
    rows.push_back({{static_cast<double>(i % 3), i < 6 ? 0.0 : 10.0}, i % 3 == 0 ? 0u : 1u});
  }
  const Table table = MakeTable({Categorical("c", {"u", "v", "w"}), Numeric("x", 0, 10)}, rows);
  const Tree tree = Grow(table, {.max_depth = 3});
  EXPECT_EQ(tree.nodes()[0].kind, SplitKind::kCategory);
  const Node& rest = tree.nodes()[tree.nodes()[0].right];
  EXPECT_EQ(rest.kind, SplitKind::kNumeric);
  EXPECT_EQ(tree.nodes()[rest.left].kind, SplitKind::kCategory);
}

TEST(PartitionRulesTest, CartStopsWhereNothingDecreases) {
  // Exclusive or: no single cut decreases the impurity.
  const Table table = MakeTable({Numeric("x", 0, 1), Numeric("z", 0, 1)},
                                {{{0, 0}, 0}, {{0, 1}, 1}, {{1, 0}, 1}, {{1, 1}, 0}});
  EXPECT_EQ(Grow(table, {.rule = SplitRule::kCart}).num_leaves(), 1u);
  EXPECT_EQ(Grow(table, {.rule = SplitRule::kMaxEdge}).num_leaves(), 4u);
}

TEST(PartitionRulesTest, CartSeparatesMissingFromPresent) {
  const Table table = MakeTable({Numeric("x", 0, 10)},
                                {{{kMissingValue}, 0}, {{kMissingValue}, 0}, {{2}, 1}, {{2}, 1}});
  const Tree tree = Grow(table, {.rule = SplitRule::kCart});
  ASSERT_EQ(tree.num_leaves(), 2u);
  EXPECT_EQ(tree.nodes()[0].kind, SplitKind::kMissing);
}

TEST(PartitionRulesTest, TheCriterionDecides) {
  // x cuts (1 a, 1 b) from (4 a, 1 b); z cuts (1 a) from (4 a, 2 b).
  // Decreases: Gini 0.037 and 0.027, entropy 0.062 and 0.076.
  const Table table = MakeTable(
      {Numeric("x", 0, 1), Numeric("z", 0, 1)},
      {{{0, 0}, 0}, {{1, 1}, 0}, {{1, 1}, 0}, {{1, 1}, 0}, {{1, 1}, 0}, {{0, 1}, 1}, {{1, 1}, 1}});
  const auto feature = [&table](Criterion criterion) {
    return Grow(table, {.criterion = criterion, .max_depth = 1}).nodes()[0].feature;
  };
  EXPECT_EQ(feature(Criterion::kGini), 0u);
  EXPECT_EQ(feature(Criterion::kEntropy), 1u);
}

TEST(PartitionRulesTest, DepthZeroAndASingleRowAreASingleLeaf) {
  const Table one = MakeTable({Numeric("x", 0, 1)}, {{{0.5}, 0}});
  for (const SplitRule rule : {SplitRule::kMaxEdge, SplitRule::kRandomMaxEdge, SplitRule::kCart}) {
    EXPECT_EQ(Grow(Corners(), {.rule = rule, .max_depth = 0}), Tree::SingleLeaf());
    EXPECT_EQ(Grow(one, {.rule = rule}), Tree::SingleLeaf());
  }
}

// Rows on a line, of class a below 50 and b above.
Table Line(size_t rows) {
  Table table(std::make_shared<const Schema>(
      *Schema::Create({Numeric("x", 0, 100), Numeric("z", 0, 1)}, "y", {"a", "b"})));
  for (size_t i = 0; i < rows; ++i) {
    const double x = 100.0 * static_cast<double>(i) / static_cast<double>(rows);
    table.Append({x, 0.5}, x < 50 ? 0 : 1);
  }
  return table;
}

TEST(PartitionRulesTest, RandomCutsGrowSmallTreesThatFollowTheLabels) {
  const PartitionOptions options = {.rule = SplitRule::kRandomCut,
                                    .max_depth = kMaxDepth,
                                    .min_leaf = 5,
                                    .trees = 8,
                                    .max_leaves = 6};
  const Table rows = Line(100);
  const Forest forest = *GrowPartition(rows, options);
  for (uint32_t t = 0; t < forest.size(); ++t) {
    EXPECT_GE(forest[t].num_leaves(), 2u);
    EXPECT_LE(forest[t].num_leaves(), 6u);
    const std::vector<uint32_t> bag = BagOf(rows.num_rows(), options, t);
    std::vector<uint32_t> drawn(forest[t].num_leaves());
    for (size_t i = 0; i < rows.num_rows(); ++i) drawn[forest[t].FindLeaf(rows.row(i))] += bag[i];
    EXPECT_GE(*std::min_element(drawn.begin(), drawn.end()), 5u)
        << "the bag is what the tree was grown on";
    for (const Node& node : forest[t].nodes()) {
      EXPECT_TRUE(node.kind == SplitKind::kLeaf || node.feature == 0) << "the other is constant";
    }
  }
  EXPECT_EQ(forest, *GrowPartition(rows, options));
  EXPECT_NE(forest[0], forest[1]);
}

TEST(PartitionRulesTest, RandomCutsNeedALimitOnLeavesAndLabels) {
  const auto refused = [](PartitionOptions options, std::string_view message) {
    options.rule = SplitRule::kRandomCut;
    EXPECT_THAT(GrowPartition(Line(20), options).status(),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr(message)));
  };
  refused({.max_depth = kMaxDepth}, "max_leaves");
  refused({.max_depth = 5, .max_leaves = 4}, "max_depth is not for random_cut");
  refused({.max_depth = kMaxDepth, .max_leaves = 4, .use_labels = false}, "hybrid");
}

}  // namespace
}  // namespace coppice::curator
