#include "server/trainers/boosting/boost_tree.h"

#include <cmath>
#include <map>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "tests/server/trainers/tables.h"
#include "tests/support/scripted_random.h"
#include "tests/support/seeded_random.h"
#include "tests/support/status_matchers.h"

namespace coppice::trainers {
namespace {

using namespace ::coppice::testing;  // NOLINT: most names in this file are the suites'.

const LevelShares kExact = {.select = BudgetShare::WithoutPrivacy(),
                            .measure = BudgetShare::WithoutPrivacy()};

LevelShares Level(const char* epsilon) {
  return {.select = BudgetShare(*Budget::Parse(epsilon)),
          .measure = BudgetShare(*Budget::Parse(epsilon))};
}

// Grows a tree of whole children only.
StatusOr<BoostTree> GrowWhole(const Schema& schema, const BinnedRows& rows,
                              const std::vector<LevelShares>& levels, BoostTask& task,
                              PrivateReleaser& releaser) {
  COPPICE_ASSIGN_OR_RETURN(
      std::vector<BoostTree> trees,
      GrowBoostTree(schema, JointColumns(rows), levels, ChildDetail{}, task, releaser));
  EXPECT_EQ(trees.size(), 1u);
  return std::move(trees.front());
}

// "yes" exactly for values of at least a half.
Table Halves() {
  const auto schema = std::make_shared<const Schema>(
      *Schema::Create({Numeric("x", 0, 1), Numeric("noise", 0, 1)}, "label", {"no", "yes"}));
  Table table(schema);
  for (int i = 0; i < 64; ++i) table.Append(Row{i / 64.0, (i * 37 % 64) / 64.0}, i < 32 ? 0 : 1);
  return table;
}

TEST(GrowBoostTreeTest, WithoutNoiseTheBestSplitIsTakenAndItsSidesGetTheirAnswers) {
  const Table table = Halves();
  const BinnedRows rows = Binned(table, 7);
  const auto task = ClassTask(rows.labels(), 2);
  SeededRandom random(1);
  PrivateReleaser releaser(SelectionRule::kPermuteAndFlip, random);
  ASSERT_OK_AND_ASSIGN(const BoostTree tree,
                       GrowWhole(table.schema(), rows, {kExact}, *task, releaser));
  ASSERT_EQ(tree.tree.num_leaves(), 2u);
  EXPECT_EQ(tree.tree.nodes()[0].feature, 0u);
  EXPECT_DOUBLE_EQ(tree.tree.nodes()[0].threshold, 0.5);
  // 32 halves against none, with half a unit added to both.
  EXPECT_NEAR(tree.scores[0][0], -std::log(33.0), 1e-9);
  EXPECT_NEAR(tree.scores[1][0], std::log(33.0), 1e-9);
}

// Predictions add up the scores that training went on with, whatever the splits were.
TEST(GrowBoostTreeTest, LeavesHoldTheScoresThatTheirRowsHave) {
  for (const uint32_t classes : {2u, 3u}) {
    const Table table = RandomTable(MixedClasses(classes), {.rows = 300}, 4);
    const BinnedRows rows = Binned(table, 7);
    const auto task = ClassTask(rows.labels(), classes);
    SeededRandom random(2);
    PrivateReleaser releaser(SelectionRule::kPermuteAndFlip, random);
    ASSERT_OK_AND_ASSIGN(
        const BoostTree tree,
        GrowWhole(table.schema(), rows, {Level("1"), Level("1"), Level("1")}, *task, releaser));
    ASSERT_EQ(tree.scores.size(), tree.tree.num_leaves());
    for (size_t row = 0; row < table.num_rows(); ++row) {
      const std::vector<double>& of_leaf = tree.scores[tree.tree.FindLeaf(table.row(row))];
      for (size_t output = 0; output < of_leaf.size(); ++output) {
        ASSERT_DOUBLE_EQ(of_leaf[output], task->scores(output)[row]);
      }
    }
  }
}

TEST(GrowBoostTreeTest, AllCategoriesMayBeParted) {
  const auto schema = std::make_shared<const Schema>(
      *Schema::Create({Categorical("colour", {"red", "green", "blue"})}, "label", {"no", "yes"}));
  Table table(schema);
  // Neighbouring categories differ, so no split in two separates them all. Other and missing values
  // are one child.
  const uint32_t labels[] = {0, 1, 0, 1};
  for (int i = 0; i < 80; ++i) {
    const double value = i % 5 == 4 ? kMissingValue : i % 5;
    table.Append(Row{value}, i % 5 == 4 ? 1 : labels[i % 5]);
  }
  const BinnedRows rows = Binned(table, 7);
  const auto task = ClassTask(rows.labels(), 2);
  SeededRandom random(1);
  PrivateReleaser releaser(SelectionRule::kPermuteAndFlip, random);
  ASSERT_OK_AND_ASSIGN(const BoostTree tree, GrowWhole(*schema, rows, {kExact}, *task, releaser));
  EXPECT_EQ(tree.tree.num_leaves(), 4u);
  for (size_t row = 0; row < table.num_rows(); ++row) {
    const double score = tree.scores[tree.tree.FindLeaf(table.row(row))][0];
    EXPECT_EQ(score > 0, table.label(row) == 1) << row;
    EXPECT_DOUBLE_EQ(score, task->scores(0)[row]);
  }
}

// If a level has a tree of its own, the sum over these trees is the rows' score.
TEST(GrowBoostTreeTest, TreesOfPartsAddUpToTheScoresThatRowsHave) {
  const Table table = RandomTable(MixedClasses(2), {.rows = 400}, 4);
  const BinnedRows rows = Binned(table, 15);
  const ChildDetail details[] = {{.runs = 4},
                                 {.runs = 4, .categories = true, .tilt = 0.3},
                                 {.runs = 1, .categories = true, .tilt = 0.3}};
  for (const ChildDetail& detail : details) {
    size_t most = 0;
    for (uint64_t seed = 0; seed < 8; ++seed) {
      const auto task = ClassTask(rows.labels(), 2);
      SeededRandom random(seed);
      PrivateReleaser releaser(SelectionRule::kPermuteAndFlip, random);
      ASSERT_OK_AND_ASSIGN(
          const std::vector<BoostTree> trees,
          GrowBoostTree(table.schema(), JointColumns(rows), {Level("1"), Level("1"), Level("1")},
                        detail, *task, releaser));
      most = std::max(most, trees.size());
      for (size_t row = 0; row < table.num_rows(); ++row) {
        double sum = 0;
        for (const BoostTree& tree : trees) {
          sum += tree.scores[tree.tree.FindLeaf(table.row(row))][0];
        }
        ASSERT_NEAR(sum, task->scores(0)[row], 1e-12);
      }
    }
    EXPECT_EQ(most, 3u) << "a tree for every level with parts";
  }
}

TEST(GrowBoostTreeTest, OtherCategoriesAreMeasuredOneByOne) {
  const auto schema = std::make_shared<const Schema>(
      *Schema::Create({Categorical("colour", {"red", "green", "blue"})}, "label", {"no", "yes"}));
  Table table(schema);
  // Red is split off; the other rows tell how much green and blue are.
  for (int i = 0; i < 90; ++i) table.Append(Row{0.0}, 1);
  for (int i = 0; i < 60; ++i) table.Append(Row{1.0}, i < 6 ? 1 : 0);
  for (int i = 0; i < 60; ++i) table.Append(Row{2.0}, i < 24 ? 1 : 0);
  const BinnedRows rows = Binned(table, 7);
  const LevelShares level = {.select = BudgetShare::WithoutPrivacy(),
                             .measure = BudgetShare(*Budget::Parse("20"))};
  // A split into all colours at once scores no better, and loses to its noise.
  const auto grown = [&](const ChildDetail& detail) {
    const auto task = ClassTask(rows.labels(), 2);
    SeededRandom random(1);
    PrivateReleaser releaser(SelectionRule::kPermuteAndFlip, random);
    std::vector<BoostTree> trees =
        *GrowBoostTree(*schema, JointColumns(rows), {level}, detail, *task, releaser);
    EXPECT_EQ(trees.size(), 1u);
    EXPECT_EQ(trees[0].tree.nodes()[0].threshold, 0);
    return std::move(trees[0]);
  };
  const auto score = [](const BoostTree& tree, double colour) {
    return tree.scores[tree.tree.FindLeaf(Row{colour})][0];
  };
  const BoostTree whole = grown({}), parts = grown({.categories = true});
  EXPECT_EQ(whole.tree.num_leaves(), 2u);
  EXPECT_EQ(score(whole, 1), score(whole, 2));
  EXPECT_EQ(parts.tree.num_leaves(), 4u) << "red, green, blue, others and missing";
  EXPECT_NEAR(score(parts, 1), std::log(6.0 / 54), 0.1);
  EXPECT_NEAR(score(parts, 2), std::log(24.0 / 36), 0.1);
  EXPECT_EQ(score(parts, 3), score(parts, kMissingValue));
}

// Scores rise from run to run towards the other child's, and keep their mean.
TEST(GrowBoostTreeTest, ATiltKeepsTheMeanOfAChild) {
  const Table table = Halves();
  const BinnedRows rows = Binned(table, 15);
  SeededRandom random(1);
  PrivateReleaser releaser(SelectionRule::kPermuteAndFlip, random);
  const auto whole_task = ClassTask(rows.labels(), 2), task = ClassTask(rows.labels(), 2);
  ASSERT_OK_AND_ASSIGN(const BoostTree whole,
                       GrowWhole(table.schema(), rows, {kExact}, *whole_task, releaser));
  const double left = whole.scores[0][0], right = whole.scores[1][0];
  ASSERT_OK_AND_ASSIGN(
      const std::vector<BoostTree> trees,
      GrowBoostTree(table.schema(), JointColumns(rows), {kExact}, {.tilt = 0.2}, *task, releaser));
  ASSERT_EQ(trees.size(), 1u);
  ASSERT_EQ(trees[0].scores.size(), 8u);
  double sums[] = {0, 0};
  for (size_t leaf = 0; leaf < 8; ++leaf) {
    sums[leaf / 4] += trees[0].scores[leaf][0] / 4;
    if (leaf % 4 == 0) continue;
    EXPECT_NEAR(trees[0].scores[leaf][0] - trees[0].scores[leaf - 1][0], 0.05 * (right - left),
                1e-9);
  }
  EXPECT_NEAR(sums[0], left, 1e-9);
  EXPECT_NEAR(sums[1], right, 1e-9);
}

TEST(GrowBoostTreeTest, NoRowsMakeAWholeTreeToo) {
  const Table table(MixedClasses());
  const BinnedRows rows = Binned(table, 7);
  const auto task = ClassTask(rows.labels(), 3);
  SeededRandom random(3);
  PrivateReleaser releaser(SelectionRule::kPermuteAndFlip, random);
  ASSERT_OK_AND_ASSIGN(const BoostTree tree,
                       GrowWhole(table.schema(), rows, {Level("1"), Level("1")}, *task, releaser));
  EXPECT_GE(tree.tree.num_leaves(), 4u);
}

TEST(ReleaseConstantTest, IsTheMeasurementOfAllRowsAsOneLeaf) {
  const std::vector<uint32_t> targets(1000, kTargetSteps / 2);
  Table table(MixedRegression());
  for (int i = 0; i < 1000; ++i) {
    table.AppendTarget(Row(table.schema().num_features(), kMissingValue), 2);
  }
  const BinnedRows rows = Binned(table, 7);
  // All rows are a quarter of the reach above the middle, which is 0.625 of a step.
  const auto task = NumberTask(rows.targets(), kTargetSteps * 0.25, kTargetSteps);
  ScriptedRandom nothing({});
  PrivateReleaser releaser(SelectionRule::kPermuteAndFlip, nothing);
  ASSERT_OK_AND_ASSIGN(const BoostTree leaf,
                       ReleaseConstant(rows, BudgetShare::WithoutPrivacy(), *task, releaser));
  EXPECT_NEAR(leaf.scores[0][0], 0.25, 1e-3);
  EXPECT_DOUBLE_EQ(task->scores(0)[7], leaf.scores[0][0]);
  EXPECT_EQ(leaf.noise[0][0].variance, 0) << "there is none";
}

}  // namespace
}  // namespace coppice::trainers
