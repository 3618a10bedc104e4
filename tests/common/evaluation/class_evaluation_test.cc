#include "common/evaluation/class_evaluation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace coppice {
namespace {

using ::testing::ElementsAre;

// Scores two classes from counts by true and predicted class, predicted with certainty.
ClassScores ScoresOf(const std::vector<std::vector<int>>& confusion) {
  ClassEvaluation evaluation(static_cast<uint32_t>(confusion.size()));
  for (uint32_t label = 0; label < confusion.size(); ++label) {
    for (uint32_t predicted = 0; predicted < confusion.size(); ++predicted) {
      std::vector<double> probabilities(confusion.size(), 0);
      probabilities[predicted] = 1;
      for (int i = 0; i < confusion[label][predicted]; ++i) {
        evaluation.Add(predicted, probabilities, label);
      }
    }
  }
  return evaluation.Scores();
}

std::string VerdictOn(const std::vector<std::vector<int>>& confusion) {
  const ClassScores scores = ScoresOf(confusion);
  const std::vector<std::string> classes = {"no", "yes"};
  return ClassVerdict(classes[scores.majority.label], scores.majority.share, scores.gain,
                      scores.gain_interval);
}

// Like a bank's campaign: .888 of the rows are of one class.
TEST(ClassVerdictTest, ModelAtItsMajorityIsSaidToBeNoBetter) {
  EXPECT_EQ(VerdictOn({{880, 8}, {100, 12}}),
            "No better than always answering no, which is right on 0.888 of these rows.");
  EXPECT_EQ(VerdictOn({{888, 0}, {112, 0}}),
            "No better than always answering no, which is right on 0.888 of these rows.");
  EXPECT_EQ(VerdictOn({{885, 3}, {88, 24}}),
            "Better than always answering no (0.888) by 0.021 (0.011 to 0.031).");
  EXPECT_EQ(VerdictOn({{800, 88}, {100, 12}}),
            "Worse than always answering no (0.888) by 0.076 (0.057 to 0.095).");
}

TEST(ClassEvaluationTest, CountsWhatWasAnsweredAndWhatWasNot) {
  ClassEvaluation evaluation(3);
  evaluation.Add(0, {0.5, 0.3, 0.2}, 0);
  evaluation.Add(0, {0.5, 0.3, 0.2}, 1);
  evaluation.Add(1, {0.2, 0.7, 0.1}, 1);
  evaluation.Add(0, {0.6, 0.3, 0.1}, 1);
  evaluation.AddAbstained();
  const ClassScores scores = evaluation.Scores();
  EXPECT_EQ(scores.rows, 4u);
  EXPECT_EQ(scores.abstained, 1u);
  EXPECT_EQ(scores.correct, 2u);
  EXPECT_EQ(scores.majority.label, 1u);
  EXPECT_EQ(scores.majority.share, 0.75);
  EXPECT_EQ(scores.gain, -0.25);
  EXPECT_THAT(scores.confusion,
              ElementsAre(ElementsAre(1, 0, 0), ElementsAre(2, 1, 0), ElementsAre(0, 0, 0)));
  EXPECT_EQ(scores.recall[0], 1.0);
  EXPECT_NEAR(*scores.recall[1], 1.0 / 3, 1e-12);
  EXPECT_EQ(scores.recall[2], std::nullopt);
  EXPECT_NEAR(*scores.precision[0], 1.0 / 3, 1e-12);
  EXPECT_EQ(scores.precision[1], 1.0);
  EXPECT_EQ(scores.precision[2], std::nullopt);
}

TEST(ClassEvaluationTest, NoRowHasNoScore) {
  const ClassScores scores = ClassEvaluation(2).Scores();
  EXPECT_EQ(scores.rows, 0u);
  EXPECT_EQ(scores.accuracy, 0);
  EXPECT_EQ(scores.auc, std::nullopt);
  EXPECT_EQ(scores.log_loss, 0);
  EXPECT_EQ(scores.calibration_error, 0);
}

TEST(ClassEvaluationTest, IntervalIsWilsons) {
  const ClassScores scores = ScoresOf({{5, 1}, {1, 3}});
  EXPECT_NEAR(scores.interval.low, 0.4902, 1e-4);
  EXPECT_NEAR(scores.interval.high, 0.9433, 1e-4);
}

// Answers and majority that are wrong on the same rows have a difference that is known better than
// either accuracy.
TEST(ClassEvaluationTest, PairedIntervalIsNarrowerThanTheAccuracys) {
  const ClassScores scores = ScoresOf({{598, 2}, {380, 20}});
  EXPECT_NEAR(scores.gain, 0.018, 1e-12);
  EXPECT_LE(scores.gain_interval.low, scores.gain);
  EXPECT_GE(scores.gain_interval.high, scores.gain);
  EXPECT_LT(scores.gain_interval.high - scores.gain_interval.low,
            (scores.interval.high - scores.interval.low) / 3);
}

// For two models that are equally right on average, the interval misses a zero difference about one
// time in twenty.
TEST(ClassEvaluationTest, PairedIntervalHoldsTheTruth) {
  constexpr int kTrials = 2000, kRows = 300;
  std::mt19937 random(7);
  std::uniform_real_distribution<double> unit;
  int held = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    ClassEvaluation evaluation(2);
    for (int i = 0; i < kRows; ++i) {
      const double draw = unit(random);  // .8 of class 0; each is right alone equally often
      const uint32_t label = draw < 0.8 ? 0 : 1;
      const uint32_t predicted = draw < 0.05 || draw > 0.95 ? 1 : 0;
      evaluation.Add(predicted, {0.5, 0.5}, label);
    }
    const ConfidenceInterval interval = evaluation.Scores().gain_interval;
    held += interval.low <= 0 && interval.high >= 0 ? 1 : 0;
  }
  EXPECT_GT(held, 0.93 * kTrials);
  EXPECT_LT(held, 0.98 * kTrials);
}

TEST(ClassEvaluationTest, AreaIsThatOfAllPairs) {
  ClassEvaluation evaluation(2);
  std::mt19937 random(3);
  std::vector<std::pair<double, uint32_t>> rows;
  for (int i = 0; i < 300; ++i) {
    const uint32_t label = random() % 3 == 0 ? 1 : 0;
    const double p = static_cast<double>(random() % 10 + label) / 10;  // many ties
    rows.emplace_back(p, label);
    evaluation.Add(p > 0.5 ? 1 : 0, {1 - p, p}, label);
  }
  double pairs = 0, wins = 0;
  for (const auto& [p, label] : rows) {
    for (const auto& [q, other] : rows) {
      if (label != 1 || other != 0) continue;
      ++pairs;
      wins += p > q ? 1 : p == q ? 0.5 : 0;
    }
  }
  EXPECT_NEAR(*evaluation.Scores().auc, wins / pairs, 1e-12);
}

TEST(ClassEvaluationTest, AreaOfManyClassesIsTheMeanOverThoseThatArePresent) {
  ClassEvaluation evaluation(4);
  evaluation.Add(0, {0.7, 0.1, 0.1, 0.1}, 0);
  evaluation.Add(1, {0.1, 0.7, 0.1, 0.1}, 1);
  evaluation.Add(1, {0.2, 0.7, 0.05, 0.05}, 2);
  // Classes 0 and 1 are ranked right or tied: 1 and 3/4. Class 2 is ranked last: 0. Class 3: none.
  EXPECT_NEAR(*evaluation.Scores().auc, (1 + 0.75 + 0) / 3, 1e-12);
}

TEST(ClassEvaluationTest, OneClassAloneHasNoArea) {
  EXPECT_EQ(ScoresOf({{5, 3}, {0, 0}}).auc, std::nullopt);
}

TEST(ClassEvaluationTest, LogLossIsHeldAwayFromInfinityAndBesideThatOfTheShares) {
  ClassEvaluation evaluation(2);
  evaluation.Add(1, {0, 1}, 0);
  evaluation.Add(1, {0.25, 0.75}, 1);
  evaluation.Add(1, {0.25, 0.75}, 1);
  evaluation.Add(0, {0.5, 0.5}, 1);
  const ClassScores scores = evaluation.Scores();
  EXPECT_NEAR(scores.log_loss,
              -(std::log(kMinLogLossProbability) + 2 * std::log(0.75) + std::log(0.5)) / 4, 1e-12);
  EXPECT_NEAR(scores.majority_log_loss, -(0.25 * std::log(0.25) + 0.75 * std::log(0.75)), 1e-12);
}

TEST(ClassEvaluationTest, CalibrationIsOfTheSecondClass) {
  ClassEvaluation evaluation(2);
  evaluation.Add(0, {0.95, 0.05}, 0);
  evaluation.Add(0, {0.93, 0.07}, 1);
  evaluation.Add(1, {0, 1}, 1);  // the last bin includes both its ends
  const ClassScores scores = evaluation.Scores();
  ASSERT_EQ(scores.calibration.size(), 10u);
  EXPECT_EQ(scores.calibration[0].rows, 2u);
  EXPECT_NEAR(scores.calibration[0].predicted, 0.06, 1e-12);
  EXPECT_EQ(scores.calibration[0].observed, 0.5);
  EXPECT_EQ(scores.calibration[9].rows, 1u);
  EXPECT_EQ(scores.calibration[9].high, 1);
  EXPECT_NEAR(scores.calibration_error, 2.0 / 3 * 0.44, 1e-12);
}

TEST(ClassEvaluationTest, CalibrationOfManyClassesIsOfTheAnswer) {
  ClassEvaluation evaluation(3);
  evaluation.Add(2, {0.2, 0.3, 0.5}, 2);
  evaluation.Add(2, {0.2, 0.25, 0.55}, 1);
  const ClassScores scores = evaluation.Scores();
  EXPECT_EQ(scores.calibration[5].rows, 2u);
  EXPECT_NEAR(scores.calibration[5].predicted, 0.525, 1e-12);
  EXPECT_EQ(scores.calibration[5].observed, 0.5);
}

TEST(MajorityTest, IsTheLowestOfTheMostFrequentClasses) {
  EXPECT_EQ(MajorityOf(std::vector<uint64_t>{2, 3, 3}).label, 1u);
  EXPECT_EQ(MajorityOf(std::vector<uint64_t>{0, 0}).share, 0);
  const std::vector<uint32_t> labels = {1, 1, 0, 4'294'967'295};  // the last has none
  EXPECT_EQ(MajorityOf(labels, 2).label, 1u);
  EXPECT_NEAR(MajorityOf(labels, 2).share, 2.0 / 3, 1e-12);
}

TEST(ValueCountsTest, BeyondItsLimitValuesAreRoundedAndNoneIsLost) {
  constexpr size_t kLimit = 101;
  ValueCounts few(0, 1, kLimit), many(0, 1, kLimit);
  std::mt19937 random(11);
  std::uniform_real_distribution<double> unit;
  ValueCounts all(0, 1, size_t{1} << 20);
  for (int i = 0; i < 20'000; ++i) {
    const size_t group = random() % 2;
    const double value = 0.9 * unit(random) + 0.1 * static_cast<double>(group);
    if (few.counts().size() < kLimit) few.Add(value, group);
    many.Add(value, group);
    all.Add(value, group);
  }
  EXPECT_TRUE(few.is_exact());
  EXPECT_FALSE(many.is_exact());
  EXPECT_LE(many.counts().size(), kLimit);
  uint64_t rows = 0;
  for (const auto& [value, groups] : many.counts()) rows += groups[0] + groups[1];
  EXPECT_EQ(rows, 20'000u);
  EXPECT_NEAR(*RocArea(many), *RocArea(all), 1e-3);
}

}  // namespace
}  // namespace coppice
