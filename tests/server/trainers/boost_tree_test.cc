#include "server/trainers/boosting/boost_tree.h"

#include <map>
#include <utility>

#include "common/base/status_macros.h"
#include "tests/server/trainers/tables.h"
#include "tests/support/scripted_random.h"
#include "tests/support/seeded_random.h"
#include "tests/support/status_matchers.h"

namespace coppice::trainers {
namespace {

using namespace ::coppice::testing;  // NOLINT: the suites' vocabulary is all of this file's.

const LevelShares kExact = {.select = BudgetShare::WithoutPrivacy(),
                            .measure = BudgetShare::WithoutPrivacy()};

LevelShares Level(const char* epsilon) {
  return {.select = BudgetShare(*Budget::Parse(epsilon)),
          .measure = BudgetShare(*Budget::Parse(epsilon))};
}

// Whole children only.
absl::StatusOr<BoostTree> GrowWhole(const Schema& schema, const BinnedRows& rows,
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
  // 32 halves against none, and half a unit on both sides.
  EXPECT_NEAR(tree.scores[0][0], -std::log(33.0), 1e-9);
  EXPECT_NEAR(tree.scores[1][0], std::log(33.0), 1e-9);
}

// What predictions add up is what training went on with, whatever the splits were.
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
  // Every category against its neighbour: no split in two parts them all. Other and missing values
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
  // All rows are a quarter of the reach above the middle: 0.625 of a step.
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
