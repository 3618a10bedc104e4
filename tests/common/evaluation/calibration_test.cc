#include "common/evaluation/calibration.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include "common/evaluation/class_evaluation.h"

namespace coppice {
namespace {

constexpr int kRowsOfEach = 40;

// Repetitions of few rows: probabilities spread over [0, 1], each predicted by `shift` more than
// its frequency.
std::vector<std::vector<CalibrationBin>> Repeat(int repetitions, double shift) {
  std::mt19937 random(5);
  std::uniform_real_distribution<double> unit;
  std::vector<std::vector<CalibrationBin>> result;
  for (int r = 0; r < repetitions; ++r) {
    ClassEvaluation evaluation(2);
    for (int i = 0; i < kRowsOfEach; ++i) {
      const double p = 0.2 + 0.6 * unit(random);
      evaluation.Add(p > 0.5 ? 1 : 0, {1 - p, p}, unit(random) < p - shift ? 1 : 0);
    }
    result.push_back(evaluation.Scores().calibration);
  }
  return result;
}

TEST(PoolCalibrationTest, FewRowsDoNotMakeRightProbabilitiesLookWrong) {
  const CalibrationScore score = PoolCalibration(Repeat(2000, 0));
  EXPECT_LT(score.error, 0.01);
  EXPECT_EQ(score.interval.low, 0);
  EXPECT_LT(score.interval.high, 0.02);
}

// A single repetition says on average the same, however few its rows are.
TEST(PoolCalibrationTest, SingleRepetitionsAreRightOnAverage) {
  constexpr int kRepetitions = 4000;
  for (const double shift : {0.0, 0.1}) {
    double sum = 0;
    for (const std::vector<CalibrationBin>& bins : Repeat(kRepetitions, shift)) {
      sum += PoolCalibration({bins}).squared;
    }
    EXPECT_NEAR(sum / kRepetitions, shift * shift, 0.002) << shift;
  }
}

TEST(PoolCalibrationTest, FindsWhatProbabilitiesAreOffBy) {
  const CalibrationScore score = PoolCalibration(Repeat(2000, 0.1));
  EXPECT_NEAR(score.error, 0.1, 0.01);
  EXPECT_LT(score.interval.low, 0.1);
  EXPECT_GT(score.interval.high, 0.1);
  EXPECT_LT(score.interval.high - score.interval.low, 0.02);
}

TEST(PoolCalibrationTest, JackknifeValuesHaveTheSquareAsMean) {
  const CalibrationScore score = PoolCalibration(Repeat(50, 0.1));
  ASSERT_EQ(score.squared_values.size(), 50u);
  const double sum = std::accumulate(score.squared_values.begin(), score.squared_values.end(), 0.0);
  EXPECT_NEAR(sum / 50, score.squared, 1e-12);
}

TEST(PoolCalibrationTest, TwoRepetitionsAreTheProductOfTheirGaps) {
  const std::vector<CalibrationBin> first = {{.rows = 10, .predicted = 0.3, .observed = 0.4}};
  const std::vector<CalibrationBin> second = {{.rows = 10, .predicted = 0.3, .observed = 0.5}};
  const CalibrationScore score = PoolCalibration({first, second});
  EXPECT_NEAR(score.squared, 0.1 * 0.2, 1e-12);
  EXPECT_NEAR(score.error, std::sqrt(0.02), 1e-12);
  EXPECT_TRUE(std::isinf(score.interval.high));
}

TEST(PoolCalibrationTest, NoRowsAreNoError) {
  EXPECT_EQ(PoolCalibration({}).error, 0);
  const std::vector<CalibrationBin> empty(10);
  EXPECT_EQ(PoolCalibration({empty}).error, 0);
  EXPECT_EQ(PoolCalibration({empty, empty, empty}).error, 0);
}

}  // namespace
}  // namespace coppice
