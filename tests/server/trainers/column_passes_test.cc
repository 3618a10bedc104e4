// Passes over all columns: what a visit measures, what it makes of that, and the order of visits.

#include <cmath>
#include <numeric>

#include "common/base/status.h"
#include "server/trainers/boosting/column_fit.h"
#include "server/trainers/core/ensemble.h"
#include "tests/server/trainers/tables.h"
#include "tests/support/scripted_random.h"
#include "tests/support/seeded_random.h"
#include "tests/support/status_matchers.h"

namespace coppice::trainers {
namespace {

using namespace ::coppice::testing;  // NOLINT: most names in this file are the suites'.
using ::testing::ElementsAre;

// Measures exactly, and claims noise of this deviation, in rows.
class SaysNoise final : public PrivateReleaser {
 public:
  SaysNoise(double deviation, PrivateRandom& random)
      : PrivateReleaser(random), deviation_(deviation) {}

  StatusOr<Measurement> Measure(absl::Span<const int64_t> sums, const Sensitivity&,
                                const BudgetShare&) override {
    cells.push_back(sums.size());
    return Measurement{.sums = {sums.begin(), sums.end()},
                       .scale = deviation_ * kResidualUnit / std::sqrt(2.0),
                       .is_gaussian = true};
  }

  std::vector<size_t> cells;  // per visit

 private:
  double deviation_;
};

ColumnPasses PassesOf(double rows, size_t outputs) {
  return {.rows = rows, .slopes = std::vector<double>(outputs, 0.25)};
}

BudgetShare RhoShare(double rho) {
  return BudgetShare(*Rho::FromPicos(static_cast<uint64_t>(rho * Rho::kPicosPerRho)));
}

TEST(PassBinsTest, NumbersHaveFourRunsAndCategoriesThemselves) {
  FeatureBins numbers;
  for (int i = 1; i < 16; ++i) numbers.cuts.push_back(i);
  numbers.known = 16;
  const FeatureBins cells = PassBins(numbers, Numeric("x", 0, 16));
  EXPECT_THAT(cells.cuts, ElementsAre(4, 8, 12));
  EXPECT_EQ(cells.ordinary(), 4u);
  const FeatureBins colours{.type = FeatureType::kCategorical, .known = 3};
  EXPECT_EQ(PassBins(colours, Categorical("c", {"a", "b", "c"})).size(), colours.size());
  EXPECT_DOUBLE_EQ(PassSignal(cells, 100, 0.25), 0.25 * 100 / 4);
  EXPECT_DOUBLE_EQ(PassSignal(cells, -100, 0.25), 0);
}

// 30 rows are of the first of two categories, all of the second class. With other values there are
// three cells, so a cell grows by 0.25 * 30 / 3 = 2.5 per unit of its weight, which is a posterior
// mean with a prior deviation of 0.3.
TEST(ColumnPassesTest, AWeightIsTheMeanOfWhatItMayBe) {
  const auto schema = std::make_shared<const Schema>(
      *Schema::Create({Categorical("c", {"a", "b"})}, "label", {"no", "yes"}));
  Table table(schema);
  for (int i = 0; i < 30; ++i) table.Append(Row{0.0}, 1);
  const BinnedRows rows = Binned(table, 7);
  for (const double deviation : {0.0, 0.5, 20.0}) {
    const double factor = 2.5 / (2.5 * 2.5 + deviation * deviation / 0.09);
    double expected = 0;
    for (uint32_t pass = 0; pass < kColumnPasses; ++pass) {
      expected += 30 * std::min(0.5, 1 / (1 + std::exp(expected))) * factor;
    }
    SeededRandom random(1);
    SaysNoise releaser(deviation, random);
    const auto task = ClassTask(rows.labels(), 2);
    std::vector<TrainedTree> trees;
    ASSERT_OK(AddColumnPasses(
        *schema, rows, PassesOf(30, 1), *task, releaser, [](double) { return OkStatus(); }, trees));
    ASSERT_EQ(trees.size(), 1u);
    EXPECT_NEAR(task->scores(0)[0], expected, 2e-3 * expected + 1e-9) << deviation;
    const LeafPrediction& leaf = trees[0].leaves[trees[0].tree.FindLeaf(Row{0.0})];
    EXPECT_DOUBLE_EQ(leaf.probabilities[1], task->scores(0)[0] / 2);
    // Outputs are half of a score on either side.
    const double variance = kColumnPasses * std::pow(deviation * factor, 2) / 4;
    EXPECT_NEAR(leaf.noise[1].variance, variance, 1e-6 * variance);
    // No row is missing, so nothing is known of missing values.
    EXPECT_EQ(trees[0].leaves[trees[0].tree.FindLeaf(Row{kMissingValue})].probabilities[1], 0);
  }
}

TEST(ColumnPassesTest, NoVisitMovesAWeightWithoutBounds) {
  const auto schema = std::make_shared<const Schema>(
      *Schema::Create({Categorical("c", {"a", "b"})}, "label", {"no", "yes"}));
  Table table(schema);
  for (int i = 0; i < 5000; ++i) table.Append(Row{0.0}, 1);
  const BinnedRows rows = Binned(table, 7);
  SeededRandom random(1);
  // Passes as for one row, and for none.
  for (const double few : {1.0, 0.0, -1e18}) {
    const auto task = ClassTask(rows.labels(), 2);
    PrivateReleaser releaser(random);
    std::vector<TrainedTree> trees;
    ASSERT_OK(AddColumnPasses(
        *schema, rows, PassesOf(few, 1), *task, releaser, [](double) { return OkStatus(); },
        trees));
    EXPECT_GE(task->scores(0)[0], 0);
    EXPECT_LE(task->scores(0)[0], 10.0 * kColumnPasses);
  }
}

TEST(ColumnPassesTest, RowsHaveTheScoresThatTheirTreesGive) {
  for (const uint32_t classes : {2u, 3u}) {
    const Table table = RandomTable(MixedClasses(classes), {.rows = 300}, 4);
    const BinnedRows rows = Binned(table, 7);
    const auto task = ClassTask(rows.labels(), classes);
    const size_t outputs = task->kind().outputs;
    SeededRandom random(2);
    PrivateReleaser releaser(random);
    ColumnPasses passes = PassesOf(300, outputs);
    passes.visit = RhoShare(0.01);
    std::vector<TrainedTree> trees;
    ASSERT_OK(AddColumnPasses(
        table.schema(), rows, passes, *task, releaser, [](double) { return OkStatus(); }, trees));
    EXPECT_EQ(trees.size(), table.schema().num_features());
    double largest = 0;
    for (size_t row = 0; row < table.num_rows(); ++row) {
      std::vector<double> of_row;
      for (size_t k = 0; k < outputs; ++k) of_row.push_back(task->scores(k)[row]);
      const std::vector<double> expected = task->Outputs(of_row);
      std::vector<double> sum(classes);
      for (const TrainedTree& tree : trees) {
        const LeafPrediction& leaf = tree.leaves[tree.tree.FindLeaf(table.row(row))];
        for (uint32_t k = 0; k < classes; ++k) sum[k] += leaf.probabilities[k];
      }
      for (uint32_t k = 0; k < classes; ++k) {
        ASSERT_NEAR(sum[k], expected[k], 1e-9);
        largest = std::max(largest, std::abs(sum[k]));
      }
    }
    EXPECT_GT(largest, 0.05) << "nothing was learnt";
  }
}

// A visit's number of cells tells its column. Each pass shuffles the order of the one before it,
// and visits every column once.
TEST(ColumnPassesTest, TheOrderIsDrawnAnewForEveryPass) {
  const auto schema = std::make_shared<const Schema>(*Schema::Create(
      {Categorical("a", {"v"}), Categorical("b", {"v", "w"}), Categorical("c", {"u", "v", "w"})},
      "label", {"no", "yes"}));
  const Table table = RandomTable(schema, {.rows = 20}, 1);
  const BinnedRows rows = Binned(table, 7);
  const auto task = ClassTask(rows.labels(), 2);
  // Draws below 3, then below 2: the same order; the last first; that again; the same order.
  ScriptedRandom random({2, 1, 0, 1, 0, 1, 2, 1});
  SaysNoise releaser(1, random);
  std::vector<TrainedTree> trees;
  ASSERT_OK(AddColumnPasses(
      *schema, rows, PassesOf(20, 1), *task, releaser, [](double) { return OkStatus(); }, trees));
  EXPECT_THAT(releaser.cells, ElementsAre(3, 4, 5, 5, 4, 3, 3, 4, 5, 3, 4, 5));
  EXPECT_EQ(random.drawn(), 8u);
  ASSERT_EQ(trees.size(), 3u) << "one a column, in the schema's order";
  for (size_t t = 0; t < 3; ++t) EXPECT_EQ(trees[t].tree.nodes()[0].feature, t);
}

TEST(ColumnPassesTest, TrainsWithoutRowsOrColumns) {
  const auto schema = std::make_shared<const Schema>(
      *Schema::Create({Numeric("x", 7, 7), Categorical("c", {"a"})}, "label", {"no", "yes"}));
  for (const size_t count : {0u, 50u}) {
    Table table(schema);
    for (size_t i = 0; i < count; ++i) table.Append(Row{kMissingValue, kMissingValue}, i % 2);
    const BinnedRows rows = Binned(table, 7);
    const auto task = ClassTask(rows.labels(), 2);
    SeededRandom random(1);
    PrivateReleaser releaser(random);
    ColumnPasses passes = PassesOf(50, 1);
    passes.visit = RhoShare(0.001);
    std::vector<TrainedTree> trees;
    EXPECT_OK(AddColumnPasses(
        *schema, rows, passes, *task, releaser, [](double) { return OkStatus(); }, trees));
    EXPECT_EQ(trees.size(), 2u);
  }
}

}  // namespace
}  // namespace coppice::trainers
