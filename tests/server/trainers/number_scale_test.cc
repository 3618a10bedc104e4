#include "server/trainers/boosting/number_scale.h"

#include <cmath>
#include <random>

#include "server/trainers/core/bins.h"
#include "tests/support/scripted_random.h"
#include "tests/support/seeded_random.h"
#include "tests/support/status_matchers.h"

namespace coppice::trainers {
namespace {

using testing::SeededRandom;

std::vector<uint32_t> Bell(size_t rows, double middle, double spread) {
  std::mt19937_64 engine(9);
  std::normal_distribution<> draw(middle, spread);
  std::vector<uint32_t> targets;
  for (size_t i = 0; i < rows; ++i) {
    targets.push_back(static_cast<uint32_t>(std::clamp(draw(engine), 0.0, 1.0 * kTargetSteps)));
  }
  return targets;
}

BudgetShare Of(const char* epsilon) { return BudgetShare(*Budget::Parse(epsilon)); }

TEST(DivideForNumbersTest, PartsAddUpToTheWholeNearly) {
  const NumberShares shares = *DivideForNumbers(Of("2"));
  const uint64_t all = shares.middle.amount() + shares.reach.amount() + shares.first.amount() +
                       shares.trees.amount() + shares.last.amount();
  EXPECT_EQ(all, Of("2").amount());
  EXPECT_NEAR(static_cast<double>(shares.middle.amount()), 0.05 * 2e9, 2e3);
  EXPECT_NEAR(static_cast<double>(shares.reach.amount()), 0.05 * 2e9, 2e3);
  EXPECT_NEAR(static_cast<double>(shares.last.amount()), 0.03 * 2e9, 5e3);
  EXPECT_NEAR(static_cast<double>(shares.first.amount()), 0.01 * 0.87 * 2e9, 5e3);
}

// Within 2.33 spreads of the middle lie 98 % of a bell.
TEST(ReleaseNumberScaleTest, FindsTheMiddleAndTheReachOfABell) {
  const auto targets = Bell(5000, 20'000, 2'000);
  SeededRandom random(4);
  for (const BudgetShare& share : {Of("1"), BudgetShare(*Rho::FromPicos(Rho::kPicosPerRho / 8))}) {
    PrivateReleaser releaser(SelectionRule::kPermuteAndFlip, random);
    ASSERT_OK_AND_ASSIGN(const NumberScale scale,
                         ReleaseNumberScale(targets, 5000, share, share, releaser));
    EXPECT_NEAR(scale.middle, 20'000, 300);
    EXPECT_NEAR(scale.reach, 2.33 * 2'000, 1'000);
  }
}

// Every reach from 2,000 to the whole range holds everything.
TEST(ReleaseNumberScaleTest, PrefersASmallReachAmongThoseThatHoldEverything) {
  std::vector<uint32_t> targets(10'000, 20'000);
  for (size_t i = 0; i < targets.size(); i += 2) targets[i] = 22'000;
  SeededRandom random(4);
  for (int i = 0; i < 20; ++i) {
    PrivateReleaser releaser(SelectionRule::kPermuteAndFlip, random);
    ASSERT_OK_AND_ASSIGN(const NumberScale scale,
                         ReleaseNumberScale(targets, 10'000, Of("1"), Of("1"), releaser));
    EXPECT_LT(scale.reach, 10'000);
  }
}

TEST(ReleaseNumberScaleTest, AReachIsNeverZero) {
  const std::vector<uint32_t> targets(5000, 1234);
  SeededRandom random(5);
  PrivateReleaser releaser(SelectionRule::kPermuteAndFlip, random);
  EXPECT_GE(ReleaseNumberScale(targets, 5000, Of("1"), Of("1"), releaser)->reach,
            kTargetSteps / 256.0);
  EXPECT_OK(ReleaseNumberScale({}, -3, Of("1"), Of("1"), releaser));
}

TEST(ReleaseLastStepTest, MovesByTheBiasThatIsLeftAndNotByNoise) {
  const NumberScale scale = {.middle = 30'000, .reach = 1'000};
  const std::vector<double> scores(20'000, 0.0);
  SeededRandom random(6);
  PrivateReleaser releaser(SelectionRule::kPermuteAndFlip, random);
  const std::vector<uint32_t> right(20'000, 30'000), high(20'000, 30'500);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(ReleaseLastStep(right, scores, scale, Of("1"), releaser)->value, 0);
    ASSERT_OK_AND_ASSIGN(const LastStep step,
                         ReleaseLastStep(high, scores, scale, Of("1"), releaser));
    EXPECT_NEAR(step.value, 500, 10);
    EXPECT_GT(step.noise.variance, 0);
    EXPECT_LT(step.noise.variance, 100);
  }
  EXPECT_EQ(ReleaseLastStep({}, {}, scale, BudgetShare::WithoutPrivacy(), releaser)->value, 0);
}

TEST(DivideForFewNumbersTest, PartsAddUpAndScalesCostMoreOfLess) {
  for (const double information : {1.0, 150.0, 300.0, 799.0, 800.0, 1e6}) {
    const FewNumberShares shares = *DivideForFewNumbers(Of("2"), information);
    EXPECT_EQ(shares.last.has_value(), information >= 800);
    const uint64_t last = shares.last ? shares.last->amount() : 0;
    EXPECT_EQ(shares.reach.amount() + shares.first.amount() + shares.trees.amount() + last,
              Of("2").amount());
    const double reach = std::clamp(25 / information, 0.05, 0.25);
    EXPECT_NEAR(static_cast<double>(shares.reach.amount()), reach * 2e9, 3e3);
    EXPECT_NEAR(SecondCentreShare(information), reach - 0.05, 0.001);
  }
  EXPECT_EQ(SecondCentreShare(500), 0);
}

NumberCentre CentreOf(const std::vector<uint32_t>& targets, double rows, const char* count,
                      const std::vector<BudgetShare>& shares, PrivateReleaser& releaser) {
  NumberCentre centre = *NumberCentre::Create(targets, rows, Of(count));
  for (const BudgetShare& share : shares) EXPECT_OK(centre.Release(share, releaser));
  return centre;
}

TEST(NumberCentreTest, FindsTheMeanAndCountsRowsBetterThanBefore) {
  const auto targets = Bell(2000, 20'000, 2'000);
  SeededRandom random(4);
  PrivateReleaser releaser(random);
  const BudgetShare in_rho(*Rho::FromPicos(Rho::kPicosPerRho / 8));
  for (const BudgetShare& share : {Of("1"), in_rho}) {
    // The number of rows at hand is off by 140, and its noise is as large.
    const NumberCentre centre = CentreOf(targets, 2140, "0.01", {share, share}, releaser);
    EXPECT_NEAR(centre.rows(), 2000, 15);
    EXPECT_NEAR(centre.middle(), 20'000, 400);
  }
}

// There is twice as much noise as numbers, so half a mean is no better than none.
TEST(NumberCentreTest, NoiseDrawsTheMeanToTheMiddleOfTheRange) {
  const std::vector<uint32_t> few(20, kTargetSteps), many(20'000, kTargetSteps);
  constexpr double kHalf = kTargetSteps / 2.0;
  double sum = 0;
  SeededRandom random(4);
  PrivateReleaser releaser(random);
  for (int i = 0; i < 200; ++i) {
    const NumberCentre centre = CentreOf(few, 20, "1", {Of("0.01")}, releaser);
    EXPECT_GE(centre.middle(), 0);
    EXPECT_LE(centre.middle(), kTargetSteps);
    sum += std::abs(centre.middle() - kHalf);
  }
  EXPECT_LT(sum / 200, 0.1 * kHalf);
  EXPECT_GT(CentreOf(many, 20'000, "1", {Of("0.01")}, releaser).middle(), 1.9 * kHalf);
}

TEST(NumberCentreTest, HasACentreWithoutRowsAndWithNegativeNoisyCounts) {
  SeededRandom random(4);
  PrivateReleaser releaser(random);
  for (int i = 0; i < 50; ++i) {
    const NumberCentre centre = CentreOf({}, -50, "0.01", {Of("0.02"), Of("0.1")}, releaser);
    EXPECT_GE(centre.rows(), 1);
    EXPECT_GE(centre.middle(), 0);
    EXPECT_LE(centre.middle(), kTargetSteps);
    EXPECT_TRUE(std::isfinite(centre.NoiseOfMiddle(releaser).variance));
  }
}

// Compares 400 means with how far noise is said to have moved each.
TEST(NumberCentreTest, KnowsHowFarNoiseMovesTheMean) {
  const auto targets = Bell(1000, 20'000, 2'000);
  SeededRandom random(4);
  PrivateReleaser releaser(random);
  double squares = 0, stated = 0;
  constexpr int kTimes = 400;
  for (int i = 0; i < kTimes; ++i) {
    const NumberCentre centre = CentreOf(targets, 1000, "0.01", {Of("0.005"), Of("0.1")}, releaser);
    squares += std::pow(centre.middle() - 20'000, 2) / kTimes;
    stated += centre.NoiseOfMiddle(releaser).variance / kTimes;
  }
  EXPECT_GT(stated, 0.7 * squares);
  EXPECT_LT(stated, 1.5 * squares);
}

}  // namespace
}  // namespace coppice::trainers
