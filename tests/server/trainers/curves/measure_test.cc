#include "server/trainers/curves/measure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/base/public_random.h"
#include "common/base/status.h"
#include "server/trainers/registry.h"
#include "tests/support/schemas.h"
#include "tests/support/status_matchers.h"

namespace coppice::curves {
namespace {

using ::coppice::testing::Numeric;
using ::coppice::testing::StatusIs;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::Le;
using ::testing::SizeIs;

// The label is whether x is above a half.
std::shared_ptr<const Table> Rows(size_t count) {
  auto table = std::make_shared<Table>(std::make_shared<const Schema>(
      *Schema::Create({Numeric("x", 0, 1), Numeric("y", 0, 1)}, "label", {"low", "high"})));
  PublicRandom random(3);
  for (size_t i = 0; i < count; ++i) {
    const Row row = {random.Unit(), random.Unit()};
    table->Append(row, row[0] > 0.5 ? 1 : 0);
  }
  return table;
}

const trainers::Trainer& Auto() { return **trainers::FindTrainer("auto"); }

TEST(HoldOutTest, SplitsTheRowsByTheSeedAlone) {
  ASSERT_OK_AND_ASSIGN(const SplitSource source, HoldOut(Rows(101), 0.2));
  const Split one = source(1);
  EXPECT_EQ(one.test->num_rows(), 21u);
  EXPECT_EQ(one.train->num_rows(), 80u);
  EXPECT_EQ(source(1).test->row(0)[0], one.test->row(0)[0]);
  EXPECT_NE(source(2).test->row(0)[0], one.test->row(0)[0]);
  for (const double share : {0.0, -0.1, 1.0}) {
    EXPECT_THAT(HoldOut(Rows(10), share),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("holdout")));
  }
}

TEST(MeasureTest, MoreEpsilonBuysMoreAndTheLastRunIsWithoutPrivacy) {
  ASSERT_OK_AND_ASSIGN(const SplitSource source, HoldOut(Rows(800), 0.2));
  const std::vector<Budget> budgets =
      RisingBudgets({*Budget::Parse("8"), *Budget::Parse("0.01"), *Budget::Parse("8")});
  ASSERT_THAT(budgets, SizeIs(2));
  const Runs runs{.repeats = 3};
  std::vector<uint32_t> told;
  ASSERT_OK_AND_ASSIGN(const MeasuredSeries measured,
                       MeasureSeries(Auto(), budgets, {.epsilon = {}}, source, runs,
                                     [&](uint32_t finished) { told.push_back(finished); }));
  EXPECT_THAT(told, ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9));
  EXPECT_EQ(RepetitionsOf(budgets, runs), 9u);
  const CurveSeries& series = measured.series;
  EXPECT_EQ(series.algorithm, "auto");
  EXPECT_EQ(series.neighbours, "one row more or less");
  ASSERT_THAT(series.points, SizeIs(2));
  EXPECT_EQ(series.points[0].epsilon, 0.01);
  EXPECT_THAT(series.points[1].scores.measure, AllOf(SizeIs(3), Each(Ge(0.85))));
  ASSERT_TRUE(series.non_private.has_value());
  EXPECT_THAT(series.non_private->measure, AllOf(SizeIs(3), Each(Ge(0.9))));
  EXPECT_THAT(measured.baseline, AllOf(SizeIs(3), Each(Le(0.7))));
}

TEST(MeasureTest, WhatIsCancelledStops) {
  ASSERT_OK_AND_ASSIGN(const SplitSource source, HoldOut(Rows(100), 0.2));
  const std::vector<Budget> budgets = {*Budget::Parse("1")};
  int asked = 0;
  const Runs runs{.repeats = 2, .cancel = CancelCheck([&] {
                                  return ++asked > 1 ? CancelledError("gone") : OkStatus();
                                })};
  EXPECT_THAT(MeasureSeries(Auto(), budgets, {.epsilon = {}}, source, runs, [](uint32_t) {}),
              StatusIs(StatusCode::kCancelled, HasSubstr("gone")));
  EXPECT_EQ(asked, 2);
}

TEST(MeasureTest, WhatCannotBeTrainedIsSaidBeforeAnythingIs) {
  const Schema numbers = *Schema::CreateRegression({Numeric("x", 0, 1)}, "y", {.min = 0, .max = 1});
  const std::vector<Budget> budgets = {*Budget::Parse("1")};
  EXPECT_OK(CheckSeries(Auto(), numbers, budgets, {.epsilon = {}}));
  EXPECT_THAT(CheckSeries(**trainers::FindTrainer("logistic"), numbers, budgets, {.epsilon = {}}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("logistic at epsilon 1: ")));
}

}  // namespace
}  // namespace coppice::curves
