#include "common/evaluation/number_evaluation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <utility>
#include <vector>

namespace coppice {
namespace {

using Rows = std::vector<std::pair<double, double>>;  // predicted, target

NumberScores ScoresFor(const Rows& rows, double min, double max) {
  NumberEvaluation evaluation(min, max);
  for (const auto& [predicted, target] : rows) evaluation.Add(predicted, target);
  return evaluation.Scores();
}

// Targets around `centre`, partly known to the predictions.
Rows Drawn(size_t count, double centre, double known, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  Rows rows;
  for (size_t i = 0; i < count; ++i) {
    const double target = normal(random);
    rows.emplace_back(centre + known * target, centre + target);
  }
  return rows;
}

TEST(NumberEvaluationTest, ErrorsAreThoseOfTheDefinitions) {
  const NumberScores scores = ScoresFor({{1, 2}, {4, 4}, {9, 6}}, 0, 10);
  EXPECT_EQ(scores.rows, 3u);
  EXPECT_NEAR(scores.mse, 10.0 / 3, 1e-12);
  EXPECT_NEAR(scores.rmse, std::sqrt(10.0 / 3), 1e-12);
  EXPECT_NEAR(scores.mae, 4.0 / 3, 1e-12);
  EXPECT_NEAR(scores.mean.value, 4, 1e-12);
  EXPECT_NEAR(scores.mean.rmse, std::sqrt(8.0 / 3), 1e-12);
  EXPECT_NEAR(scores.mean_mae, 4.0 / 3, 1e-12);
  EXPECT_NEAR(*scores.r2, 1 - 10.0 / 8, 1e-12);
  EXPECT_NEAR(scores.gain, std::sqrt(8.0 / 3) - std::sqrt(10.0 / 3), 1e-12);
}

// Far from 0, where sums of squares lose precision that deviations keep.
TEST(NumberEvaluationTest, GainsErrorIsThatOfTheRows) {
  const Rows rows = Drawn(500, 1e6, 0.6, 1);
  const NumberScores scores = ScoresFor(rows, 0, 2e6);
  double sum = 0, squares = 0;
  for (const auto& [predicted, target] : rows) {
    const double of_row = std::pow(target - scores.mean.value, 2) / (2 * scores.mean.rmse) -
                          std::pow(predicted - target, 2) / (2 * scores.rmse);
    sum += of_row;
    squares += of_row * of_row;
  }
  const auto n = static_cast<double>(rows.size());
  const double error = std::sqrt((squares - sum * sum / n) / (n * (n - 1)));
  EXPECT_NEAR(scores.gain_interval.high - scores.gain, 1.959964 * error, 1e-5 * error);
}

TEST(NumberEvaluationTest, IntervalOfTheErrorHoldsTheTruth) {
  constexpr int kTrials = 1000;
  int held = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    const ConfidenceInterval interval =
        ScoresFor(Drawn(400, 0, 0.5, 100 + trial), -10, 10).interval;
    held += interval.low <= 0.5 && 0.5 <= interval.high ? 1 : 0;
  }
  EXPECT_GT(held, 0.92 * kTrials);
  EXPECT_LT(held, 0.98 * kTrials);
}

TEST(NumberEvaluationTest, PerfectAnswersAndConstantTargets) {
  const NumberScores perfect = ScoresFor({{1, 1}, {3, 3}}, 0, 4);
  EXPECT_EQ(perfect.rmse, 0);
  EXPECT_EQ(perfect.gain, 1);
  EXPECT_EQ(perfect.r2, 1.0);
  const NumberScores constant = ScoresFor({{1, 2}, {3, 2}}, 0, 4);
  EXPECT_EQ(constant.mean.rmse, 0);
  EXPECT_EQ(constant.r2, std::nullopt);
  EXPECT_EQ(constant.gain, -1);
}

TEST(NumberEvaluationTest, OneRowSaysNothingOfTheError) {
  const NumberScores scores = ScoresFor({{1, 2}}, 0, 4);
  EXPECT_EQ(scores.rmse, 1);
  EXPECT_EQ(scores.interval.low, 0);
  EXPECT_TRUE(std::isinf(scores.interval.high));
  EXPECT_EQ(NumberEvaluation(0, 1).Scores().rows, 0u);
}

TEST(NumberVerdictTest, SaysWhetherTheMeanIsBeaten) {
  const auto verdict = [](double known) {
    const NumberScores scores = ScoresFor(Drawn(400, 3, known, 9), -10, 10);
    return NumberVerdict(scores.mean.rmse, scores.gain, scores.gain_interval);
  };
  EXPECT_EQ(verdict(0).substr(0, 58), "No better than always answering the mean, which has an RMS");
  EXPECT_EQ(verdict(0.5).substr(0, 43), "Better than always answering the mean (RMSE");
  EXPECT_EQ(verdict(-1).substr(0, 42), "Worse than always answering the mean (RMSE");
  EXPECT_EQ(NumberVerdict(3.2, 0.5, {.low = 0.25, .high = 0.75}),
            "Better than always answering the mean (RMSE 3.2) by 0.5 (0.25 to 0.75).");
}

TEST(MeanAnswerTest, IsTheMeanAndItsError) {
  const MeanAnswer answer = MeanAnswerFor(std::vector<double>{1e9 + 1, 1e9 + 3, 1e9 + 5});
  EXPECT_EQ(answer.value, 1e9 + 3);
  EXPECT_NEAR(answer.rmse, std::sqrt(8.0 / 3), 1e-9);
  EXPECT_EQ(MeanAnswerFor({}).rmse, 0);
}

}  // namespace
}  // namespace coppice
