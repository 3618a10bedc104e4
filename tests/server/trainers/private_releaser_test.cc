#include "server/trainers/core/private_releaser.h"

#include <cmath>
#include <map>

#include "common/base/status.h"
#include "tests/support/binomial_plan.h"
#include "tests/support/scripted_random.h"
#include "tests/support/seeded_random.h"
#include "tests/support/status_matchers.h"

namespace coppice::trainers {
namespace {

using testing::BinomialPlan;
using testing::ScriptedRandom;
using testing::SeededRandom;
using testing::StatusIs;

constexpr uint64_t kDraws = 20'000;

std::map<size_t, uint64_t> Chosen(SelectionRule rule, const std::vector<int64_t>& scores,
                                  const BudgetShare& share, uint64_t range) {
  SeededRandom random(7);
  PrivateReleaser releaser(rule, random);
  std::map<size_t, uint64_t> chosen;
  for (uint64_t i = 0; i < kDraws; ++i) ++chosen[*releaser.Select(scores, share, range)];
  return chosen;
}

TEST(PrivateReleaserTest, WithoutPrivacyTheFirstOfTheBestIsTaken) {
  for (const SelectionRule rule : {SelectionRule::kPermuteAndFlip, SelectionRule::kExponential}) {
    const auto chosen = Chosen(rule, {3, 5, -1, 5, 5}, BudgetShare::WithoutPrivacy(), 2);
    EXPECT_EQ(chosen, (std::map<size_t, uint64_t>{{1, kDraws}}));
  }
}

// Two candidates differ by one, with epsilon 1 and range 2. exp(-1/2) = 0.6065 gives the odds of
// the second in the exponential mechanism, and its coin in permute and flip if it is asked first.
TEST(PrivateReleaserTest, EachRuleHasItsLaw) {
  const BudgetShare share(*Budget::Parse("1"));
  const double coin = std::exp(-0.5);
  const auto flipped = Chosen(SelectionRule::kPermuteAndFlip, {4, 3}, share, 2);
  const auto exponential = Chosen(SelectionRule::kExponential, {4, 3}, share, 2);
  const BinomialPlan flips{coin / 2, kDraws}, weighs{coin / (1 + coin), kDraws};
  EXPECT_TRUE(flips.Accepts(flipped.at(1)));
  EXPECT_TRUE(weighs.Accepts(exponential.at(1)));
  // The plans tell the rules apart.
  EXPECT_FALSE(flips.Accepts(exponential.at(1)));
  EXPECT_FALSE(weighs.Accepts(flipped.at(1)));
}

TEST(PrivateReleaserTest, SumsAreExactWithoutPrivacyAndNoisyWithIt) {
  ScriptedRandom nothing({});
  PrivateReleaser exact(SelectionRule::kPermuteAndFlip, nothing);
  EXPECT_EQ(*exact.Sums({3, -4}, 1, BudgetShare::WithoutPrivacy()), (std::vector<int64_t>{3, -4}));

  SeededRandom random(8);
  PrivateReleaser noisy(SelectionRule::kPermuteAndFlip, random);
  uint64_t kept = 0;
  for (uint64_t i = 0; i < kDraws; ++i) {
    kept +=
        *noisy.Sums({3}, 2, BudgetShare(*Budget::Parse("1"))) == std::vector<int64_t>{3} ? 1 : 0;
  }
  const double ratio = std::exp(-0.5);
  EXPECT_TRUE((BinomialPlan{(1 - ratio) / (1 + ratio), kDraws}.Accepts(kept)));
  EXPECT_FALSE((BinomialPlan{(1 - ratio * ratio) / (1 + ratio * ratio), kDraws}.Accepts(kept)));
}

TEST(PrivateReleaserTest, AFailingSourceAndAnEmptyListAreErrors) {
  ScriptedRandom random({});
  PrivateReleaser releaser(SelectionRule::kPermuteAndFlip, random);
  const auto unavailable = StatusIs(StatusCode::kUnavailable, ::testing::_);
  const auto invalid = StatusIs(StatusCode::kInvalidArgument, ::testing::_);
  const BudgetShare share(*Budget::Parse("1"));
  EXPECT_THAT(releaser.Select({1, 2}, share, 2), unavailable);
  EXPECT_THAT(releaser.Sums({1}, 1, share), unavailable);
  EXPECT_THAT(releaser.Below(2), unavailable);
  EXPECT_THAT(releaser.Select({}, share, 2), invalid);
  EXPECT_THAT(releaser.Select({}, BudgetShare::WithoutPrivacy(), 2), invalid);
}

// By either rule rho = 1/8 is the exponential mechanism at epsilon 1.
TEST(PrivateReleaserTest, ARhoIsSpentByTheExponentialMechanism) {
  const BudgetShare share(*Rho::FromPicos(Rho::kPicosPerRho / 8));
  const double coin = std::exp(-0.5);
  for (const SelectionRule rule : {SelectionRule::kPermuteAndFlip, SelectionRule::kExponential}) {
    const auto chosen = Chosen(rule, {4, 3}, share, 2);
    EXPECT_TRUE((BinomialPlan{coin / (1 + coin), kDraws}.Accepts(chosen.at(1))));
  }
}

TEST(PrivateReleaserTest, SumsAreMeasuredWithNoiseOfTheirShare) {
  SeededRandom random(9);
  PrivateReleaser releaser(SelectionRule::kPermuteAndFlip, random);
  const Sensitivity sensitivity = {.l1 = 6, .l2_squared = 16};
  // Epsilon 2 gives scale 3; rho 1/8 gives variance 16 / (2/8) = 64, as of a scale of 8 / sqrt(2).
  const auto laplace = *releaser.Measure({1000}, sensitivity, BudgetShare(*Budget::Parse("2")));
  EXPECT_DOUBLE_EQ(laplace.scale, 3);
  const BudgetShare rho(*Rho::FromPicos(Rho::kPicosPerRho / 8));
  const auto gaussian = *releaser.Measure({1000}, sensitivity, rho);
  EXPECT_DOUBLE_EQ(gaussian.scale, 8 / std::sqrt(2.0));
  EXPECT_NEAR(static_cast<double>(gaussian.sums[0]), 1000, 100);
  const auto exact = *releaser.Measure({1000}, sensitivity, BudgetShare::WithoutPrivacy());
  EXPECT_EQ(exact.scale, 0);
  EXPECT_EQ(exact.sums[0], 1000);
  EXPECT_THAT(releaser.Sums({1000}, 6, rho), StatusIs(StatusCode::kInternal, ::testing::_));
}

}  // namespace
}  // namespace coppice::trainers
