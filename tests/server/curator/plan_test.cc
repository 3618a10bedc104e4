#include "server/curator/estimation/planning/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/public_random.h"
#include "common/base/status.h"
#include "server/curator/partition/forest_size.h"
#include "tests/support/schemas.h"
#include "tests/support/status_matchers.h"

namespace coppice::curator {
namespace {

using ::coppice::testing::Numeric;
using ::coppice::testing::StatusIs;
using ::testing::HasSubstr;

// The class is k if x is in the k-th strip, with probability `certainty`; else it is random.
Table Strips(size_t count, uint32_t classes, double certainty) {
  std::vector<std::string> names;
  for (uint32_t k = 0; k < classes; ++k)
    names.push_back(std::string(1, static_cast<char>('a' + k)));
  Table table(std::make_shared<const Schema>(
      *Schema::Create({Numeric("x", 0, 1), Numeric("y", 0, 1)}, "label", names)));
  PublicRandom random(5);
  for (size_t i = 0; i < count; ++i) {
    const Row row = {random.Unit(), random.Unit()};
    const bool drawn = random.Unit() >= certainty;
    table.Append(row, drawn ? static_cast<uint32_t>(random.Below(classes))
                            : static_cast<uint32_t>(row[0] * classes));
  }
  return table;
}

Planner PlannerFor(const Table& rows, bool use_labels = true) {
  Planner::Options options{.partition = {.rule = SplitRule::kHybrid, .trees = 16},
                           .expected_devices = 10'000,
                           .seed = 1};
  options.partition.use_labels = use_labels;
  StatusOr<Planner> planner = Planner::Create(rows, *Budget::Parse("1"), options);
  EXPECT_TRUE(planner.ok()) << planner.status();
  return *std::move(planner);
}

// A plan for models that are corrected predictors.
Planner CorrectingPlannerFor(const Table& rows) {
  const Planner::Options options{.partition = {.rule = SplitRule::kRandomCut,
                                               .max_depth = kMaxDepth,
                                               .trees = 16,
                                               .max_leaves = 8},
                                 .seed = 1};
  StatusOr<Planner> planner = Planner::Create(rows, *Budget::Parse("1"), options);
  EXPECT_TRUE(planner.ok()) << planner.status();
  return *std::move(planner);
}

StudyForecast Forecast(const Planner& planner, const std::string& epsilon, double devices) {
  return *planner.Forecast(devices, *planner.Cost(*Budget::Parse(epsilon), std::nullopt, 0));
}

// A given forest has the forecast of a study whose size was chosen to be the same.
TEST(PlanTest, AForestThatIsThereIsTakenAsItIs) {
  const Table rows = Strips(120, 2, 0.8);
  const Planner chosen = PlannerFor(rows);
  Planner::Options options{.partition = chosen.partition(),
                           .seed = 1,
                           .forest = std::make_shared<const Forest>(chosen.forest())};
  ASSERT_OK_AND_ASSIGN(const Planner given, Planner::Create(rows, *Budget::Parse("1"), options));
  EXPECT_EQ(given.forest(), chosen.forest());
  EXPECT_EQ(Forecast(given, "1", 1000).accuracy.mean, Forecast(chosen, "1", 1000).accuracy.mean);
  options.partition = {.rule = SplitRule::kMaxEdge, .max_depth = 1};
  options.forest = std::make_shared<const Forest>(*GrowPartition(rows, options.partition));
  ASSERT_OK_AND_ASSIGN(const Planner stump, Planner::Create(rows, *Budget::Parse("1"), options));
  EXPECT_EQ(stump.forest(), *options.forest);
  EXPECT_EQ(stump.partition(), options.partition);
  EXPECT_LT(stump.effective_cells(), 2.01);
}

TEST(PlanTest, StopsWhereverItIsToldTo) {
  const Table rows = Strips(80, 2, 0.7);
  const Planner::Options options{.partition = {.rule = SplitRule::kHybrid, .trees = 4}};
  int asked = 0, stop_at = 0;
  const CancelCheck cancel(
      [&] { return ++asked == stop_at ? CancelledError("gone") : OkStatus(); });
  const auto plan = [&] { return Planner::Create(rows, *Budget::Parse("1"), options, cancel); };
  ASSERT_OK_AND_ASSIGN(const Planner planner, plan());
  const int in_all = asked;
  EXPECT_GT(in_all, 1000) << "folds, cells, draws and settings";
  for (const int at : {1, in_all / 3, in_all / 2, in_all}) {
    stop_at = at;
    asked = 0;
    EXPECT_THAT(plan().status(), StatusIs(StatusCode::kCancelled, "gone"));
    EXPECT_EQ(asked, at) << "nothing is done after it";
  }
  asked = 0;
  stop_at = 10;
  EXPECT_THAT(planner.Forecast(100, *planner.Cost(*Budget::Parse("1"), std::nullopt, 0), cancel),
              StatusIs(StatusCode::kCancelled, "gone"));
}

Table WithPublic(const Table& rows, const std::vector<std::string>& features) {
  return rows.WithSchema(
      std::make_shared<const Schema>(*rows.schema().WithPublicFeatures(features)));
}

// "z" tells nothing, so hardly a node asks about it and reports fit nearly all leaves.
TEST(PlanTest, APublicFeatureThatNoNodeAsksAboutChangesNothing) {
  const Table strips = Strips(80, 2, 0.8);
  Table rows(std::make_shared<const Schema>(*Schema::Create(
      {Numeric("x", 0, 1), Numeric("y", 0, 1), Numeric("z", 0, 1)}, "label", {"a", "b"})));
  for (size_t i = 0; i < strips.num_rows(); ++i) {
    const Row row = {strips.row(i)[0], strips.row(i)[1], 0.5};
    rows.Append(row, strips.label(i));
  }
  const Planner none = PlannerFor(rows), with_z = PlannerFor(WithPublic(rows, {"z"}));
  const StudyForecast a = Forecast(none, "1", 10'000), b = Forecast(with_z, "1", 10'000);
  // The diagonal model adds the variance from drawing a row's leaf to the noise.
  EXPECT_NEAR(b.equivalent_rows, a.equivalent_rows, 0.05 * a.equivalent_rows);
  EXPECT_NEAR(b.gain.mean, a.gain.mean, 0.015);
  const MechanismCost cost = *with_z.Cost(*Budget::Parse("1"), std::nullopt, 0);
  EXPECT_THAT(*with_z.WorthOfPublicFeatures(10'000, cost), ::testing::IsEmpty());
}

TEST(PlanTest, SaysWhatEachPublicFeatureIsWorth) {
  const Table rows = Strips(80, 2, 0.8);
  const Planner planner = PlannerFor(WithPublic(rows, {"x", "y"}));
  const MechanismCost cost = *planner.Cost(*Budget::Parse("0.5"), std::nullopt, 0);
  const std::vector<FeatureWorth> worths = *planner.WorthOfPublicFeatures(3'000, cost);
  ASSERT_EQ(worths.size(), 2u);
  EXPECT_GE(worths[0].gain, worths[1].gain);
  for (const FeatureWorth& worth : worths) EXPECT_GT(worth.equivalent_rows, 0);
  const StudyForecast none = Forecast(PlannerFor(rows), "0.5", 3'000);
  const StudyForecast all = *planner.Forecast(3'000, cost);
  EXPECT_GT(all.equivalent_rows, 3 * none.equivalent_rows);
  EXPECT_GT(all.gain.mean, none.gain.mean);
}

TEST(PlanTest, LaplaceMechanismsDoNotServePublicFeatures) {
  const Planner planner = PlannerFor(WithPublic(Strips(40, 2, 0.8), {"x"}));
  EXPECT_THAT(planner.Cost(*Budget::Parse("1"), MechanismKind::kLaplaceJoint, 0),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("public features")));
}

TEST(PlanTest, MoreDevicesAndLargerEpsilonGainMore) {
  const Planner planner = PlannerFor(Strips(80, 2, 0.5));
  const double little = Forecast(planner, "0.5", 1'000).gain.mean,
               more = Forecast(planner, "4", 10'000).gain.mean;
  EXPECT_LT(little, kWorthwhileGain);
  EXPECT_GT(more, kWorthwhileGain);
  EXPECT_GT(Forecast(planner, "4", 1'000'000).gain.mean, more);
}

TEST(PlanTest, IntervalHoldsItsMeanAndNarrowsWithPublicRows) {
  const Planner few = PlannerFor(Strips(40, 2, 0.7)), many = PlannerFor(Strips(600, 2, 0.7));
  for (const Planner* planner : {&few, &many}) {
    const Interval accuracy = Forecast(*planner, "1", 10'000).accuracy;
    EXPECT_LE(accuracy.low, accuracy.mean);
    EXPECT_LE(accuracy.mean, accuracy.high);
  }
  const auto width = [](const Interval& interval) { return interval.high - interval.low; };
  EXPECT_LT(width(many.public_only()), 0.7 * width(few.public_only()));
  EXPECT_NEAR(many.public_only().mean, 0.85, 0.05) << "a drawn label is right half the time";
}

// Few public rows tell little of the level, which the study and public labels alone share.
TEST(PlanTest, GainIsKnownBetterThanTheLevel) {
  const Planner planner = PlannerFor(Strips(40, 2, 0.5));
  const StudyForecast forecast = Forecast(planner, "2", 10'000);
  EXPECT_LT(forecast.gain.low, forecast.gain.mean);
  EXPECT_LT(forecast.gain.mean, forecast.gain.high);
  const auto width = [](const Interval& interval) { return interval.high - interval.low; };
  EXPECT_LT(width(forecast.gain), 0.7 * width(forecast.accuracy));
  EXPECT_LT(width(forecast.gain), 0.7 * width(planner.public_only()));
}

TEST(PlanTest, ReportsAreWorthTheirNumberOverCellsAndNoise) {
  const Planner planner = PlannerFor(Strips(80, 2, 0.7));
  const MechanismCost cost = *planner.Cost(*Budget::Parse("1"), std::nullopt, 0);
  const double worth = planner.Forecast(10'000, cost)->equivalent_rows;
  EXPECT_NEAR(worth, 10'000 / (planner.effective_cells() * cost.margin_noise), 0.1 * worth);
  EXPECT_DOUBLE_EQ(planner.Forecast(20'000, cost)->equivalent_rows, 2 * worth);
}

TEST(PlanTest, OneOfManyDevicesMovesLess) {
  const Planner planner = PlannerFor(Strips(60, 2, 0.7));
  const double among_few = Forecast(planner, "1", 1'000).influence;
  const double among_many = Forecast(planner, "1", 1'000'000).influence;
  EXPECT_GT(among_few, among_many);
  EXPECT_GT(among_many, 0);
  EXPECT_LT(among_many, 0.01);
}

TEST(PlanTest, SeveralClassesHaveAPlanToo) {
  const Planner planner = PlannerFor(Strips(120, 4, 0.9));
  const StudyForecast forecast = Forecast(planner, "4", 100'000);
  EXPECT_GT(forecast.accuracy.mean, 0.6);
  EXPECT_LT(forecast.accuracy.mean, 1);
}

TEST(PlanTest, CorrectionsGainMoreFromMoreReports) {
  const Planner planner = CorrectingPlannerFor(Strips(80, 2, 0.5));
  const StudyForecast few = Forecast(planner, "0.5", 1'000), more = Forecast(planner, "4", 10'000);
  EXPECT_LT(few.gain.mean, more.gain.mean);
  EXPECT_LT(more.gain.mean, Forecast(planner, "4", 1'000'000).gain.mean);
  EXPECT_LT(few.gain.low, few.gain.mean);
  EXPECT_LE(more.accuracy.low, more.accuracy.mean);
  EXPECT_LE(more.accuracy.mean, more.accuracy.high);
  EXPECT_GT(more.influence, Forecast(planner, "4", 1'000'000).influence);
  EXPECT_GT(more.influence, 0);
}

TEST(PlanTest, CorrectionsHaveTheLevelOfThePublicPredictor) {
  const Planner planner = CorrectingPlannerFor(Strips(600, 2, 0.7));
  EXPECT_NEAR(planner.public_only().mean, 0.85, 0.05) << "a drawn label is right half the time";
  EXPECT_NEAR(Forecast(planner, "0.5", 100).accuracy.mean, planner.public_only().mean, 0.005);
  EXPECT_EQ(planner.Cost(*Budget::Parse("1"), std::nullopt, 0)->kind,
            MechanismKind::kSignedHadamard);
  EXPECT_NE(planner.Cost(*Budget::Parse("2"), std::nullopt, 0)->kind,
            MechanismKind::kSignedHadamard);
}

TEST(PlanTest, CorrectionsOfSeveralClassesAndWithPublicFeaturesHaveAPlan) {
  const Table strips = Strips(120, 3, 0.7);
  const StudyForecast none = Forecast(CorrectingPlannerFor(strips), "1", 10'000);
  EXPECT_GT(none.accuracy.mean, 0.6);
  const Planner planner = CorrectingPlannerFor(WithPublic(strips, {"x", "y"}));
  const StudyForecast all = Forecast(planner, "1", 10'000);
  EXPECT_GT(all.equivalent_rows, none.equivalent_rows);
  EXPECT_GE(all.gain.mean, none.gain.mean - 0.005);
  const MechanismCost cost = *planner.Cost(*Budget::Parse("1"), std::nullopt, 0);
  EXPECT_EQ(planner.WorthOfPublicFeatures(10'000, cost)->size(), 2u);
}

TEST(PlanTest, WithoutLabelsOnlyTheWorthIsKnown) {
  const Planner planner = PlannerFor(Strips(80, 2, 0.7), /*use_labels=*/false);
  const StudyForecast forecast = Forecast(planner, "1", 10'000);
  EXPECT_GT(forecast.equivalent_rows, 0);
  EXPECT_EQ(forecast.accuracy.mean, 0);
  EXPECT_EQ(planner.public_only().mean, 0);
}

TEST(PlanTest, AdviceSaysWhenNobodyNeedBeAsked) {
  EXPECT_THAT(Advice({0.001, 0.004}, {}), HasSubstr("will not help here"));
  EXPECT_THAT(Advice({0.001, 0.02}, {}), HasSubstr("1 of these 2"));
  EXPECT_THAT(Advice({0.01, 0.02}, {}), HasSubstr("every one"));
  EXPECT_THAT(Advice({0, 0}, {.use_labels = false}), HasSubstr("Without public labels"));
  EXPECT_THAT(Advice({0, 0}, {.use_labels = false, .from_schema = true}),
              HasSubstr("Without public rows"));
}

TEST(PlanTest, NoRowIsRefused) {
  EXPECT_THAT(Planner::Create(Strips(0, 2, 1), *Budget::Parse("1"), {}),
              StatusIs(StatusCode::kInvalidArgument, ::testing::_));
}

// Numbers around 10 x, with an error of deviation .58.
Table Slope(size_t rows) {
  Table table(std::make_shared<const Schema>(
      *Schema::CreateRegression({Numeric("x", 0, 1)}, "y", Target{.min = -5, .max = 15})));
  PublicRandom random(1);
  for (size_t i = 0; i < rows; ++i) {
    const Row row = {random.Unit()};
    table.AppendTarget(row, 10 * row[0] + 2 * random.Unit() - 1);
  }
  return table;
}

TEST(PlanTest, ForeseesCorrectedNumbers) {
  const Planner planner = CorrectingPlannerFor(Slope(120));
  EXPECT_TRUE(planner.predicts_numbers());
  const Interval alone = planner.public_only();
  EXPECT_LT(alone.low, alone.mean);
  EXPECT_GT(alone.mean, 0.4) << "numbers scatter by .58";
  EXPECT_LT(alone.mean, 1.2) << "of 2.9 for always answering the mean";
  const StudyForecast few = Forecast(planner, "0.5", 300), many = Forecast(planner, "8", 1e6);
  EXPECT_GE(many.gain.mean, few.gain.mean);
  EXPECT_GT(many.gain.mean, 0);
  EXPECT_LT(many.gain.mean, alone.mean);
  EXPECT_NEAR(many.rmse.mean, alone.mean - many.gain.mean, 1e-6);
  EXPECT_GT(few.influence, many.influence);
  EXPECT_GT(many.influence, 0);
}

}  // namespace
}  // namespace coppice::curator
