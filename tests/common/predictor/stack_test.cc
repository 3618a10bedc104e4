#include "common/predictor/stack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "common/base/public_random.h"
#include "tests/common/predictor/rows.h"

namespace coppice {
namespace {

using ::coppice::testing::RandomLabels;
using ::testing::DoubleNear;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Pointwise;

// Scores that know the label more or less.
RowScores NoisyScores(const std::vector<uint32_t>& labels, uint32_t classes, double signal,
                      uint64_t seed) {
  PublicRandom random(seed);
  RowScores scores;
  for (const uint32_t label : labels) {
    for (uint32_t k = 0; k < classes; ++k) {
      scores.push_back((k == label ? signal : 0) + 2 * random.Unit());
    }
  }
  CentreScores(classes, scores);
  return scores;
}

double LogLossByDefinition(const std::vector<const RowScores*>& learners,
                           const std::vector<double>& weights, const std::vector<double>& level,
                           const std::vector<uint32_t>& labels) {
  double loss = 0;
  const size_t classes = level.size();
  for (size_t row = 0; row < labels.size(); ++row) {
    double total = 0, of_label = 0;
    for (size_t k = 0; k < classes; ++k) {
      double score = level[k];
      for (size_t m = 0; m < learners.size(); ++m) {
        score += weights[m] * (*learners[m])[row * classes + k];
      }
      total += std::exp(score);
      if (k == labels[row]) of_label = score;
    }
    loss += std::log(total) - of_label;
  }
  return loss;
}

// A convex function is least where no coordinate's derivative leads down.
void ExpectLeast(const std::function<double(const std::vector<double>&)>& loss,
                 const std::vector<double>& at, size_t bounded) {
  constexpr double kStep = 1e-4;
  for (size_t i = 0; i < at.size(); ++i) {
    std::vector<double> up = at, down = at;
    up[i] += kStep;
    down[i] -= kStep;
    const double derivative = (loss(up) - loss(down)) / (2 * kStep);
    if (i < bounded && at[i] == 0) {
      EXPECT_GE(derivative, -1e-5) << "parameter " << i;
    } else {
      EXPECT_NEAR(derivative, 0, 1e-4) << "parameter " << i;
    }
  }
}

TEST(CalibrateTest, MinimizesThePenalizedLogLoss) {
  for (const uint32_t classes : {2u, 3u, 7u}) {
    const std::vector<uint32_t> labels = RandomLabels(100, classes, classes);
    const RowScores scores = NoisyScores(labels, classes, 1, 5);
    const Calibration calibration = Calibrate(scores, labels, classes);
    double mean_square = 0;
    for (const double score : scores) mean_square += score * score / scores.size();
    std::vector<double> at = {calibration.temperature};
    at.insert(at.end(), calibration.level.begin(), calibration.level.end());
    ASSERT_GT(calibration.temperature, 0);
    ExpectLeast(
        [&](const std::vector<double>& v) {
          const std::vector<double> level(v.begin() + 1, v.end());
          double loss = LogLossByDefinition({&scores}, {v[0]}, level, labels);
          loss += 0.01 * v[0] * v[0] * mean_square;
          for (const double b : level) loss += 0.5 * 1000 / 100 * b * b;
          return loss;
        },
        at, 1);
  }
}

TEST(CalibrateTest, FindsTheTemperatureThatScoresWereMultipliedBy) {
  // Labels drawn from the softmax of the scores: the temperature is near 1, of doubled scores 1/2.
  PublicRandom random(3);
  RowScores scores, doubled;
  std::vector<uint32_t> labels;
  for (int i = 0; i < 20'000; ++i) {
    const double score = 4 * random.Unit() - 2;
    scores.insert(scores.end(), {-score / 2, score / 2});
    doubled.insert(doubled.end(), {-score, score});
    labels.push_back(random.Unit() < 1 / (1 + std::exp(-score)) ? 1 : 0);
  }
  EXPECT_NEAR(Calibrate(scores, labels, 2).temperature, 1, 0.1);
  EXPECT_NEAR(Calibrate(doubled, labels, 2).temperature, 0.5, 0.05);
}

TEST(CalibrateTest, ScoresThatPointTheWrongWayGetTemperatureZero) {
  const std::vector<uint32_t> labels = RandomLabels(60, 3, 1);
  EXPECT_EQ(Calibrate(NoisyScores(labels, 3, -1, 2), labels, 3).temperature, 0);
}

TEST(CalibrateTest, ALearnerThatScoresAllRowsAlikeGetsTemperatureZero) {
  RowScores scores;
  for (int i = 0; i < 40; ++i) scores.insert(scores.end(), {0.4, -0.4});
  const std::vector<uint32_t> labels(40, 0);
  const Calibration calibration = Calibrate(scores, labels, 2);
  EXPECT_EQ(calibration.temperature, 0);
  // The level alone: 40 (1 - p) = 1000 / 40 * b, with p = 1 / (1 + exp(-2 b)).
  const double b = calibration.level[0];
  EXPECT_NEAR(40 / (1 + std::exp(2 * b)), 25 * b, 1e-5);
  EXPECT_NEAR(calibration.level[1], -b, 1e-7);
}

TEST(CalibrateTest, APerfectOrderGetsAFiniteTemperature) {
  std::vector<uint32_t> labels = RandomLabels(50, 2, 4);
  RowScores scores;
  for (const uint32_t label : labels) {
    scores.insert(scores.end(), {label == 0 ? 0.5 : -0.5, label == 0 ? -0.5 : 0.5});
  }
  const double temperature = Calibrate(scores, labels, 2).temperature;
  EXPECT_GT(temperature, 5);
  EXPECT_LT(temperature, 50);
}

TEST(CalibrateTest, OfVeryManyClassesOnlyTheTemperatureIsLearned) {
  const std::vector<uint32_t> labels = RandomLabels(100, 70, 6);
  const Calibration calibration = Calibrate(NoisyScores(labels, 70, 3, 7), labels, 70);
  EXPECT_GT(calibration.temperature, 0);
  EXPECT_THAT(calibration.level, Each(0));
}

TEST(StackClassesTest, MinimizesThePenalizedLogLossWithWeightsOfAtLeastZero) {
  int at_bound = 0;
  for (const uint32_t classes : {2u, 4u}) {
    const std::vector<uint32_t> labels = RandomLabels(300, classes, classes);
    std::vector<RowScores> scores;
    for (const double signal : {2.0, 1.0, -1.5, 0.1, 1.5}) {
      scores.push_back(NoisyScores(labels, classes, signal, scores.size()));
    }
    std::vector<const RowScores*> learners;
    for (const RowScores& of_learner : scores) learners.push_back(&of_learner);
    const StackWeights stack = StackClasses(learners, labels, classes);
    std::vector<double> at = stack.weights;
    at.insert(at.end(), stack.level.begin(), stack.level.end());
    ExpectLeast(
        [&](const std::vector<double>& v) {
          const std::vector<double> weights(v.begin(), v.begin() + 5),
              level(v.begin() + 5, v.end());
          double loss = LogLossByDefinition(learners, weights, level, labels);
          for (const double w : weights) loss += 10 * (w - 0.2) * (w - 0.2);
          for (const double b : level) loss += 0.5 * 1000 / 300 * b * b;
          return loss;
        },
        at, 5);
    for (const double weight : stack.weights) at_bound += weight == 0 ? 1 : 0;
    EXPECT_GT(stack.weights[0], stack.weights[1]);
  }
  EXPECT_GT(at_bound, 0) << "a learner that points the wrong way is left out";
}

TEST(StackNumbersTest, MinimizesThePenalizedSquaredError) {
  PublicRandom random(8);
  std::vector<double> numbers;
  std::vector<RowScores> scores(4);
  for (int i = 0; i < 100; ++i) {
    numbers.push_back(2 * random.Unit() - 1);
    scores[0].push_back(numbers[i] + 0.3 * random.Unit());
    scores[1].push_back(0.5 * numbers[i] + 0.6 * random.Unit());
    scores[2].push_back(-numbers[i] + random.Unit());
    scores[3].push_back(0.2 * random.Unit());
  }
  std::vector<const RowScores*> learners;
  for (const RowScores& of_learner : scores) learners.push_back(&of_learner);
  const StackWeights stack = StackNumbers(learners, numbers);
  EXPECT_THAT(stack.level, ElementsAre(0));
  EXPECT_EQ(stack.weights[2], 0);
  ExpectLeast(
      [&](const std::vector<double>& weights) {
        double loss = 0;
        for (size_t i = 0; i < numbers.size(); ++i) {
          double sum = 0;
          for (size_t m = 0; m < 4; ++m) sum += weights[m] * scores[m][i];
          loss += (numbers[i] - sum) * (numbers[i] - sum);
        }
        for (const double w : weights) loss += 2 * (w - 0.25) * (w - 0.25);
        return loss;
      },
      stack.weights, 4);
}

TEST(StackedTest, AddsTheWeightedScoresAndTheLevel) {
  const RowScores first = {1, -1, 2, -2}, second = {0.5, -0.5, 1, -1};
  EXPECT_THAT(Stacked({.weights = {2, 1}, .level = {0.25, -0.25}}, {&first, &second}),
              Pointwise(DoubleNear(1e-15), {2.75, -2.75, 5.25, -5.25}));
  EXPECT_THAT(Stacked({.weights = {2, 1}, .level = {0}}, {&first, &second}),
              Pointwise(DoubleNear(1e-15), {2.5, -2.5, 5.0, -5.0}))
      << "numbers are not centred";
}

TEST(MeanLossTest, IsThatOfTheDefinition) {
  const RowScores scores = {std::log(3), 0, 0, std::log(4)};
  EXPECT_NEAR(MeanLogLoss(scores, {0, 0}, 2), (std::log(4.0 / 3) + std::log(5.0)) / 2, 1e-15);
  EXPECT_NEAR(MeanLogLoss({800, -800}, {1}, 2), 1600, 1e-9) << "no probability is rounded to 0";
  EXPECT_EQ(MeanSquaredError({1, 2, 4}, {1, 1, 1}), 10.0 / 3);
}

TEST(CentreScoresTest, TakesEachRowsMeanOff) {
  RowScores scores = {1, 2, 6, 0, 0, 0};
  CentreScores(3, scores);
  EXPECT_THAT(scores, ElementsAre(-2, -1, 3, 0, 0, 0));
}

}  // namespace
}  // namespace coppice
