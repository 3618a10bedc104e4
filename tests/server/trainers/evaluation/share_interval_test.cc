#include "server/trainers/evaluation/share_interval.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

#include "common/privacy/samplers.h"
#include "tests/support/seeded_random.h"

namespace coppice::trainers {
namespace {

using testing::SeededRandom;

double NormalWithin(double deviations) { return std::erf(deviations / std::sqrt(2.0)); }

TEST(ChanceWithinTest, IsTheNormalLawWithoutNoise) {
  for (const double reach : {0.1, 1.0, 1.96, 3.0}) {
    EXPECT_NEAR(ChanceWithin(reach * 5, {}, 1, 25), NormalWithin(reach), 1e-9) << reach;
  }
}

TEST(ChanceWithinTest, IsTheLaplaceLawForOneVariable) {
  const std::array<NoiseTerms, 1> one = {NoiseTerms{.weight = 1, .count = 1}};
  for (const double reach : {10.0, 100.0, 300.0}) {
    // The normal term of a hundredth of the noise takes less than .001 of it.
    EXPECT_NEAR(ChanceWithin(reach, one, 100, 0), 1 - std::exp(-reach / 100), 2e-3) << reach;
  }
}

// 20000 sums each: the deviation of a share is at most .0036, so a false alarm has a chance below
// 1e-7 (5.5 deviations, four checks).
TEST(ChanceWithinTest, AgreesWithDrawnNoise) {
  constexpr int kSums = 20'000;
  SeededRandom random(1);
  const std::array<NoiseTerms, 2> terms = {NoiseTerms{.weight = 0.2, .count = 3},
                                           NoiseTerms{.weight = -0.8, .count = 2}};
  std::vector<double> sums;
  for (int i = 0; i < kSums; ++i) {
    double sum = 0;
    for (const NoiseTerms& term : terms) {
      for (size_t j = 0; j < term.count; ++j) {
        sum += term.weight * static_cast<double>(*DiscreteLaplace(1, 20, random));
      }
    }
    sums.push_back(std::abs(sum));
  }
  for (const double reach : {10.0, 25.0, 40.0, 80.0}) {
    double within = 0;
    for (const double sum : sums) within += sum <= reach ? 1 : 0;
    EXPECT_NEAR(ChanceWithin(reach, terms, 20, 0), within / kSums, 0.02) << reach;
  }
}

TEST(ShareOfTest, IsWilsonsIntervalWhereNoiseIsNothing) {
  const Estimate estimate = ShareOf({.hits = 80, .misses = 20, .scale = 1e-3});
  EXPECT_DOUBLE_EQ(estimate.value, 0.8);
  EXPECT_NEAR(estimate.interval.low, 0.711, 2e-3);
  EXPECT_NEAR(estimate.interval.high, 0.867, 2e-3);
}

TEST(ShareOfTest, GrowsWithTheNoiseAndWithTheNumberOfNoisyCells) {
  const NoisyShare few{.hits = 2400, .misses = 600, .hit_cells = 2, .miss_cells = 2, .scale = 40};
  NoisyShare many = few;
  many.hit_cells = many.miss_cells = 8;
  const auto width = [](const NoisyShare& share) {
    const Estimate estimate = ShareOf(share);
    return estimate.interval.high - estimate.interval.low;
  };
  EXPECT_NEAR(width(few) / 2, 0.045, 0.01);
  EXPECT_GT(width(many), 1.7 * width(few));
}

TEST(ShareOfTest, KnowsNothingOfNoRows) {
  for (const double rows : {0.0, -50.0}) {
    const Estimate estimate = ShareOf({.hits = rows, .misses = 0, .scale = 40});
    EXPECT_EQ(estimate.value, 0.5);
    EXPECT_EQ(estimate.interval.low, 0);
    EXPECT_EQ(estimate.interval.high, 1);
  }
}

TEST(ShareOfTest, HoldsTheEndsOfTheScale) {
  const Estimate all = ShareOf({.hits = 1000, .misses = -3, .scale = 2});
  EXPECT_EQ(all.value, 1);
  EXPECT_EQ(all.interval.high, 1);
  EXPECT_LT(all.interval.low, 1);
  const Estimate huge = ShareOf({.hits = 9e12, .misses = 1e12, .scale = 1e9});
  EXPECT_NEAR(huge.value, 0.9, 1e-9);
}

TEST(AreaOfTest, HidesNoMoreThanItsBinsMay) {
  // Of two bins: half of the negatives are below, the rest of them together with the positives.
  const std::vector<int64_t> negatives = {500'000, 500'000}, positives = {0, 1'000'000};
  const Estimate area = AreaOf(negatives, positives, 1);
  EXPECT_NEAR(area.value, 0.75, 1e-9);
  EXPECT_NEAR(area.interval.low, 0.5, 5e-3);
  EXPECT_NEAR(area.interval.high, 1, 1e-9);
}

TEST(AreaOfTest, KnowsNothingWithoutRowsOfAClass) {
  const Estimate area = AreaOf(std::vector<int64_t>{5, 5}, std::vector<int64_t>{-4, 0}, 10);
  EXPECT_EQ(area.interval.low, 0);
  EXPECT_EQ(area.interval.high, 1);
}

}  // namespace
}  // namespace coppice::trainers
