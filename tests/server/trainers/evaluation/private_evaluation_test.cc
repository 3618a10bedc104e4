#include "server/trainers/evaluation/private_evaluation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "tests/server/trainers/evaluation/staircase.h"
#include "tests/support/seeded_random.h"
#include "tests/support/status_matchers.h"

namespace coppice::trainers {
namespace {

using namespace ::coppice::testing;  // NOLINT: most names in this file are the suites'.
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr auto kInvalid = StatusCode::kInvalidArgument;
constexpr uint64_t kMuch =
    1'000'000'000'000'000;  // epsilon so large that noise is nearly never there

StatusOr<EvaluationSums> Evaluate(const Table& rows, const Model& model,
                                  const EvaluationPlan& plan) {
  SeededRandom random(1);
  PrivateReleaser releaser(random);
  return EvaluatePrivately(BlocksOfTable(rows), model, plan, releaser);
}

TEST(PrivateEvaluationTest, PlansTwoHalvesWhateverTheRows) {
  ASSERT_OK_AND_ASSIGN(const EvaluationPlan plan,
                       PlanEvaluation(*ClassesSchema(), {.epsilon_nanos = 101}));
  ASSERT_THAT(plan.releases, SizeIs(2));
  for (const Release& release : plan.releases) {
    EXPECT_EQ(release.epsilon_nanos, 50u) << "rounded down";
    EXPECT_EQ(release.delta_atto, 0u);
    EXPECT_EQ(release.part, "") << "both halves read every row";
  }
  EXPECT_EQ(*TotalCost(plan.releases), 100u);
}

TEST(PrivateEvaluationTest, CountsClassesAndBins) {
  const auto schema = ClassesSchema();
  const Model model = TwoClassStairs(*schema, {0.1, 0.9});
  Table rows(schema);
  rows.Append({0.2, 0}, 0);
  rows.Append({0.2, 1}, 0);
  rows.Append({0.2, 2}, 1);
  rows.Append({0.8, kMissingValue}, 1);
  rows.Append({0.8, 0}, 1);
  ASSERT_OK_AND_ASSIGN(const EvaluationPlan plan,
                       PlanEvaluation(*schema, {.epsilon_nanos = kMuch}));
  ASSERT_OK_AND_ASSIGN(const EvaluationSums sums, Evaluate(rows, model, plan));
  EXPECT_THAT(sums.first, ElementsAre(2, 0, 1, 2));
  std::vector<int64_t> bins(32);
  bins[2 * 1] = 2;  // .1 of 16 bins is in the second one
  bins[2 * 1 + 1] = 1;
  bins[2 * 14 + 1] = 2;  // .9
  EXPECT_EQ(sums.second, bins);
  const PrivateScores scores = ScoresOf(plan, sums);
  EXPECT_DOUBLE_EQ(scores.all.accuracy.value, 0.8);
  EXPECT_DOUBLE_EQ(scores.all.auc->value, (2 + 1) / 3.0 / 1 - 1.0 / 6);
  EXPECT_THAT(scores.confusion, ElementsAre(ElementsAre(2, 0), ElementsAre(1, 2)));
}

TEST(PrivateEvaluationTest, GroupsShareTheCells) {
  const auto schema = ClassesSchema();
  const Model model = TwoClassStairs(*schema, {0.1, 0.9});
  Table rows(schema);
  rows.Append({0.2, 0}, 0);
  rows.Append({0.2, 1}, 1);
  rows.Append({0.2, 2}, 1);
  rows.Append({0.8, kMissingValue}, 1);
  ASSERT_OK_AND_ASSIGN(const EvaluationPlan plan,
                       PlanEvaluation(*schema, {.epsilon_nanos = kMuch, .by = "town"}));
  EXPECT_EQ(*TotalCost(plan.releases), kMuch) << "groups cost nothing";
  ASSERT_OK_AND_ASSIGN(const EvaluationSums sums, Evaluate(rows, model, plan));
  const PrivateScores scores = ScoresOf(plan, sums);
  ASSERT_THAT(scores.groups, SizeIs(4));
  EXPECT_EQ(scores.groups[0].group, "a");
  EXPECT_DOUBLE_EQ(scores.groups[0].accuracy.value, 1);
  EXPECT_DOUBLE_EQ(scores.groups[1].accuracy.value, 0);
  EXPECT_EQ(scores.groups[2].group, "other");
  EXPECT_EQ(scores.groups[3].group, "missing");
  EXPECT_DOUBLE_EQ(scores.groups[3].rows, 1);
  EXPECT_DOUBLE_EQ(scores.all.accuracy.value, 0.5);
}

TEST(PrivateEvaluationTest, RowsWithoutALabelAreInNoCell) {
  const auto schema = ClassesSchema();
  Table rows(schema);
  rows.Append({0.2, 0}, kUnlabelled);
  ASSERT_OK_AND_ASSIGN(const EvaluationPlan plan,
                       PlanEvaluation(*schema, {.epsilon_nanos = kMuch}));
  ASSERT_OK_AND_ASSIGN(const EvaluationSums sums,
                       Evaluate(rows, TwoClassStairs(*schema, {0.9}), plan));
  EXPECT_THAT(sums.first, ElementsAre(0, 0, 0, 0));
}

TEST(PrivateEvaluationTest, ErrorsAreCutAtTheReach) {
  const auto schema = NumbersSchema();
  const Model model = Staircase(*schema, {{0.5, 0.5}});  // 5
  Table rows(schema);
  rows.AppendTarget({0.2, 0}, 6);
  rows.AppendTarget({0.2, 0}, 10);
  ASSERT_OK_AND_ASSIGN(const EvaluationPlan plan,
                       PlanEvaluation(*schema, {.epsilon_nanos = kMuch, .reach = 2}));
  ASSERT_OK_AND_ASSIGN(const EvaluationSums sums, Evaluate(rows, model, plan));
  const PrivateScores scores = ScoresOf(plan, sums);
  EXPECT_NEAR(scores.all.mae.value, (1 + 2) / 2.0, 1e-3);
  EXPECT_NEAR(scores.all.rmse.value, std::sqrt((1 + 4) / 2.0), 1e-3);
  EXPECT_NEAR(scores.all.rows, 2, 1e-2);
}

TEST(PrivateEvaluationTest, ManyClassesAreJudgedByFewCells) {
  const auto schema = ClassesSchema({"a", "b", "c", "d", "e", "f", "g"});
  std::vector<double> sure(7, 0.05);
  sure[3] = 0.7;
  const Model model = Staircase(*schema, {sure});
  Table rows(schema);
  for (uint32_t label = 0; label < 7; ++label) rows.Append({0.5, 0}, label);
  for (int i = 0; i < 7; ++i) rows.Append({0.5, 0}, 3);
  ASSERT_OK_AND_ASSIGN(const EvaluationPlan plan,
                       PlanEvaluation(*schema, {.epsilon_nanos = kMuch}));
  ASSERT_OK_AND_ASSIGN(const EvaluationSums sums, Evaluate(rows, model, plan));
  const PrivateScores scores = ScoresOf(plan, sums);
  EXPECT_DOUBLE_EQ(scores.all.accuracy.value, 8.0 / 14);
  EXPECT_FALSE(scores.all.auc.has_value());
  EXPECT_DOUBLE_EQ(scores.all.recall[3].value, 1);
}

TEST(PrivateEvaluationTest, RefusesWhatDoesNotSuit) {
  const auto classes = ClassesSchema();
  const auto numbers = NumbersSchema();
  EXPECT_THAT(PlanEvaluation(*classes, {}), StatusIs(kInvalid, HasSubstr("")));
  EXPECT_THAT(PlanEvaluation(*classes, {.epsilon_nanos = 1}), StatusIs(kInvalid, HasSubstr("")))
      << "no half";
  EXPECT_THAT(PlanEvaluation(*classes, {.epsilon_nanos = 100, .by = "city"}),
              StatusIs(kInvalid, HasSubstr("no feature \"city\"")));
  EXPECT_THAT(PlanEvaluation(*classes, {.epsilon_nanos = 100, .by = "score"}),
              StatusIs(kInvalid, HasSubstr("numeric")));
  EXPECT_THAT(PlanEvaluation(*classes, {.epsilon_nanos = 100, .reach = 1}),
              StatusIs(kInvalid, HasSubstr("reach")));
  for (const double reach :
       {-1.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    EXPECT_THAT(PlanEvaluation(*numbers, {.epsilon_nanos = 1000, .reach = reach}),
                StatusIs(kInvalid, HasSubstr("reach")));
  }
  EXPECT_THAT(PlanEvaluation(*numbers, {.epsilon_nanos = 2}),
              StatusIs(kInvalid, HasSubstr("nothing is left but noise")));
  std::vector<std::string> many;
  for (int i = 0; i < 300; ++i) many.push_back(std::to_string(i));
  EXPECT_THAT(PlanEvaluation(*ClassesSchema(many), {.epsilon_nanos = 100}),
              StatusIs(kInvalid, HasSubstr("noisy sums")));
  EXPECT_THAT(CheckAnswers(TwoClassStairs(*classes, {0.5}), *numbers),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("schema")));
}

TEST(PrivateEvaluationTest, ThePreviewIsAsWideAsTheResult) {
  const auto schema = ClassesSchema();
  const std::vector<double> yes = {0.2, 0.8};
  std::mt19937_64 engine(3);
  const Table rows = CalibratedRows(schema, yes, 3000, engine);
  ASSERT_OK_AND_ASSIGN(const EvaluationPlan plan,
                       PlanEvaluation(*schema, {.epsilon_nanos = 50'000'000}));
  ASSERT_OK_AND_ASSIGN(const EvaluationSums sums,
                       Evaluate(rows, TwoClassStairs(*schema, yes), plan));
  const Estimate accuracy = ScoresOf(plan, sums).all.accuracy;
  EXPECT_NEAR(ExpectedHalfWidth(plan, 3000), (accuracy.interval.high - accuracy.interval.low) / 2,
              0.01);
  EXPECT_EQ(ExpectedHalfWidth(plan, 0), 0.5);
}

}  // namespace
}  // namespace coppice::trainers
