#include "common/predictor/tree_grower.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "tests/common/predictor/rows.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using ::coppice::testing::Categorical;
using ::coppice::testing::ClassTable;
using ::coppice::testing::FindGrownLeaf;
using ::coppice::testing::MixedFeatures;
using ::coppice::testing::MixedRows;
using ::coppice::testing::Numeric;
using ::coppice::testing::RandomLabels;
using ::coppice::testing::Whole;

constexpr uint32_t kAll = 1000;  // features per cell: all of them

std::vector<uint32_t> EachOnce(const Table& table) {
  return std::vector<uint32_t>(table.num_rows(), 1);
}

TreeTargets LabelsOf(const Table& table) {
  return {.labels = table.labels(), .classes = table.schema().num_classes()};
}

GrownTree GrowOn(const Table& table, const TreeTargets& targets, const std::vector<uint32_t>& drawn,
                 const GrowOptions& options, uint64_t seed = 1) {
  const SortedFeatures features(table);
  TreeGrower grower(features);
  PublicRandom random(seed);
  GrownTree tree;
  grower.Grow(targets, drawn, options, random, tree);
  return tree;
}

// Answers of a row as a vector: one-hot for classes.
std::vector<double> AnswerOf(const TreeTargets& targets, size_t row) {
  if (!targets.are_classes()) {
    const double* first = targets.numbers.data() + row * targets.columns;
    return {first, first + targets.columns};
  }
  std::vector<double> answer(targets.classes);
  answer[targets.labels[row]] = 1;
  return answer;
}

// Squares of a group of rows around 0 that its mean explains: |sum|^2 / rows.
double Explained(const TreeTargets& targets, const std::vector<uint32_t>& drawn,
                 const std::vector<uint32_t>& rows) {
  std::vector<double> sum(AnswerOf(targets, 0).size());
  double count = 0, squares = 0;
  for (const uint32_t row : rows) {
    const std::vector<double> answer = AnswerOf(targets, row);
    for (size_t k = 0; k < sum.size(); ++k) sum[k] += drawn[row] * answer[k];
    count += drawn[row];
  }
  for (const double x : sum) squares += x * x;
  return squares / count;
}

// What a cut of the whole table explains; negative if a side has fewer rows than `min_rows`.
double GainOf(const Table& table, const TreeTargets& targets, const std::vector<uint32_t>& drawn,
              const Node& node, uint32_t min_rows) {
  std::vector<uint32_t> all, left, right;
  uint32_t left_rows = 0, right_rows = 0;
  for (uint32_t row = 0; row < table.num_rows(); ++row) {
    if (drawn[row] == 0) continue;
    const bool goes_left = GoesLeft(node, table.value(row, node.feature));
    (goes_left ? left : right).push_back(row);
    (goes_left ? left_rows : right_rows) += drawn[row];
    all.push_back(row);
  }
  if (left.empty() || right.empty() || left_rows < min_rows || right_rows < min_rows) return -1;
  return Explained(targets, drawn, left) + Explained(targets, drawn, right) -
         Explained(targets, drawn, all);
}

// Every cut that the header allows.
std::vector<Node> AllCuts(const Table& table) {
  std::vector<Node> cuts;
  for (uint32_t f = 0; f < table.schema().num_features(); ++f) {
    const Feature& feature = table.schema().features()[f];
    cuts.push_back({.kind = SplitKind::kMissing, .feature = f});
    for (const double value : table.column(f)) {
      if (IsMissing(value)) continue;
      if (feature.type == FeatureType::kNumeric) {
        cuts.push_back({.kind = SplitKind::kNumeric,
                        .missing_left = true,
                        .feature = f,
                        .threshold = value + 0.01});
      } else {
        cuts.push_back({.kind = SplitKind::kCategory, .feature = f, .threshold = value});
      }
    }
  }
  return cuts;
}

void ExpectBestRoot(const Table& table, const TreeTargets& targets,
                    const std::vector<uint32_t>& drawn, uint32_t min_rows) {
  const GrownTree tree = GrowOn(table, targets, drawn,
                                {.features_per_cell = kAll, .min_rows = min_rows, .max_leaves = 2});
  double best = 0;
  for (const Node& cut : AllCuts(table)) {
    best = std::max(best, GainOf(table, targets, drawn, cut, min_rows));
  }
  if (best < 1e-9) {
    EXPECT_EQ(tree.num_leaves(), 1u) << "no cut explains anything";
    return;
  }
  EXPECT_NEAR(GainOf(table, targets, drawn, tree.nodes[0], min_rows), best, 1e-9 * best);
}

TEST(TreeGrowerTest, FindsTheCutThatAllCutsTriedOneByOneFind) {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    const Table table =
        ClassTable(MixedFeatures(), 4, MixedRows(40, seed), RandomLabels(40, 4, seed + 100));
    std::vector<uint32_t> drawn = RandomLabels(40, 3, seed + 200);  // 0 to 2 times
    std::vector<double> numbers, vectors;
    PublicRandom random(seed);
    for (int i = 0; i < 40; ++i) numbers.push_back(random.Unit() - 0.3);
    for (int i = 0; i < 120; ++i) vectors.push_back(random.Unit() - 0.3);
    for (const uint32_t min_rows : {1u, 4u, 15u}) {
      SCOPED_TRACE(::testing::Message() << "seed " << seed << ", at least " << min_rows);
      ExpectBestRoot(table, LabelsOf(table), drawn, min_rows);
      ExpectBestRoot(table, {.numbers = numbers, .columns = 1}, drawn, min_rows);
      ExpectBestRoot(table, {.numbers = vectors, .columns = 3}, drawn, min_rows);
    }
  }
}

TEST(TreeGrowerTest, PutsEveryDrawnRowIntoTheLeafThatItsValuesLeadTo) {
  for (const CutRule rule : {CutRule::kBest, CutRule::kRandom}) {
    for (uint64_t seed = 0; seed < 20; ++seed) {
      const Table table =
          ClassTable(MixedFeatures(), 3, MixedRows(60, seed), RandomLabels(60, 3, seed + 100));
      const std::vector<uint32_t> drawn = RandomLabels(60, 3, seed + 200);
      const GrownTree tree =
          GrowOn(table, LabelsOf(table), drawn, {.rule = rule, .features_per_cell = 2}, seed);
      for (size_t row = 0; row < table.num_rows(); ++row) {
        if (drawn[row] == 0) continue;
        EXPECT_EQ(tree.leaf_of_row[row], FindGrownLeaf(tree.nodes, table.row(row)));
      }
    }
  }
}

TEST(TreeGrowerTest, BestCutsGoOnUntilEveryLeafIsPure) {
  std::vector<Row> rows;
  PublicRandom random(3);
  for (int i = 0; i < 100; ++i) rows.push_back({random.Unit()});
  const Table table = ClassTable({Numeric("x", 0, 1)}, 2, rows, RandomLabels(100, 2, 4));
  const GrownTree tree = GrowOn(table, LabelsOf(table), EachOnce(table), {});
  std::vector<std::set<uint32_t>> labels(tree.nodes.size());
  for (size_t row = 0; row < 100; ++row) labels[tree.leaf_of_row[row]].insert(table.label(row));
  for (const std::set<uint32_t>& of_leaf : labels) EXPECT_LE(of_leaf.size(), 1u);
}

TEST(TreeGrowerTest, LeavesNoSideFewerRowsThanTheLeast) {
  const Table table = ClassTable(MixedFeatures(), 2, MixedRows(200, 5), RandomLabels(200, 2, 6));
  for (const CutRule rule : {CutRule::kBest, CutRule::kRandom}) {
    const std::vector<uint32_t> drawn = RandomLabels(200, 3, 7);
    const GrownTree tree = GrowOn(table, LabelsOf(table), drawn,
                                  {.rule = rule, .features_per_cell = kAll, .min_rows = 9});
    ASSERT_GT(tree.num_leaves(), 3u);
    std::vector<uint32_t> rows(tree.nodes.size());
    for (size_t row = 0; row < 200; ++row) {
      if (drawn[row] > 0) rows[tree.leaf_of_row[row]] += drawn[row];
    }
    for (size_t node = 0; node < rows.size(); ++node) {
      if (tree.nodes[node].kind == SplitKind::kLeaf) {
        EXPECT_GE(rows[node], 9u);
      }
    }
  }
}

TEST(TreeGrowerTest, ALimitOnLeavesGivesTheFirstPartOfTheSameTree) {
  const Table table = ClassTable(MixedFeatures(), 3, MixedRows(100, 8), RandomLabels(100, 3, 9));
  for (const CutRule rule : {CutRule::kBest, CutRule::kRandom}) {
    const GrowOptions options = {.rule = rule, .features_per_cell = 1};
    const GrownTree whole = GrowOn(table, LabelsOf(table), EachOnce(table), options);
    ASSERT_GT(whole.num_leaves(), 20u);
    for (const uint32_t leaves : {1u, 2u, 7u, 16u}) {
      GrowOptions limited = options;
      limited.max_leaves = leaves;
      const GrownTree part = GrowOn(table, LabelsOf(table), EachOnce(table), limited);
      EXPECT_EQ(part.num_leaves(), leaves);
      ASSERT_OK_AND_ASSIGN(const FinishedTree cut_short,
                           FinishTree(whole.nodes, table.schema(), leaves));
      ASSERT_OK_AND_ASSIGN(const FinishedTree finished, FinishTree(part.nodes, table.schema()));
      EXPECT_EQ(cut_short.tree, finished.tree);
      EXPECT_EQ(cut_short.node_of_leaf, finished.node_of_leaf);
    }
  }
}

TEST(TreeGrowerTest, FinishedTreesLeadRowsToTheSameLeaves) {
  const Table table = ClassTable(MixedFeatures(), 3, MixedRows(100, 8), RandomLabels(100, 3, 9));
  const GrownTree grown = GrowOn(table, LabelsOf(table), EachOnce(table),
                                 {.rule = CutRule::kRandom, .features_per_cell = 2});
  ASSERT_OK_AND_ASSIGN(const FinishedTree finished, FinishTree(grown.nodes, table.schema()));
  for (size_t row = 0; row < table.num_rows(); ++row) {
    EXPECT_EQ(finished.node_of_leaf[finished.tree.FindLeaf(table.row(row))],
              grown.leaf_of_row[row]);
  }
}

TEST(TreeGrowerTest, RowsThatAreNotDrawnChangeNothing) {
  const std::vector<Row> rows = MixedRows(60, 10);
  std::vector<uint32_t> labels = RandomLabels(60, 2, 11), other = labels, drawn(60, 1);
  for (size_t i = 0; i < 60; i += 3) {
    drawn[i] = 0;
    other[i] = 1 - labels[i];
  }
  const Table table = ClassTable(MixedFeatures(), 2, rows, labels);
  const Table changed = ClassTable(MixedFeatures(), 2, rows, other);
  for (const CutRule rule : {CutRule::kBest, CutRule::kRandom}) {
    const GrowOptions options = {.rule = rule, .features_per_cell = 2};
    EXPECT_EQ(GrowOn(table, LabelsOf(table), drawn, options).nodes,
              GrowOn(changed, LabelsOf(changed), drawn, options).nodes);
  }
}

TEST(TreeGrowerTest, ARowDrawnTwiceCountsAsTwoRows) {
  std::vector<Row> rows = MixedRows(40, 12);
  std::vector<uint32_t> labels = RandomLabels(40, 2, 13), drawn(40, 1);
  const Table table = ClassTable(MixedFeatures(), 2, rows, labels);
  for (size_t i = 0; i < 10; ++i) {
    drawn[i] = 2;
    rows.push_back(rows[i]);
    labels.push_back(labels[i]);
  }
  const Table doubled = ClassTable(MixedFeatures(), 2, rows, labels);
  const GrowOptions options = {.features_per_cell = kAll, .min_rows = 3};
  EXPECT_EQ(GrowOn(table, LabelsOf(table), drawn, options).nodes,
            GrowOn(doubled, LabelsOf(doubled), EachOnce(doubled), options).nodes);
}

TEST(TreeGrowerTest, ConstantFeaturesDoNotCountAsTried) {
  std::vector<Feature> features;
  for (int f = 0; f < 20; ++f) features.push_back(Numeric("x" + std::to_string(f), 0, 1));
  std::vector<Row> rows(10, Row(20));
  std::vector<uint32_t> labels(10);
  for (size_t i = 0; i < 10; ++i) rows[i][7] = labels[i] = i % 2;
  const Table table = ClassTable(features, 2, rows, labels);
  for (const CutRule rule : {CutRule::kBest, CutRule::kRandom}) {
    for (uint64_t seed = 0; seed < 20; ++seed) {
      const GrownTree tree = GrowOn(table, LabelsOf(table), EachOnce(table),
                                    {.rule = rule, .features_per_cell = 1}, seed);
      ASSERT_EQ(tree.num_leaves(), 2u);
      EXPECT_EQ(tree.nodes[0].feature, 7u);
    }
  }
}

TEST(TreeGrowerTest, TriesAsManyFeaturesAsAskedFor) {
  // The second feature separates the classes better than the first: whoever tries both takes it.
  std::vector<Row> rows;
  std::vector<uint32_t> labels;
  for (uint32_t i = 0; i < 20; ++i) {
    labels.push_back(i % 2);
    rows.push_back({i % 2 + (i < 4 ? 0.5 : 0.0), static_cast<double>(i % 2)});
    if (i < 2) rows.back()[0] = 1 - rows.back()[0];
  }
  const Table table =
      ClassTable({Numeric("worse", -1, 2), Numeric("better", 0, 1)}, 2, rows, labels);
  uint32_t better = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    better += GrowOn(table, LabelsOf(table), EachOnce(table),
                     {.features_per_cell = 1, .max_leaves = 2}, seed)
                  .nodes[0]
                  .feature;
    EXPECT_EQ(GrowOn(table, LabelsOf(table), EachOnce(table),
                     {.features_per_cell = 2, .max_leaves = 2}, seed)
                  .nodes[0]
                  .feature,
              1u);
  }
  EXPECT_NEAR(better, 200, 50);  // five deviations; the seeds are fixed
}

TEST(TreeGrowerTest, RandomThresholdsAreUniformBetweenTheLeastAndTheLargestValue) {
  const Table table = ClassTable({Numeric("x", 0, 8)}, 2, {{2}, {2}, {2}, {6}}, {0, 1, 0, 1});
  std::vector<int> quarters(4);
  for (uint64_t seed = 0; seed < 4000; ++seed) {
    const GrownTree tree = GrowOn(table, LabelsOf(table), EachOnce(table),
                                  {.rule = CutRule::kRandom, .max_leaves = 2}, seed);
    const double threshold = tree.nodes[0].threshold;
    ASSERT_GT(threshold, 2);
    ASSERT_LE(threshold, 6);
    ++quarters[std::min(3, static_cast<int>(threshold - 2))];
  }
  for (const int quarter : quarters) EXPECT_NEAR(quarter, 1000, 140);  // five deviations
}

TEST(TreeGrowerTest, RandomCutsSeparateMissingNumbersOneTimeInEight) {
  const Table table =
      ClassTable({Numeric("x", 0, 8)}, 2, {{kMissingValue}, {2}, {3}, {6}}, {0, 1, 0, 1});
  int missing = 0;
  for (uint64_t seed = 0; seed < 4000; ++seed) {
    const Node root = GrowOn(table, LabelsOf(table), EachOnce(table),
                             {.rule = CutRule::kRandom, .max_leaves = 2}, seed)
                          .nodes[0];
    missing += root.kind == SplitKind::kMissing ? 1 : 0;
    EXPECT_EQ(root.missing_left, root.kind == SplitKind::kNumeric);
  }
  EXPECT_NEAR(missing, 500, 105);
  const Table equal = ClassTable({Numeric("x", 0, 8)}, 2, {{kMissingValue}, {2}, {2}}, {0, 1, 1});
  EXPECT_EQ(
      GrowOn(equal, LabelsOf(equal), EachOnce(equal), {.rule = CutRule::kRandom}).nodes[0].kind,
      SplitKind::kMissing)
      << "no threshold lies between equal numbers";
}

TEST(TreeGrowerTest, RandomCategoriesAreDrawnAsOftenAsRowsHaveThem) {
  const Table table =
      ClassTable({Categorical("c", {"a", "b", "c"})}, 2,
                 {{0}, {0}, {0}, {0}, {1}, {1}, {kMissingValue}, {3}}, {0, 1, 0, 0, 1, 1, 1, 0});
  int first = 0, missing = 0, other = 0;
  for (uint64_t seed = 0; seed < 4000; ++seed) {
    const Node root = GrowOn(table, LabelsOf(table), EachOnce(table),
                             {.rule = CutRule::kRandom, .max_leaves = 2}, seed)
                          .nodes[0];
    missing += root.kind == SplitKind::kMissing ? 1 : 0;
    first += root.kind == SplitKind::kCategory && root.threshold == 0 ? 1 : 0;
    other += root.kind == SplitKind::kCategory && root.threshold == 3 ? 1 : 0;
  }
  EXPECT_NEAR(first, 2000, 160);
  EXPECT_NEAR(missing, 500, 105);
  EXPECT_NEAR(other, 500, 105);
}

TEST(TreeGrowerTest, ThresholdsOfWholeNumbersNameAWholeNumber) {
  const Table table = ClassTable({Whole("n", 0, 9)}, 2, {{1}, {2}, {5}, {9}}, {0, 0, 1, 1});
  for (const CutRule rule : {CutRule::kBest, CutRule::kRandom}) {
    for (uint64_t seed = 0; seed < 20; ++seed) {
      const double threshold =
          GrowOn(table, LabelsOf(table), EachOnce(table), {.rule = rule}, seed).nodes[0].threshold;
      EXPECT_EQ(threshold, WholeCut(threshold));
    }
  }
}

TEST(TreeGrowerTest, StopsBeforeATreeIsTooDeepToBeServed) {
  // Each random cut takes the largest power of two or a few off.
  std::vector<Row> rows;
  std::vector<double> numbers;
  for (int i = 0; i < 1000; ++i) {
    rows.push_back({std::ldexp(1.0, i)});
    numbers.push_back(i);
  }
  const Table table = ClassTable({Numeric("x", 0, 1e305)}, 2, rows, std::vector<uint32_t>(1000, 0));
  const GrownTree tree = GrowOn(table, {.numbers = numbers, .columns = 1}, EachOnce(table),
                                {.rule = CutRule::kRandom});
  ASSERT_OK_AND_ASSIGN(const FinishedTree finished, FinishTree(tree.nodes, table.schema()));
  EXPECT_EQ(finished.tree.depth(), kMaxModelDepth);
}

TEST(TreeGrowerTest, EqualNumbersAreNotCutWhateverTheirSize) {
  const Table table = ClassTable(MixedFeatures(), 2, MixedRows(30, 14), RandomLabels(30, 2, 15));
  for (const double number : {0.0, 1e-200, 0.1, 1e150}) {
    const std::vector<double> numbers(30, number), vectors(60, number);
    EXPECT_EQ(GrowOn(table, {.numbers = numbers, .columns = 1}, EachOnce(table), {}).num_leaves(),
              1u);
    EXPECT_EQ(GrowOn(table, {.numbers = vectors, .columns = 2}, EachOnce(table), {}).num_leaves(),
              1u);
  }
}

TEST(TreeGrowerTest, AGrowerMayBeUsedAgainForAnotherKindOfTree) {
  const Table table = ClassTable(MixedFeatures(), 2, MixedRows(60, 16), RandomLabels(60, 2, 17));
  const SortedFeatures features(table);
  TreeGrower grower(features);
  GrownTree again;
  for (const CutRule rule : {CutRule::kRandom, CutRule::kBest, CutRule::kRandom}) {
    const GrowOptions options = {.rule = rule, .features_per_cell = kAll};
    PublicRandom random(5);
    grower.Grow(LabelsOf(table), EachOnce(table), options, random, again);
    EXPECT_EQ(again.nodes, GrowOn(table, LabelsOf(table), EachOnce(table), options, 5).nodes);
  }
}

TEST(DrawBootstrapTest, DrawsAsManyRowsAsThereAreFromThemAlone) {
  PublicRandom random(1);
  std::vector<uint32_t> drawn(10, 7);
  const std::vector<uint32_t> from = {1, 4, 5, 8};
  DrawBootstrap(from, random, drawn);
  EXPECT_EQ(std::accumulate(drawn.begin(), drawn.end(), 0u), 4u);
  for (const size_t row : {0, 2, 3, 6, 7, 9}) EXPECT_EQ(drawn[row], 0u);
}

}  // namespace
}  // namespace coppice
