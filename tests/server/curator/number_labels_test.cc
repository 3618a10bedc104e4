// Numbers in place of classes: the ranges that they are rounded within, and what growers,
// estimators and plans do with them.

#include "server/curator/partition/number_labels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "common/base/public_random.h"
#include "common/base/status.h"
#include "common/ldp/randomized_rounding.h"
#include "server/curator/estimation/counts/consistent_counts.h"
#include "server/curator/estimation/planning/plan.h"
#include "server/curator/estimation/pooled/pooled.h"
#include "server/curator/partition/find_leaves.h"
#include "server/curator/partition/forest_size.h"
#include "server/curator/partition/from_schema.h"
#include "server/curator/partition/hybrid_grower.h"
#include "server/curator/partition/partition.h"
#include "tests/support/schemas.h"
#include "tests/support/seeded_random.h"
#include "tests/support/status_matchers.h"

namespace coppice::curator {
namespace {

using ::coppice::testing::Categorical;
using ::coppice::testing::Numeric;
using ::coppice::testing::SeededRandom;
using ::coppice::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::shared_ptr<const Schema> StepSchema(double max = 100) {
  return std::make_shared<const Schema>(*Schema::CreateRegression(
      {Numeric("x", 0, 1), Numeric("y", 0, 1)}, "price", {.min = 0, .max = max}));
}

// The target is 20 below x = 1/2 and 60 above, give or take 5.
Table Steps(size_t count, uint64_t seed) {
  Table table(StepSchema());
  PublicRandom random(seed);
  for (size_t i = 0; i < count; ++i) {
    const Row row = {random.Unit(), random.Unit()};
    table.AppendTarget(row, (row[0] < 0.5 ? 20 : 60) + 10 * (random.Unit() - 0.5));
  }
  return table;
}

double RmseOf(const Model& model, const Table& test) {
  double squares = 0;
  for (size_t i = 0; i < test.num_rows(); ++i) {
    squares += std::pow(model.Predict(test.row(i)).value - test.target(i), 2);
  }
  return std::sqrt(squares / static_cast<double>(test.num_rows()));
}

TEST(NumberLabelsTest, TheRangeIsTwoDeviationsAroundTheMeanOfPublicNumbers) {
  Table rows(StepSchema());
  for (const double number : {40.0, 60.0}) rows.AppendTarget({0, 0}, number);
  const NumberRange range = ChooseRounding(rows, /*use_labels=*/true);
  EXPECT_NEAR(range.low, 30, 1e-12);
  EXPECT_NEAR(range.high, 70, 1e-12);
  EXPECT_NEAR(PlaceDeviation(rows), 0.1, 1e-15);
  EXPECT_EQ(ChooseRounding(rows, /*use_labels=*/false), (NumberRange{0, 100}));
  Table same(StepSchema());
  for (int i = 0; i < 1000; ++i) same.AppendTarget({0, 0}, 100.0 / 3);
  EXPECT_EQ(ChooseRounding(same, true), (NumberRange{0, 100})) << "no deviation to go by";
}

TEST(NumberLabelsTest, PublicNumbersAreCutToTheRange) {
  Table rows(StepSchema());
  for (const double number : {0.0, 40.0, 55.0, 100.0}) rows.AppendTarget({0, 0}, number);
  ASSERT_OK_AND_ASSIGN(const Table cut, CutNumbers(rows, {.low = 30, .high = 70}));
  EXPECT_THAT(cut.targets(), ElementsAre(30, 40, 55, 70));
  EXPECT_EQ(OutputShare(cut, 1, 1), 0.25);
  EXPECT_EQ(OutputShare(cut, 1, 0), 0.75);
}

TEST(NumberLabelsTest, LeavesOfTheRangeKeepTheirNumbersInTheBounds) {
  std::vector<std::vector<LeafPrediction>> leaves = {
      {{.probabilities = {0.5, 0.5}, .standard_error = 0.1}}};
  PlaceInBounds({.low = 30, .high = 70}, {.min = 0, .max = 100}, leaves);
  const Model model =
      *Model::Create(*StepSchema(), {Tree::SingleLeaf()}, leaves, {}, LeafKind::kAdditive);
  const Prediction prediction = model.Predict(Row{0, 0});
  EXPECT_NEAR(prediction.value, 50, 1e-12);
  EXPECT_NEAR(prediction.value_error, 4, 1e-12) << "a tenth of the range of 40";
}

TEST(NumberLabelsTest, TreesAreCutWhereSquaresFallMost) {
  const Table rows = Steps(200, 1);
  ASSERT_OK_AND_ASSIGN(const Forest forest,
                       GrowPartition(rows, {.rule = SplitRule::kHybrid, .max_depth = 1}));
  EXPECT_EQ(forest[0].nodes()[0].feature, 0u);
  EXPECT_NEAR(forest[0].nodes()[0].threshold, 0.5, 0.02);
  EXPECT_THAT(GrowPartition(rows, {.rule = SplitRule::kCart}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("hybrid")));
}

TEST(NumberLabelsTest, CategoriesAreCutWhereSquaresFallMost) {
  Table rows(std::make_shared<const Schema>(*Schema::CreateRegression(
      {Categorical("town", {"a", "b", "c"}), Numeric("x", 0, 1)}, "price", {.min = 0, .max = 9})));
  PublicRandom random(1);
  for (int i = 0; i < 60; ++i) {
    rows.AppendTarget({static_cast<double>(i % 3), random.Unit()}, i % 3 == 1 ? 8 : 2);
  }
  ASSERT_OK_AND_ASSIGN(const Forest forest,
                       GrowPartition(rows, {.rule = SplitRule::kHybrid, .max_depth = 1}));
  const Node& root = forest[0].nodes()[0];
  EXPECT_EQ(root.kind, SplitKind::kCategory);
  EXPECT_EQ(root.threshold, 1);
}

TEST(NumberLabelsTest, EqualNumbersAreCutBySpread) {
  Table rows(StepSchema());
  PublicRandom random(1);
  for (int i = 0; i < 40; ++i) rows.AppendTarget({random.Unit(), random.Unit()}, 5);
  EXPECT_OK(GrowPartition(rows, {.rule = SplitRule::kHybrid, .max_depth = 3}));
  EXPECT_OK(ChooseForestSize(rows, {.rule = SplitRule::kHybrid, .trees = 4}, 1000));
}

// Their numbers must not be used, not even as a scale where rounding makes them differ by a bit.
TEST(NumberLabelsTest, WithoutPublicRowsNumbersStartInTheMiddle) {
  ASSERT_OK_AND_ASSIGN(const Table rows, RowsFromSchema(StepSchema(), 1));
  EXPECT_EQ(rows.target(0), 50);
  ASSERT_OK_AND_ASSIGN(const Table cut, CutNumbers(rows, {.low = 0, .high = 250.0 / 3}));
  EXPECT_EQ(PooledBasis::Create({Tree::SingleLeaf()}, cut)->scale(), kRangeDeviations);
}

// The counts of a forest from devices' rounded and randomized numbers; the noise is repeatable.
std::vector<PrivateCounts> Reports(const Forest& forest, const Table& devices,
                                   const Table& public_rows, MechanismKind kind) {
  SeededRandom noise(7);
  PublicRandom columns(8);
  std::vector<PrivateCounts> counts;
  for (size_t t = 0; t < forest.size(); ++t) {
    const auto mechanism =
        *MakeLocalMechanism(kind, *Budget::Parse("1"), {forest[t].num_leaves(), 2});
    TreeSums sums{.sums = std::vector<int64_t>(mechanism->sum_size())};
    const std::vector<uint32_t> leaf_of = FindLeaves(forest[t], devices);
    const Target& range = *public_rows.schema().target();
    for (size_t i = t; i < devices.num_rows(); i += forest.size(), ++sums.reports) {
      const double place = NumberRange{range.min, range.max}.PlaceOf(devices.target(i));
      const LeafLabel value = {.leaf = leaf_of[i], .label = *RoundToAnEnd(place, noise)};
      const auto column = static_cast<uint32_t>(columns.Below(mechanism->columns()));
      const StatusOr<std::string> payload = mechanism->Randomize(value, column, noise);
      if (!payload.ok()) {
        ADD_FAILURE() << payload.status();
        return counts;
      }
      EXPECT_OK(mechanism->Add(*payload, column, absl::MakeSpan(sums.sums)));
    }
    counts.push_back(*CountReports(*mechanism, sums, CountPublicRows(forest[t], public_rows)));
  }
  return counts;
}

// 20,000 devices at epsilon 1 and no public number: the steps' own noise errs by 2.9, the mean
// alone by 20.
TEST(NumberLabelsTest, ReportsAloneFindTheNumbers) {
  const NumberRange range = {.low = 0, .high = 100};
  const Table public_rows = *CutNumbers(Steps(100, 1), range);
  const Forest forest = *GrowPartition(
      public_rows, {.rule = SplitRule::kHybrid, .max_depth = 4, .min_leaf = 5, .trees = 8});
  const PooledBasis basis = *PooledBasis::Create(forest, public_rows);
  for (const MechanismKind kind : {MechanismKind::kSignedHadamard, MechanismKind::kLocalHashing}) {
    const std::vector<PrivateCounts> counts = Reports(forest, Steps(20'000, 2), public_rows, kind);
    ASSERT_OK_AND_ASSIGN(PooledFit fit, EstimatePooled(basis, forest, counts, Evidence::kReports));
    PlaceInBounds(range, *StepSchema()->target(), fit.leaves);
    ASSERT_OK_AND_ASSIGN(const Model model,
                         Model::Create(*StepSchema(), forest, fit.leaves, {}, LeafKind::kAdditive));
    EXPECT_LT(RmseOf(model, Steps(500, 3)), 10) << static_cast<int>(kind);
  }
}

// Public numbers lie in the middle of the steps, and reports correct them.
TEST(NumberLabelsTest, PublicNumbersAndReportsCorrectEachOther) {
  const Table given = Steps(100, 1);
  const NumberRange range = ChooseRounding(given, true);
  const Table public_rows = *CutNumbers(given, range);
  const Forest forest = *GrowPartition(
      public_rows, {.rule = SplitRule::kHybrid, .max_depth = 4, .min_leaf = 5, .trees = 8});
  const PooledBasis basis = *PooledBasis::Create(forest, public_rows);
  EXPECT_NEAR(basis.scale(), kRangeDeviations, 0.1);
  const std::vector<PrivateCounts> counts =
      Reports(forest, Steps(20'000, 2), public_rows, MechanismKind::kSignedHadamard);
  ASSERT_OK_AND_ASSIGN(PooledFit fit, EstimatePooled(basis, forest, counts, Evidence::kBoth));
  PlaceInBounds(range, *StepSchema()->target(), fit.leaves);
  ASSERT_OK_AND_ASSIGN(const Model model,
                       Model::Create(*StepSchema(), forest, fit.leaves, {}, LeafKind::kAdditive));
  EXPECT_LT(RmseOf(model, Steps(500, 3)), 4.5);
}

// The range is five times as wide as the numbers need, and all numbers are near its lower end:
// reports are noisier, but nothing is drawn towards the middle, and errors are no smaller than they
// are said.
TEST(NumberLabelsTest, NumbersFarFromTheMiddleOfTheRangeStayThere) {
  const NumberRange range = {.low = 0, .high = 400};
  const Table public_rows = *CutNumbers(Steps(100, 1), range);
  const Forest forest = *GrowPartition(
      public_rows, {.rule = SplitRule::kHybrid, .max_depth = 4, .min_leaf = 5, .trees = 8});
  const PooledBasis basis = *PooledBasis::Create(forest, public_rows);
  EXPECT_NEAR(basis.center(), 0.1, 0.01);
  const Table test = Steps(500, 3);
  // Twenty seeds of the noise gave 4.0, 4.4 to 9.6, and 12 to 17; means of eight were 39.9, 36
  // to 39.9, and 27 to 41, as reports pull numbers far from the middle of a wide range down.
  for (const auto& [evidence, most] :
       {std::pair{Evidence::kPublic, 5.0}, {Evidence::kBoth, 12.0}, {Evidence::kReports, 20.0}}) {
    const std::vector<PrivateCounts> counts =
        Reports(forest, Steps(40'000, 2), public_rows, MechanismKind::kSignedHadamard);
    ASSERT_OK_AND_ASSIGN(PooledFit fit, EstimatePooled(basis, forest, counts, evidence));
    PlaceInBounds(range, *StepSchema(400)->target(), fit.leaves);
    ASSERT_OK_AND_ASSIGN(const Model model, Model::Create(*StepSchema(400), forest, fit.leaves, {},
                                                          LeafKind::kAdditive));
    EXPECT_LT(RmseOf(model, test), most) << static_cast<int>(evidence);
    double mean = 0;
    for (size_t i = 0; i < test.num_rows(); ++i) {
      mean += model.Predict(test.row(i)).value / static_cast<double>(test.num_rows());
    }
    const double off = evidence == Evidence::kPublic ? 2 : evidence == Evidence::kBoth ? 6 : 15;
    EXPECT_NEAR(mean, 40, off) << static_cast<int>(evidence);
  }
}

TEST(NumberLabelsTest, APlanForeseesErrorsInTheNumbersUnits) {
  const Planner planner = *Planner::Create(Steps(60, 1), *Budget::Parse("1"),
                                           {.partition = {.rule = SplitRule::kHybrid, .trees = 8},
                                            .expected_devices = 10'000,
                                            .seed = 1});
  EXPECT_TRUE(planner.predicts_numbers());
  const Interval level = planner.public_only();
  EXPECT_GT(level.mean, 2.5);
  EXPECT_LT(level.mean, 12);
  EXPECT_LT(level.low, level.mean);
  EXPECT_GT(level.high, level.mean);
  const MechanismCost cost = *planner.Cost(*Budget::Parse("4"), std::nullopt, 0);
  ASSERT_OK_AND_ASSIGN(const StudyForecast few, planner.Forecast(100, cost));
  ASSERT_OK_AND_ASSIGN(const StudyForecast many, planner.Forecast(1'000'000, cost));
  EXPECT_LE(many.rmse.mean, few.rmse.mean);
  EXPECT_NEAR(many.rmse.mean, level.mean - many.gain.mean, 1e-9);
  EXPECT_LE(many.gain.low, many.gain.mean);
  EXPECT_GE(many.gain.high, many.gain.mean);
  EXPECT_GT(few.influence, many.influence);
  EXPECT_THAT(Advice({0.001}, planner.partition(), 10), HasSubstr("smaller by a hundredth"));
  EXPECT_THAT(Advice({0.2}, planner.partition(), 10), HasSubstr("Reports help"));
}

TEST(NumberLabelsTest, RangesAreReadFromText) {
  EXPECT_EQ(*ParseNumberRange("-2.5:3"), (NumberRange{-2.5, 3}));
  for (const std::string_view bad : {"", "1", "1:", ":1", "2:1", "1:1", "a:b", "0:inf", "1:2:3"}) {
    EXPECT_THAT(ParseNumberRange(bad),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("LOW:HIGH")))
        << bad;
  }
}

// The numbers are 20 on the left and 60 on the right, give or take 5.
TEST(CentresTest, AreTheMeansOfTheirLeavesBags) {
  const Table rows = Steps(200, 3);
  const PartitionOptions options = {.rule = SplitRule::kHybrid, .min_leaf = 20, .trees = 8};
  const Forest grown = *GrowPartition(rows, options);
  const Forest centred = CentreOnNumbers(grown, rows, options);
  ASSERT_EQ(centred.size(), grown.size());
  double squares = 0, held_out = 0;
  for (uint32_t t = 0; t < centred.size(); ++t) {
    EXPECT_EQ(centred[t].WithoutCentres(), grown[t]);
    ASSERT_TRUE(centred[t].centres().has_value());
    EXPECT_EQ(centred[t].centres()->half_range, centred[0].centres()->half_range);
    const std::vector<uint32_t> drawn = BagOf(rows.num_rows(), options, t);
    const std::vector<uint32_t> leaf_of = FindLeaves(grown[t], rows);
    for (uint32_t leaf = 0; leaf < grown[t].num_leaves(); ++leaf) {
      double sum = 100 * MeanPlace(rows), count = 1;
      for (size_t i = 0; i < leaf_of.size(); ++i) {
        if (leaf_of[i] != leaf) continue;
        sum += drawn[i] * rows.target(i);
        count += drawn[i];
      }
      EXPECT_NEAR(centred[t].centres()->of_leaf[leaf], sum / count, 1e-9);
    }
    for (size_t i = 0; i < leaf_of.size(); ++i) {
      if (drawn[i] > 0) continue;
      squares += std::pow(rows.target(i) - centred[t].centres()->of_leaf[leaf_of[i]], 2);
      held_out += 1;
    }
  }
  EXPECT_NEAR(centred[0].centres()->half_range, 2 * std::sqrt(squares / held_out), 1e-9);
  EXPECT_LT(centred[0].centres()->half_range, 2 * 100 * PlaceDeviation(rows) / 2)
      << "less than half of one range's";
}

TEST(CentresTest, BagsAreThoseThatTheForestWasGrownOn) {
  const Table rows = Steps(50, 4);
  const PartitionOptions options = {
      .rule = SplitRule::kHybrid, .trees = 3, .seed = 9, .use_labels = true};
  const HybridRows hybrid(rows, options.use_labels);
  for (uint32_t t = 0; t < options.trees; ++t) {
    EXPECT_EQ(BagOf(rows.num_rows(), options, t), GrowBaggedTree(hybrid, options, t)->drawn);
  }
  EXPECT_EQ(BagOf(3, {.trees = 1}, 0), std::vector<uint32_t>(3, 1));
}

// Where every row was drawn nobody can say how far devices will be.
TEST(CentresTest, NeedRowsThatNoBagHolds) {
  const Table rows = Steps(30, 5);
  const PartitionOptions options = {.rule = SplitRule::kHybrid, .trees = 1};
  const Forest grown = *GrowPartition(rows, options);
  EXPECT_FALSE(CentreOnNumbers(grown, rows, options)[0].centres().has_value());
}

TEST(CentresTest, HaveAWidthWhereAllNumbersAreTheSame) {
  Table rows(StepSchema());
  PublicRandom random(6);
  for (int i = 0; i < 40; ++i) rows.AppendTarget(Row{random.Unit(), random.Unit()}, 7);
  const PartitionOptions options = {.rule = SplitRule::kHybrid, .trees = 4};
  const Forest centred = CentreOnNumbers(*GrowPartition(rows, options), rows, options);
  EXPECT_NEAR(centred[0].centres()->half_range, 100.0 / 1024, 1e-12);
  EXPECT_NEAR(centred[0].centres()->of_leaf[0], 7, 1e-9);
}

}  // namespace
}  // namespace coppice::curator
