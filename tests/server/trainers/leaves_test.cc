#include "server/trainers/core/leaves.h"

#include <cmath>
#include <limits>

#include "tests/server/trainers/tables.h"
#include "tests/support/binomial_plan.h"
#include "tests/support/seeded_random.h"
#include "tests/support/status_matchers.h"

namespace coppice::trainers {
namespace {

using namespace ::coppice::testing;  // NOLINT: most names in this file are the suites'.

constexpr Neighbours kRow = Neighbours::kAddOrRemoveRow;
constexpr Neighbours kLabel = Neighbours::kChangeLabel;
constexpr uint64_t kTrials = 20'000;

// Rows 0, 1, 2, ... of `table` in two leaves: the first three, and the rest.
GrownTree TwoLeaves(const Schema& schema, uint32_t rows) {
  std::vector<uint32_t> all;
  for (uint32_t r = 0; r < rows; ++r) all.push_back(r);
  return {.tree = *Tree::Create(
              {{.kind = SplitKind::kMissing, .feature = 0, .left = 1, .right = 2}, {}, {}}, schema),
          .rows = all,
          .begin = {0, 3, rows}};
}

Table Labelled(uint32_t classes, const std::vector<uint32_t>& labels) {
  const auto schema = MixedClasses(classes);
  Table table(schema);
  for (const uint32_t label : labels) table.Append(Row(schema->num_features(), 0), label);
  return table;
}

TEST(SumLeavesTest, ClassesAreCountedWithoutRowsThatHaveNone) {
  const Table table = Labelled(3, {0, 2, kUnlabelled, 1, 1, 2, kUnlabelled});
  const BinnedRows rows = Binned(table, 3);
  EXPECT_EQ(LeafUnit(rows), 1);
  EXPECT_EQ(NumOutputs(rows), 3u);
  EXPECT_EQ(SumLeaves(rows, TwoLeaves(table.schema(), 7)), (LeafSums{{1, 0, 1}, {0, 2, 1}}));
}

TEST(SumLeavesTest, NumbersAreSummedByTheirDistancesFromBothEnds) {
  const auto schema = MixedRegression();  // from -2 to 6
  Table table(schema);
  for (const double target : {-2.0, 6.0, 0.0, 6.0}) {
    table.AppendTarget(Row(schema->num_features(), kMissingValue), target);
  }
  const BinnedRows rows = Binned(table, 3);
  const int64_t unit = LeafUnit(rows);
  EXPECT_EQ(unit, kTargetSteps);
  EXPECT_EQ(NumOutputs(rows), 2u);
  EXPECT_EQ(SumLeaves(rows, TwoLeaves(*schema, 4)),
            (LeafSums{{unit + 0 + unit * 3 / 4, unit + unit / 4}, {0, unit}}));
}

// How often seeded noise leaves output `output` of a released leaf unchanged.
uint64_t Unchanged(const std::vector<int64_t>& sums, size_t output, int64_t unit,
                   Neighbours neighbours) {
  SeededRandom random(3);
  PrivateReleaser releaser(SelectionRule::kPermuteAndFlip, random);
  uint64_t unchanged = 0;
  for (uint64_t i = 0; i < kTrials; ++i) {
    const LeafSums released =
        *ReleaseLeaves({sums}, unit, neighbours, BudgetShare(*Budget::Parse("1")), releaser);
    unchanged += released[0][output] == sums[output] ? 1 : 0;
  }
  return unchanged;
}

// P(0) of discrete Laplace noise for `sensitivity` at epsilon 1.
BinomialPlan NoNoise(double sensitivity) {
  const double ratio = std::exp(-1 / sensitivity);
  return {(1 - ratio) / (1 + ratio), kTrials};
}

TEST(ReleaseLeavesTest, CountsHaveNoiseForWhatOneRowMoves) {
  for (const size_t output : {0, 1, 2}) {
    const uint64_t unchanged = Unchanged({5, 0, 7}, output, 1, kRow);
    EXPECT_TRUE(NoNoise(1).Accepts(unchanged));
    EXPECT_FALSE(NoNoise(2).Accepts(unchanged));
  }
}

TEST(ReleaseLeavesTest, NumbersHaveNoiseForOneUnit) {
  for (const size_t output : {0, 1}) {
    const uint64_t unchanged = Unchanged({5, 9}, output, 4, kRow);
    EXPECT_TRUE(NoNoise(4).Accepts(unchanged));
    EXPECT_FALSE(NoNoise(8).Accepts(unchanged));
  }
}

TEST(ReleaseLeavesTest, AChangedLabelMovesTwoOfThreeCounts) {
  for (const size_t output : {0, 1, 2}) {
    const uint64_t unchanged = Unchanged({5, 0, 7}, output, 1, kLabel);
    EXPECT_TRUE(NoNoise(2).Accepts(unchanged));
    EXPECT_FALSE(NoNoise(1).Accepts(unchanged));
  }
}

TEST(ReleaseLeavesTest, OfTwoClassesOneIsReleasedAndTheOtherFollows) {
  const uint64_t unchanged = Unchanged({5, 7}, 1, 1, kLabel);
  EXPECT_TRUE(NoNoise(1).Accepts(unchanged));
  EXPECT_FALSE(NoNoise(2).Accepts(unchanged));
  SeededRandom random(4);
  PrivateReleaser releaser(SelectionRule::kPermuteAndFlip, random);
  for (int i = 0; i < 100; ++i) {
    const LeafSums released =
        *ReleaseLeaves({{5, 7}, {0, 1}}, 1, kLabel, BudgetShare(*Budget::Parse("1")), releaser);
    EXPECT_EQ(released[0][0] + released[0][1], 12) << "the leaf's size is public";
    EXPECT_EQ(released[1][0] + released[1][1], 1);
  }
}

TEST(ReleaseLeavesTest, WithoutPrivacySumsAreExact) {
  SeededRandom random(5);
  PrivateReleaser releaser(SelectionRule::kPermuteAndFlip, random);
  const LeafSums sums = {{5, 7}, {0, 1}};
  for (const Neighbours neighbours : {kRow, kLabel}) {
    EXPECT_EQ(*ReleaseLeaves(sums, 1, neighbours, BudgetShare::WithoutPrivacy(), releaser), sums);
  }
  EXPECT_EQ(random.drawn(), 0u);
}

// Sums over all values of discrete Laplace noise by its law, P(x) ~ exp(-|x| rate).
double StandardErrorBySumming(double rate) {
  double total = 0, squares = 0;
  const auto last = static_cast<int64_t>(60 / rate) + 10;
  for (int64_t x = -last; x <= last; ++x) {
    const double p = std::exp(-std::abs(static_cast<double>(x)) * rate);
    total += p;
    squares += p * static_cast<double>(x) * static_cast<double>(x);
  }
  return std::sqrt(squares / total);
}

TEST(WeightErrorTest, IsTheStandardErrorOfTheNoiseAndLargerWhereTwoAreOpposite) {
  for (const char* epsilon : {"0.01", "0.5", "1", "20"}) {
    const BudgetShare share(*Budget::Parse(epsilon));
    const double rate = share.budget().epsilon();
    const auto expect = [](double seen, double wanted) { EXPECT_NEAR(seen / wanted, 1, 1e-9); };
    expect(WeightError(1, 5, kRow, share), StandardErrorBySumming(rate));
    expect(WeightError(1, 2, kLabel, share), std::sqrt(2.0) * StandardErrorBySumming(rate));
    expect(WeightError(1, 3, kLabel, share), StandardErrorBySumming(rate / 2));
    expect(WeightError(8, 2, kRow, share), StandardErrorBySumming(rate / 8) / 8);
  }
  EXPECT_EQ(WeightError(1, 2, kRow, BudgetShare::WithoutPrivacy()), 0);
}

TEST(ToWeightsTest, WeightsAreInRowsAndVoteForTheLargest) {
  const Table table = Labelled(3, {});
  const GrownTree grown = TwoLeaves(table.schema(), 3);
  const auto leaves = ToWeights(grown.tree, {{-2, 8, 4}, {0, 0, 0}}, 4, 0.25);
  ASSERT_EQ(leaves.size(), 2u);
  EXPECT_EQ(leaves[0].probabilities, (std::vector<double>{-0.5, 2, 1}));
  EXPECT_EQ(leaves[0].label, 1u);
  EXPECT_EQ(leaves[0].standard_error, 0.25);
  EXPECT_EQ(leaves[0].source_node, grown.tree.leaf_node(0));
  EXPECT_EQ(leaves[1].source_node, grown.tree.leaf_node(1));
}

TEST(ToProbabilitiesTest, NegativeWeightsCountAsNoneAndNothingIsUniform) {
  const Table table = Labelled(3, {});
  const GrownTree grown = TwoLeaves(table.schema(), 3);
  const auto leaves = ToProbabilities(ToWeights(grown.tree, {{-2, 6, 2}, {-1, -3, 0}}, 1, 0.5));
  EXPECT_EQ(leaves[0].probabilities, (std::vector<double>{0, 0.75, 0.25}));
  EXPECT_EQ(leaves[1].probabilities, (std::vector<double>(3, 1.0 / 3)));
  EXPECT_EQ(leaves[1].standard_error, std::numeric_limits<double>::infinity());
  EXPECT_EQ(leaves[0].label, 1u);
  EXPECT_EQ(leaves[1].label, 2u);
}

}  // namespace
}  // namespace coppice::trainers
