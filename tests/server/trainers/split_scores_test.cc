#include "server/trainers/core/split_scores.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "absl/numeric/int128.h"

namespace coppice::trainers {
namespace {

TEST(SplitScoresTest, GainIsSquaredSumOverCountAndLambda) {
  EXPECT_EQ(GainTerm(0, 0, {1, 10}), 0);
  EXPECT_EQ(GainTerm(3, 3 * kResidualSteps, {1, 1}), 9 * kScoreUnit / 4);
  EXPECT_EQ(GainTerm(3, -3 * kResidualSteps, {1, 1}), 9 * kScoreUnit / 4);
  EXPECT_EQ(GainTerm(1, kResidualSteps, {1, 10}), kScoreUnit * 10 / 11);
  EXPECT_EQ(GainTerm(5, 0, {0, 1}), 0);
  // 2^39 rows of the largest gradient exceed 64 bits by far in between.
  const int64_t many = int64_t{1} << 39;
  EXPECT_EQ(GainTerm(many, many * kResidualSteps, {0, 1}), many * kScoreUnit);
}

// Gains are guessed and corrected, or divided exactly if guesses are too far off.
TEST(SplitScoresTest, GainsAreFloorsOfTheExactValue) {
  std::mt19937_64 engine(1);
  const auto up_to = [&](int64_t most) {
    return std::uniform_int_distribution<int64_t>(0, most)(engine);
  };
  for (int i = 0; i < 200'000; ++i) {
    const int64_t count = 1 + up_to(int64_t{1} << up_to(36));
    const int64_t sum = up_to(2 * count * kResidualSteps) - count * kResidualSteps;
    const Lambda lambda{.numerator = static_cast<uint32_t>(up_to(5000)), .denominator = 1000};
    const absl::int128 rows = absl::int128(count) * lambda.denominator + lambda.numerator;
    const absl::int128 exact =
        absl::int128(sum) * sum * lambda.denominator / (rows * kResidualSteps);
    ASSERT_EQ(GainTerm(count, sum, lambda), static_cast<int64_t>(exact)) << count << " " << sum;
    const absl::int128 of_two = (absl::int128(sum) * sum + absl::int128(count) * count) *
                                lambda.denominator / (rows * kResidualSteps * 2);
    ASSERT_EQ(GainTerm(count, {sum, -count}, 2, lambda), static_cast<int64_t>(of_two));
  }
}

// All children of up to twelve records, and each record that may be added, on a grid of halves.
struct Moved {
  int64_t least = 0, most = 0;
};
Moved MovesOfGain(Lambda lambda) {
  constexpr int64_t kHalf = kResidualSteps / 2;
  Moved moved;
  for (int64_t count = 0; count <= 12; ++count) {
    for (int64_t halves = -2 * count; halves <= 2 * count; ++halves) {
      for (int64_t record = -2; record <= 2; ++record) {
        const int64_t change = GainTerm(count + 1, (halves + record) * kHalf, lambda) -
                               GainTerm(count, halves * kHalf, lambda);
        moved.least = std::min(moved.least, change);
        moved.most = std::max(moved.most, change);
      }
    }
  }
  return moved;
}

TEST(SplitScoresTest, OneRecordMovesAGainWithinItsRangeAndPastThePapers) {
  for (const Lambda lambda : {Lambda{0, 1}, Lambda{1, 10}, Lambda{1, 1}, Lambda{7, 1}}) {
    const Moved moved = MovesOfGain(lambda);
    EXPECT_GE(moved.least, -3 * kScoreUnit);
    EXPECT_LE(moved.most, kScoreUnit);
    EXPECT_LE(static_cast<uint64_t>(moved.most - moved.least), kGainRange);
  }
  // DPBoost's Lemma 1 at lambda = 0.1 bounds the change by (3 lambda + 2) / ((lambda + 1)(lambda +
  // 2)).
  const double paper = 2.3 / (1.1 * 2.1) * kScoreUnit;
  const Moved moved = MovesOfGain({1, 10});
  EXPECT_GT(static_cast<double>(-moved.least), 2.6 * paper);
  EXPECT_GT(static_cast<double>(moved.most - moved.least), 1.7 * 2 * paper);
}

TEST(SplitScoresTest, SquaredErrorIsMinusTheSumAboutTheMean) {
  EXPECT_EQ(SquaredErrorTerm(0, 0, 0), 0);
  EXPECT_EQ(SquaredErrorTerm(4, 8, 16), 0);
  EXPECT_EQ(SquaredErrorTerm(2, 10, 100), -50);  // 0 and 10
  EXPECT_EQ(SquaredErrorTerm(3, 2, 2), 0);       // 2/3, down
}

TEST(SplitScoresTest, MiscountIsMinusTheRowsOfOtherClasses) {
  EXPECT_EQ(MiscountTerm({0, 0}), 0);
  EXPECT_EQ(MiscountTerm({5, 2, 3}), -5);
}

TEST(SplitScoresTest, GiniIsMinusCountTimesImpurity) {
  EXPECT_EQ(GiniTerm({0, 0}), 0);
  EXPECT_EQ(GiniTerm({7, 0}), 0);
  EXPECT_EQ(GiniTerm({2, 2}), -2 * kScoreUnit);
  EXPECT_EQ(GiniTerm({1, 1, 1}), -2 * kScoreUnit);
  EXPECT_EQ(GiniTerm({1, 2}), -(4 * kScoreUnit / 3));
}

TEST(SplitScoresTest, WeightedGiniIsMinusTheHarmonicMeanTwice) {
  EXPECT_EQ(WeightedGiniTerm(0, 0), 0);
  EXPECT_EQ(WeightedGiniTerm(9, 0), 0);
  EXPECT_EQ(WeightedGiniTerm(10, 10), -20);
  const int64_t large = int64_t{1} << 60;
  EXPECT_EQ(WeightedGiniTerm(large, large), -2 * large);
}

// The counterexamples to the thesis on smooth re-weighting, in units of a row's mass. Relabelling a
// row moves masses by two in L1; zeta is one.
constexpr int64_t kRow = kScoreUnit;
int64_t Impurity(int64_t of_0, int64_t of_1) { return -WeightedGiniTerm(of_0 * kRow, of_1 * kRow); }

TEST(SplitScoresTest, ALabelMovesALeafsImpurityByFourAndNotByTheFiveQuartersOfLemma423) {
  const int64_t moved = Impurity(100'000'000, 2) - Impurity(100'000'001, 1);
  EXPECT_GT(moved, 399 * kRow / 100);
  EXPECT_GT(moved, 5 * kRow / 4);
  EXPECT_LE(moved, 4 * kRow + 1);
}

TEST(SplitScoresTest, ALabelMovesADropByEightAndNotByTheFourOfLemma424) {
  constexpr int64_t kMany = 100'000'000, kSome = 10'000;
  const auto drop = [](int64_t a, int64_t b) {  // children (a, b) and (0, kMany)
    return Impurity(a, b + kMany) - Impurity(a, b) - Impurity(0, kMany);
  };
  const int64_t moved = drop(kSome + 1, 0) - drop(kSome, 1);
  EXPECT_GT(moved, 799 * kRow / 100);
  EXPECT_GT(moved, 4 * kRow);
  // As the range that a selection pays for, it is the thesis's: 4 per unit of L1.
  EXPECT_LE(moved, static_cast<int64_t>(WeightedGiniRange(2 * kRow)));
}

}  // namespace
}  // namespace coppice::trainers
