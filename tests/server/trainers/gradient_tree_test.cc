#include "server/trainers/dpboost/gradient_tree.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "tests/server/trainers/tables.h"
#include "tests/support/seeded_random.h"
#include "tests/support/status_matchers.h"

namespace coppice::trainers {
namespace {

using namespace ::coppice::testing;  // NOLINT: most names in this file are the suites'.
using ::testing::ElementsAre;

constexpr Lambda kLambda{.numerator = 1, .denominator = 10};

RowResiduals RandomResiduals(std::vector<uint32_t> rows, size_t outputs, uint64_t seed) {
  std::mt19937_64 engine(seed);
  RowResiduals seen{.rows = std::move(rows), .values = {}};
  for (size_t k = 0; k < outputs; ++k) {
    seen.values.emplace_back();
    for (size_t i = 0; i < seen.rows.size(); ++i) {
      seen.values[k].push_back(static_cast<int32_t>(
          std::uniform_int_distribution<int64_t>(-kResidualSteps, kResidualSteps)(engine)));
    }
  }
  return seen;
}

std::vector<uint32_t> EveryOther(size_t rows) {
  std::vector<uint32_t> some;
  for (uint32_t row = 0; row < rows; row += 2) some.push_back(row);
  return some;
}

GradientTree Grow(const Table& table, const BinnedRows& binned, const RowResiduals& seen,
                  const GradientTreeOptions& options, uint64_t seed) {
  SeededRandom random(seed);
  PrivateReleaser releaser(SelectionRule::kPermuteAndFlip, random);
  HistogramBuilder histograms(binned);
  return *GrowGradientTree(table.schema(), binned, histograms, seen, options, releaser);
}

GradientTreeOptions Private(uint32_t depth, const char* epsilon) {
  return {.depth = depth, .split = BudgetShare(*Budget::Parse(epsilon)), .lambda = kLambda};
}

TEST(GradientTreeTest, RowsAreInTheLeavesThatTheirValuesLeadToWithTheirResiduals) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const Table table = RandomTable(MixedClasses(), {.rows = 200, .missing = 0.2}, seed);
    const BinnedRows binned = Binned(table, seed % 2 == 0 ? 5 : 63);
    const RowResiduals seen = RandomResiduals(EveryOther(200), 1 + seed % 3, seed);
    std::map<uint32_t, std::vector<int32_t>> of_row;
    for (size_t i = 0; i < seen.rows.size(); ++i) {
      for (const auto& values : seen.values) of_row[seen.rows[i]].push_back(values[i]);
    }
    for (const uint32_t depth : {0u, 1u, 3u, 7u}) {
      const GradientTree tree = Grow(table, binned, seen, Private(depth, "0.5"), seed);
      ASSERT_EQ(tree.grown.rows.size(), seen.rows.size());
      ASSERT_EQ(tree.grown.begin.size(), tree.grown.tree.num_leaves() + 1);
      for (uint32_t leaf = 0; leaf < tree.grown.tree.num_leaves(); ++leaf) {
        for (size_t i = tree.grown.begin[leaf]; i < tree.grown.begin[leaf + 1]; ++i) {
          const uint32_t row = tree.grown.rows[i];
          ASSERT_EQ(tree.grown.tree.FindLeaf(table.row(row)), leaf);
          std::vector<int32_t> residuals;
          for (const auto& values : tree.residuals) residuals.push_back(values[i]);
          ASSERT_EQ(residuals, of_row[row]);
          of_row[row].clear();
        }
      }
      for (auto& [row, residuals] : of_row) EXPECT_TRUE(residuals.empty()) << row;
      for (size_t i = 0; i < seen.rows.size(); ++i) {
        for (const auto& values : seen.values) of_row[seen.rows[i]].push_back(values[i]);
      }
    }
  }
}

// The gain of a split, computed row by row.
double GainOf(const BinnedRows& binned, const RowResiduals& seen, const BinSplit& split,
              uint32_t squared_norm) {
  double gain = 0;
  for (const bool left : {true, false}) {
    double count = 0;
    std::vector<double> sums(seen.values.size());
    for (size_t i = 0; i < seen.rows.size(); ++i) {
      if (split.GoesLeft(binned.column(split.feature)[seen.rows[i]]) != left) continue;
      ++count;
      for (size_t k = 0; k < sums.size(); ++k) {
        sums[k] += static_cast<double>(seen.values[k][i]) / kResidualSteps;
      }
    }
    for (const double sum : sums) gain += sum * sum / squared_norm / (count + 0.1);
  }
  return gain;
}

RowResiduals RowsOf(const Tree& tree, uint32_t node, const Table& table, const RowResiduals& seen) {
  RowResiduals inside{.rows = {}, .values = std::vector<std::vector<int32_t>>(seen.values.size())};
  for (size_t i = 0; i < seen.rows.size(); ++i) {
    const std::vector<uint32_t> path = tree.Path(table.row(seen.rows[i]));
    if (std::find(path.begin(), path.end(), node) == path.end()) continue;
    inside.rows.push_back(seen.rows[i]);
    for (size_t k = 0; k < seen.values.size(); ++k) inside.values[k].push_back(seen.values[k][i]);
  }
  return inside;
}

// Without noise every node has the best split of its cell, by gains summed row by row; also if its
// histogram is its parent's less its sibling's.
TEST(GradientTreeTest, WithoutPrivacyEveryNodeHasTheBestSplitOfItsRows) {
  for (uint64_t seed = 0; seed < 15; ++seed) {
    const Table table = RandomTable(MixedClasses(), {.rows = 150, .missing = 0.15}, seed);
    const BinnedRows binned = Binned(table, 7);
    const uint32_t outputs = 1 + seed % 3;
    const RowResiduals seen = RandomResiduals(EveryOther(150), outputs, seed);
    const GradientTreeOptions options{
        .depth = 3, .lambda = kLambda, .squared_norm = outputs > 1 ? 2u : 1u};
    const GradientTree tree = Grow(table, binned, seen, options, seed);
    const absl::Span<const Node> nodes = tree.grown.tree.nodes();
    std::vector<Cell> cells(nodes.size(), Cell(binned.bins()));
    for (uint32_t at = 0; at < nodes.size(); ++at) {
      if (nodes[at].kind == SplitKind::kLeaf) continue;
      const RowResiduals inside = RowsOf(tree.grown.tree, at, table, seen);
      double best = 0, chosen = -1;
      for (const uint32_t feature : cells[at].SplittableFeatures()) {
        for (const BinSplit& split : cells[at].Splits(feature)) {
          const double gain = GainOf(binned, inside, split, options.squared_norm);
          best = std::max(best, gain);
          const Node node = split.ToNode(binned.bins());
          if (node.kind != nodes[at].kind || node.feature != nodes[at].feature ||
              node.threshold != nodes[at].threshold) {
            continue;
          }
          chosen = gain;
          cells[nodes[at].left] = cells[at].Left(split);
          cells[nodes[at].right] = cells[at].Right(split);
        }
      }
      EXPECT_NEAR(chosen, best, 1e-4) << "seed " << seed << " node " << at;
    }
  }
}

TEST(GradientTreeTest, EmptyNodesAreGrownToo) {
  const auto schema =
      std::make_shared<const Schema>(*Schema::Create(NumericFeatures(3), "label", {"no", "yes"}));
  const Table empty(schema);
  const GradientTree tree =
      Grow(empty, Binned(empty, 255), {.rows = {}, .values = {{}}}, Private(5, "1"), 1);
  EXPECT_EQ(tree.grown.tree.num_leaves(), 32u);
}

// ---- leaves

GradientTree TwoLeaves(std::vector<int32_t> left, std::vector<int32_t> right) {
  GradientTree tree{.grown = {.tree = Tree::SingleLeaf(), .rows = {}, .begin = {0}},
                    .residuals = {{}}};
  tree.grown.begin.push_back(left.size());
  tree.grown.begin.push_back(left.size() + right.size());
  tree.grown.rows.resize(left.size() + right.size());
  tree.residuals[0] = std::move(left);
  tree.residuals[0].insert(tree.residuals[0].end(), right.begin(), right.end());
  return tree;
}

constexpr int32_t kWhole = kResidualSteps;

TEST(GradientLeavesTest, APairIsCountAndSumTogetherAndApart) {
  EXPECT_THAT(GradientLeafSums(TwoLeaves({kWhole, kWhole, -7}, {-kWhole})),
              ElementsAre(ElementsAre(5 * kWhole - 7, kWhole + 7), ElementsAre(0, 2 * kWhole)));
}

// Adds every record of a coarse grid to every leaf of every table of two others.
TEST(GradientLeavesTest, OneRecordMovesAPairByExactlyTheSensitivity) {
  const std::vector<int32_t> grid = {-kWhole, -kWhole / 2, -1, 0, 3, kWhole};
  for (const int32_t one : grid) {
    for (const int32_t two : grid) {
      for (const int32_t more : grid) {
        const auto before = GradientLeafSums(TwoLeaves({one}, {two}));
        const auto after = GradientLeafSums(TwoLeaves({one}, {two, more}));
        int64_t moved = 0;
        for (size_t leaf = 0; leaf < 2; ++leaf) {
          for (size_t i = 0; i < 2; ++i) moved += std::abs(after[leaf][i] - before[leaf][i]);
        }
        EXPECT_EQ(static_cast<uint64_t>(moved), GradientLeafSensitivity(1));
      }
    }
  }
}

std::vector<std::vector<double>> ValuesOf(const GradientTree& tree,
                                          const GradientLeafOptions& options) {
  SeededRandom random(1);
  PrivateReleaser releaser(SelectionRule::kPermuteAndFlip, random);
  const auto leaves = *ReleaseGradientLeaves(tree, options, releaser);
  std::vector<std::vector<double>> values;
  for (const GradientLeaf& leaf : leaves) {
    values.push_back(leaf.values);
  }
  return values;
}

TEST(GradientLeavesTest, AValueIsTheMeanResidualRegularizedAndClipped) {
  const GradientTree tree = TwoLeaves({kWhole, kWhole, kWhole, 0}, {});
  EXPECT_THAT(ValuesOf(tree, {.lambda = {.numerator = 1, .denominator = 1}}),
              ElementsAre(ElementsAre(0.6), ElementsAre(0)));
  EXPECT_THAT(ValuesOf(tree, {.lambda = {.numerator = 0, .denominator = 1}}),
              ElementsAre(ElementsAre(0.75), ElementsAre(0)));
  EXPECT_THAT(ValuesOf(tree, {.lambda = {.numerator = 0, .denominator = 1}, .clip = 0.5}),
              ElementsAre(ElementsAre(0.5), ElementsAre(0)));
}

TEST(GradientLeavesTest, NoiseHasTheStatedDeviation) {
  constexpr int kLeaves = 4000;
  GradientTree tree{.grown = {.tree = Tree::SingleLeaf(), .rows = {}, .begin = {}},
                    .residuals = {{}}};
  tree.grown.begin.assign(kLeaves + 1, 0);
  // Lambda outweighs all noise, so the value is the noisy sum divided by it.
  const auto values = ValuesOf(tree, {.share = BudgetShare(*Budget::Parse("0.5")),
                                      .lambda = {.numerator = 1'000'000, .denominator = 1},
                                      .clip = 1});
  double squares = 0;
  for (const auto& value : values) squares += value[0] * value[0] * 1e12 / kLeaves;
  // The scale is two over epsilon, as for a pair of half sums.
  EXPECT_NEAR(std::sqrt(squares), 4, 0.3);
}

}  // namespace
}  // namespace coppice::trainers
