#include "common/predictor/learners.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <set>
#include <string>

#include "tests/common/predictor/rows.h"

namespace coppice {
namespace {

using ::coppice::testing::ClassTable;
using ::coppice::testing::FindGrownLeaf;
using ::coppice::testing::MixedFeatures;
using ::coppice::testing::MixedRows;
using ::coppice::testing::Numeric;
using ::coppice::testing::RandomLabels;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::Pointwise;

// One feature that is 0 or 1; a tree with one cut.
Table TwoCells(const std::vector<uint32_t>& labels, uint32_t classes, size_t in_first) {
  std::vector<Row> rows;
  for (size_t i = 0; i < labels.size(); ++i) rows.push_back({i < in_first ? 0.0 : 1.0});
  return ClassTable({Numeric("x", 0, 1)}, classes, rows, labels);
}

std::vector<uint32_t> AllRows(const Table& table) {
  std::vector<uint32_t> rows(table.num_rows());
  std::iota(rows.begin(), rows.end(), 0u);
  return rows;
}

LearnerOptions BoostingOf(uint32_t rounds) {
  return {.name = "boosting", .is_boosting = true, .trees = rounds, .grow = {.max_leaves = 2}};
}

FittedLearner FitOn(const Table& table, const LearnerOptions& options,
                    const LearnerAnswers& answers, const std::vector<uint32_t>& subset,
                    uint64_t seed = 1) {
  const SortedFeatures features(table);
  TreeGrower grower(features);
  PublicRandom random(seed);
  return FitLearner(options, answers, subset, grower, random);
}

std::vector<double> ScoresAt(const FittedLearner& learner, const Row& row, size_t columns,
                             const LearnerSize& size) {
  std::vector<double> scores(columns);
  learner.Score(row, size, absl::MakeSpan(scores));
  return scores;
}

TEST(ForestTest, ScoresARowByTheMeanOfItsLeavesShares) {
  // All rows, one cut: cell 0 has labels 0 0 1, cell 1 has 1 2.
  const Table table = TwoCells({0, 0, 1, 1, 2}, 3, 3);
  const LearnerOptions options = {.trees = 3,
                                  .grow = {.rule = CutRule::kRandom, .features_per_cell = 1}};
  const FittedLearner forest =
      FitOn(table, options, {.labels = table.labels(), .classes = 3}, AllRows(table));
  ASSERT_EQ(forest.trees.size(), 3u);
  for (const uint32_t trees : {1u, 2u, 3u}) {
    EXPECT_THAT(ScoresAt(forest, {0}, 3, {.trees = trees}),
                Pointwise(DoubleNear(1e-15), {2.0 / 3, 1.0 / 3, 0.0}));
    EXPECT_THAT(ScoresAt(forest, {1}, 3, {.trees = trees}),
                Pointwise(DoubleNear(1e-15), {0.0, 0.5, 0.5}));
  }
  EXPECT_THAT(ScoresAt(forest, {0}, 3, {.trees = 3, .max_leaves = 1}),
              Pointwise(DoubleNear(1e-15), {0.4, 0.4, 0.2}))
      << "one leaf has all rows";
}

TEST(ForestTest, ScoresNumbersByTheMeanOfItsLeavesMeans) {
  const Table table = TwoCells({0, 0, 0, 0, 0}, 2, 3);
  const std::vector<double> numbers = {-1, 0, -2, 4, 2};
  const FittedLearner forest =
      FitOn(table, {.trees = 2, .grow = {.rule = CutRule::kRandom, .min_rows = 2}},
            {.numbers = numbers}, AllRows(table));
  EXPECT_THAT(ScoresAt(forest, {0}, 1, {.trees = 2}), ElementsAre(-1));
  EXPECT_THAT(ScoresAt(forest, {1}, 1, {.trees = 2}), ElementsAre(3));
}

TEST(ForestTest, BagsAreDrawnFromTheSubsetAndCountTheirRepetitions) {
  // Without cuts a tree's shares are those of its bag.
  const Table table = ClassTable({Numeric("x", 0, 1)}, 3, {{0}, {0}, {0}, {0}}, {0, 1, 1, 2});
  std::vector<uint32_t> drawn(4);
  PublicRandom random(1);
  const std::vector<uint32_t> subset = {0, 1, 2};
  DrawBootstrap(subset, random, drawn);
  const FittedLearner forest = FitOn(table, {.draws_bootstraps = true, .trees = 1},
                                     {.labels = table.labels(), .classes = 3}, subset);
  EXPECT_THAT(ScoresAt(forest, {0}, 3, {.trees = 1}),
              Pointwise(DoubleNear(1e-15), {drawn[0] / 3.0, (drawn[1] + drawn[2]) / 3.0, 0.0}));
}

TEST(ForestTest, ShorterTreesSayTheMeanOfTheRowsBelow) {
  const Table table = ClassTable(MixedFeatures(), 3, MixedRows(80, 1), RandomLabels(80, 3, 2));
  const FittedLearner forest = FitOn(table, {.trees = 1, .grow = {.features_per_cell = 3}},
                                     {.labels = table.labels(), .classes = 3}, AllRows(table));
  for (const uint32_t leaves : {1u, 3u, 10u, 1000u}) {
    // By hand: the rows that reach the node where the row stops.
    std::vector<Node> nodes = forest.trees[0].nodes;
    for (Node& node : nodes) {
      if (node.left >= NodesOfLeaves(leaves)) node = Node{};
    }
    const Row row = table.row(17);
    std::vector<double> shares(3);
    double rows = 0;
    for (size_t i = 0; i < table.num_rows(); ++i) {
      if (FindGrownLeaf(nodes, table.row(i)) != FindGrownLeaf(nodes, row)) continue;
      ++shares[table.label(i)];
      ++rows;
    }
    for (double& share : shares) share /= rows;
    EXPECT_THAT(ScoresAt(forest, row, 3, {.trees = 1, .max_leaves = leaves}),
                Pointwise(DoubleNear(1e-15), shares));
  }
}

TEST(BoostingTest, OneRoundForTwoClassesIsTheNewtonStepOfTheLogLoss) {
  const Table table = TwoCells({1, 1, 0, 0, 0}, 2, 2);
  const FittedLearner fitted =
      FitOn(table, BoostingOf(1), {.labels = table.labels(), .classes = 2}, AllRows(table));
  const double start = std::log(2.5 / 3.5);  // (2 + 1/2) / (3 + 1/2)
  EXPECT_NEAR(fitted.base[1] - fitted.base[0], start, 1e-15);
  const double p = 1 / (1 + std::exp(-start)), h = p * (1 - p);
  // The cell of both rows of class 1: sum of residuals 2 (1 - p), of p (1 - p) 2 h.
  const double up = 0.1 * 2 * (1 - p) / (2 * h + 0.1), down = 0.1 * -3 * p / (3 * h + 0.1);
  EXPECT_THAT(ScoresAt(fitted, {0}, 2, {.trees = 1}),
              Pointwise(DoubleNear(1e-14), {fitted.base[0] - up, fitted.base[1] + up}));
  EXPECT_THAT(ScoresAt(fitted, {1}, 2, {.trees = 1}),
              Pointwise(DoubleNear(1e-14), {fitted.base[0] - down, fitted.base[1] + down}));
}

TEST(BoostingTest, OneRoundForThreeClassesStepsInEveryClass) {
  const Table table = TwoCells({2, 2, 0, 1}, 3, 2);
  const FittedLearner fitted =
      FitOn(table, BoostingOf(1), {.labels = table.labels(), .classes = 3}, AllRows(table));
  const std::vector<double> p = {1.5 / 5.5, 1.5 / 5.5, 2.5 / 5.5};
  const std::vector<double> sums = {-2 * p[0], -2 * p[1], 2 * (1 - p[2])};
  const std::vector<double> scores = ScoresAt(fitted, {0}, 3, {.trees = 1});
  for (size_t k = 0; k < 3; ++k) {
    EXPECT_NEAR(fitted.base[k], std::log(p[k]), 1e-15);
    EXPECT_NEAR(scores[k] - fitted.base[k], 0.1 * sums[k] / (2 * p[k] * (1 - p[k]) + 0.1), 1e-14);
  }
}

TEST(BoostingTest, RoundsForNumbersTakeTheRateOfWhatIsLeft) {
  const Table table = TwoCells({0, 0, 0, 0}, 2, 2);
  const std::vector<double> numbers = {3, 1, -2, -2};
  const FittedLearner fitted = FitOn(table, BoostingOf(2), {.numbers = numbers}, AllRows(table));
  EXPECT_EQ(fitted.base[0], 0);
  const double first = 0.1 * 4 / 2.1, second = 0.1 * (4 - 2 * first) / 2.1;
  EXPECT_NEAR(ScoresAt(fitted, {0}, 1, {.trees = 1})[0], first, 1e-15);
  EXPECT_NEAR(ScoresAt(fitted, {0}, 1, {.trees = 2})[0], first + second, 1e-15);
}

TEST(BoostingTest, NoStepIsLargerThanOne) {
  const Table table = TwoCells({0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}, 2, 11);
  const FittedLearner fitted =
      FitOn(table, BoostingOf(100), {.labels = table.labels(), .classes = 2}, AllRows(table));
  for (const LearnedTree& tree : fitted.trees) {
    for (const LearnedTree::Score& score : tree.scores) EXPECT_LE(std::abs(score.value), 1);
  }
}

TEST(BoostingTest, WithoutACutAllRowsMoveAlike) {
  const Table table = ClassTable({Numeric("x", 0, 1)}, 2, {{0}, {0}, {0}, {0}}, {1, 1, 1, 0});
  const FittedLearner fitted =
      FitOn(table, BoostingOf(100), {.labels = table.labels(), .classes = 2}, AllRows(table));
  EXPECT_TRUE(fitted.trees.empty());
  EXPECT_NEAR(fitted.base[1] - fitted.base[0], std::log(3), 0.01);
}

TEST(LearnersTest, TheSubsetAloneIsLearnedFrom) {
  const std::vector<Row> rows = MixedRows(60, 3);
  std::vector<uint32_t> labels = RandomLabels(60, 3, 4), other = labels, subset;
  for (uint32_t i = 0; i < 60; ++i) {
    if (i % 4 == 0) other[i] = (labels[i] + 1) % 3;
    if (i % 4 != 0) subset.push_back(i);
  }
  const Table table = ClassTable(MixedFeatures(), 3, rows, labels);
  const Table changed = ClassTable(MixedFeatures(), 3, rows, other);
  for (const LearnerOptions& options : StackedLearners(60, 3, 3, kNoLeafLimit)) {
    const LearnerSize size{.trees = options.trees};
    const FittedLearner fitted =
        FitOn(table, options, {.labels = table.labels(), .classes = 3}, subset);
    const FittedLearner same =
        FitOn(changed, options, {.labels = changed.labels(), .classes = 3}, subset);
    for (const Row& row : rows) {
      EXPECT_EQ(ScoresAt(fitted, row, 3, size), ScoresAt(same, row, 3, size)) << options.name;
    }
  }
}

TEST(StackedLearnersTest, AreSevenOfDifferentNamesAndSettings) {
  const std::vector<LearnerOptions> learners = StackedLearners(200, 14, 2, kNoLeafLimit);
  ASSERT_EQ(learners.size(), 7u);
  std::set<std::string_view> names;
  for (const LearnerOptions& learner : learners) names.insert(learner.name);
  EXPECT_EQ(names.size(), 7u);
  EXPECT_EQ(learners[0].grow.features_per_cell, 4u) << "the root of 14, rounded up";
  EXPECT_EQ(learners[1].grow.features_per_cell, 5u) << "a third of 14, rounded up";
  EXPECT_EQ(learners[1].grow.min_rows, 5u);
  EXPECT_EQ(learners[5].grow.min_rows, 10u);
  EXPECT_EQ(learners[6].grow.min_rows, 3u);
}

TEST(StackedLearnersTest, NumbersTryAllFeatures) {
  EXPECT_EQ(StackedLearners(200, 14, 0, kNoLeafLimit)[0].grow.features_per_cell, 14u);
}

TEST(StackedLearnersTest, FewRowsHaveSmallLeaves) {
  for (const size_t rows : {1, 19, 39}) {
    for (const LearnerOptions& learner : StackedLearners(rows, 3, 2, kNoLeafLimit)) {
      EXPECT_EQ(learner.grow.min_rows, 1u);
    }
  }
  EXPECT_EQ(StackedLearners(60, 3, 2, kNoLeafLimit)[5].grow.min_rows, 3u);
}

TEST(StackedLearnersTest, VeryManyClassesAreLeftToTheForests) {
  EXPECT_EQ(StackedLearners(200, 14, kMostBoostedClasses, kNoLeafLimit).size(), 7u);
  for (const LearnerOptions& learner :
       StackedLearners(200, 14, kMostBoostedClasses + 1, kNoLeafLimit)) {
    EXPECT_FALSE(learner.is_boosting);
  }
}

}  // namespace
}  // namespace coppice
