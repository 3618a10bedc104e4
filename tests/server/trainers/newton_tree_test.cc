#include "server/trainers/boosting/newton_tree.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "gtest/gtest.h"
#include "server/trainers/core/ensemble.h"
#include "tests/server/trainers/tables.h"
#include "tests/support/status_matchers.h"

namespace coppice::trainers {
namespace {

using namespace ::coppice::testing;  // NOLINT: most names in this file are the suites'.

constexpr double kRidge = 0.5;

std::vector<Slope> RandomSlopes(size_t count, uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::uniform_real_distribution<float> gradient(-1, 1), curvature(0.1f, 1);
  std::vector<Slope> slopes(count);
  for (Slope& slope : slopes) slope = {gradient(engine), curvature(engine)};
  return slopes;
}

// What a leaf of these rows gains, found row by row.
double GainOf(absl::Span<const uint32_t> rows, const Slopes& slopes) {
  double gain = 0;
  for (size_t score = 0; score < slopes.count; ++score) {
    double gradients = 0, curvatures = 0;
    for (const uint32_t row : rows) {
      gradients += slopes.of(row)[score].gradient;
      curvatures += slopes.of(row)[score].curvature;
    }
    gain += gradients * gradients / (curvatures + kRidge);
  }
  return gain;
}

struct Sides {
  std::vector<uint32_t> left, right;
};
Sides Part(const Table& table, absl::Span<const uint32_t> rows, const Node& split) {
  Sides sides;
  for (const uint32_t row : rows) {
    (GoesLeft(split, table.value(row, split.feature)) ? sides.left : sides.right).push_back(row);
  }
  return sides;
}

// The most that one split gains, of all splits between values of these rows.
double BestGain(const Table& table, absl::Span<const uint32_t> rows, const Slopes& slopes,
                const std::vector<FeatureBins>& bins, size_t least) {
  double best = 0;
  const auto consider = [&](const Node& split) {
    const Sides sides = Part(table, rows, split);
    if (std::min(sides.left.size(), sides.right.size()) < least) return;
    best = std::max(
        best, GainOf(sides.left, slopes) + GainOf(sides.right, slopes) - GainOf(rows, slopes));
  };
  for (uint32_t f = 0; f < bins.size(); ++f) {
    consider({.kind = SplitKind::kMissing, .feature = f});
    for (const double cut : bins[f].cuts) {
      for (const bool missing_left : {false, true}) {
        consider({.kind = SplitKind::kNumeric,
                  .missing_left = missing_left,
                  .feature = f,
                  .threshold = cut});
      }
    }
    for (uint32_t code = 0; bins[f].type == FeatureType::kCategorical && code < bins[f].ordinary();
         ++code) {
      consider({.kind = SplitKind::kCategory, .feature = f, .threshold = double(code)});
    }
  }
  return best;
}

TEST(NewtonTreeTest, EverySplitIsTheBestOfItsRowsAndEveryLeafTheStepOfItsOwn) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const Table table = RandomTable(MixedClasses(), {.rows = 150, .missing = 0.2}, seed);
    const BinnedRows rows = *BinnedRows::Create(table, QuantileBins(table, 15));
    const std::vector<Slope> all = RandomSlopes(3 * 150, seed);
    const bool apart = seed % 2 == 0;
    const Slopes slopes{
        .all = all, .scores = 3, .first = apart ? size_t{1} : 0, .count = apart ? size_t{1} : 3};
    const NewtonOptions options{.most_leaves = 6, .least_rows = 7, .ridge = kRidge, .rate = 0.3};
    const BinTree grown = GrowNewtonTree(rows, AllRows(150), slopes, options);
    ASSERT_OK_AND_ASSIGN(const NewtonTree made, ToNewtonTree(grown, table.schema(), rows.bins()));
    EXPECT_EQ(made.tree.num_leaves(), 6u);
    std::vector<std::vector<uint32_t>> of_node(made.tree.nodes().size());
    of_node[0] = AllRows(150);
    for (size_t at = 0; at < of_node.size(); ++at) {
      const Node& node = made.tree.nodes()[at];
      if (node.kind == SplitKind::kLeaf) continue;
      const Sides sides = Part(table, of_node[at], node);
      const double gain =
          GainOf(sides.left, slopes) + GainOf(sides.right, slopes) - GainOf(of_node[at], slopes);
      EXPECT_NEAR(gain, BestGain(table, of_node[at], slopes, rows.bins(), 7), 1e-4);
      EXPECT_GE(std::min(sides.left.size(), sides.right.size()), 7u);
      of_node[node.left] = sides.left;
      of_node[node.right] = sides.right;
    }
    for (uint32_t row = 0; row < 150; ++row) {
      const uint32_t leaf = made.tree.FindLeaf(table.row(row));
      EXPECT_EQ(grown.ValueOf(rows, row), made.values[leaf]);
      const std::vector<uint32_t>& beside = of_node[made.tree.leaf_node(leaf)];
      for (size_t score = 0; score < slopes.count; ++score) {
        double gradients = 0, curvatures = kRidge;
        for (const uint32_t other : beside) {
          gradients += slopes.of(other)[score].gradient;
          curvatures += slopes.of(other)[score].curvature;
        }
        EXPECT_NEAR(made.values[leaf][score], 0.3 * gradients / curvatures, 1e-5);
      }
    }
  }
}

TEST(NewtonTreeTest, TheLeafThatGainsMostIsSplitFirst) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    const Table table = RandomTable(MixedClasses(), {.rows = 120}, seed);
    const BinnedRows rows = *BinnedRows::Create(table, QuantileBins(table, 15));
    const std::vector<Slope> all = RandomSlopes(120, seed);
    const Slopes slopes{.all = all};
    const NewtonOptions options{.most_leaves = 3, .least_rows = 5, .ridge = kRidge};
    const BinTree grown = GrowNewtonTree(rows, AllRows(120), slopes, options);
    const Tree tree = ToNewtonTree(grown, table.schema(), rows.bins())->tree;
    const Sides sides = Part(table, AllRows(120), tree.nodes()[0]);
    const bool left_is_split = tree.nodes()[1].kind != SplitKind::kLeaf;
    const double left = BestGain(table, sides.left, slopes, rows.bins(), 5);
    const double right = BestGain(table, sides.right, slopes, rows.bins(), 5);
    EXPECT_EQ(left_is_split, left > right) << left << " and " << right;
  }
}

TEST(NewtonTreeTest, OnlyTheGivenRowsDecide) {
  const Table table = RandomTable(MixedClasses(), {.rows = 200}, 2);
  const BinnedRows rows = *BinnedRows::Create(table, QuantileBins(table, 31));
  std::vector<Slope> all = RandomSlopes(200, 2);
  const auto grow = [&] {
    std::vector<uint32_t> half = AllRows(200);
    half.resize(100);
    const BinTree tree = GrowNewtonTree(rows, half, {.all = all}, NewtonOptions());
    return ToNewtonTree(tree, table.schema(), rows.bins())->tree;
  };
  const Tree tree = grow();
  for (size_t row = 100; row < 200; ++row) all[row].gradient = 1000;
  EXPECT_EQ(grow(), tree);
}

TEST(NewtonTreeTest, FewRowsMakeALeaf) {
  const Table table = RandomTable(MixedClasses(), {.rows = 39}, 3);
  const BinnedRows rows = *BinnedRows::Create(table, QuantileBins(table, 31));
  const std::vector<Slope> all = RandomSlopes(39, 3);
  EXPECT_EQ(GrowNewtonTree(rows, AllRows(39), {.all = all}, NewtonOptions()).nodes.size(), 1u);
  EXPECT_EQ(GrowNewtonTree(rows, {}, {.all = all}, NewtonOptions()).nodes[0].value,
            std::vector<double>{0});
}

TEST(QuantileBinsTest, FewValuesEachHaveABinAndCutsLieHalfWay) {
  const auto schema = std::make_shared<const Schema>(
      *Schema::Create({Numeric("x", 0, 100)}, "label", {"no", "yes"}));
  Table table(schema);
  for (const double value : {7.0, 1.0, 3.0, 3.0, kMissingValue, 7.0}) table.Append({value}, 0);
  EXPECT_EQ(QuantileBins(table, 255)[0].cuts, (std::vector<double>{2, 5}));
}

TEST(QuantileBinsTest, ManyValuesShareBinsOfEqualNumbers) {
  const auto schema = std::make_shared<const Schema>(
      *Schema::Create({Numeric("x", 0, 1e6)}, "label", {"no", "yes"}));
  Table table(schema);
  for (int i = 0; i < 1000; ++i) table.Append({static_cast<double>(i) * i}, 0);
  const BinnedRows rows = *BinnedRows::Create(table, QuantileBins(table, 9));
  ASSERT_EQ(rows.bins()[0].cuts.size(), 9u);
  std::vector<size_t> counts(10);
  for (const uint16_t bin : rows.column(0)) ++counts[bin];
  for (const size_t count : counts) EXPECT_NEAR(static_cast<double>(count), 100, 1);
}

TEST(QuantileBinsTest, CutsSeparateNeighboursThatDifferInTheirLastBit) {
  const double next = std::nextafter(1.0, 2.0);
  const auto schema =
      std::make_shared<const Schema>(*Schema::Create({Numeric("x", 0, 2)}, "label", {"no", "yes"}));
  Table table(schema);
  table.Append({1.0}, 0);
  table.Append({next}, 1);
  const BinnedRows rows = *BinnedRows::Create(table, QuantileBins(table, 9));
  EXPECT_EQ(rows.column(0)[0], 0);
  EXPECT_EQ(rows.column(0)[1], 1);
}

}  // namespace
}  // namespace coppice::trainers
