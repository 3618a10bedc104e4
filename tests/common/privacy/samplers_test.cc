#include "common/privacy/samplers.h"

#include <cmath>

#include "common/base/status.h"
#include "common/privacy/openssl_random.h"
#include "tests/support/binomial_plan.h"
#include "tests/support/status_matchers.h"
#include "tests/support/walking_random.h"

namespace coppice {
namespace {

using ::coppice::testing::Law;
using ::coppice::testing::StatusIs;
using ::coppice::testing::WalkAllBranches;
using ::testing::HasSubstr;

constexpr double kRounding = 1e-12;  // of the test's own arithmetic

// Walks all branches but those less likely than 1e-7; law.cut accounts for the rest.
constexpr testing::Walk kWalk = {.cut_off = 1e-7};

TEST(BernoulliExpTest, HasExactlyTheStatedProbability) {
  for (const auto& [numerator, denominator] :
       {std::pair{0, 1}, {1, 3}, {1, 1}, {3, 2}, {7, 2}, {5, 1}}) {
    const Law<bool> law =
        WalkAllBranches<bool>(kWalk, [n = numerator, d = denominator](PrivateRandom& random) {
          return BernoulliExp(n, d, random);
        });
    const double expected = std::exp(-static_cast<double>(numerator) / denominator);
    const auto found = law.probability.find(true);
    const double probability = found == law.probability.end() ? 0 : found->second;
    EXPECT_LE(law.cut, 1e-5);
    EXPECT_LE(probability, expected + kRounding);
    EXPECT_GE(probability, expected - law.cut - kRounding);
  }
}

TEST(DiscreteLaplaceTest, HasExactlyTheStatedLaw) {
  for (const auto& [s, t] : {std::pair{1, 1}, {1, 2}, {3, 2}, {2, 1}}) {
    const Law<int64_t> law =
        WalkAllBranches<int64_t>(kWalk, [scale = s, divisor = t](PrivateRandom& random) {
          return DiscreteLaplace(scale, divisor, random);
        });
    const double ratio = std::exp(-static_cast<double>(s) / t);
    // Every probability is exactly bounded from above, and law.cut is all that is missing.
    EXPECT_LE(law.cut, 0.05);
    for (int64_t x = -4; x <= 4; ++x) {
      const double expected = (1 - ratio) / (1 + ratio) * std::pow(ratio, std::abs(x));
      EXPECT_LE(law.probability.at(x), expected + kRounding) << s << "/" << t << " at " << x;
      EXPECT_GE(law.probability.at(x), expected - law.cut - kRounding) << s << "/" << t;
    }
  }
}

// The test above must be able to fail: this sampler counts zero twice (no rejection of the sign).
TEST(DiscreteLaplaceTest, WalkRefusesASamplerThatCountsZeroTwice) {
  const Law<int64_t> law =
      WalkAllBranches<int64_t>(kWalk, [](PrivateRandom& random) -> StatusOr<int64_t> {
        int64_t steps = 0;
        while (true) {
          const StatusOr<bool> more = BernoulliExp(1, 1, random);
          if (!more.ok()) return more.status();
          if (!*more) break;
          ++steps;
        }
        const StatusOr<bool> negative = random.Bernoulli(1, 2);
        if (!negative.ok()) return negative.status();
        return *negative ? -steps : steps;
      });
  const double ratio = std::exp(-1.0);
  EXPECT_GT(law.probability.at(0), (1 - ratio) / (1 + ratio) + 0.1);
}

// Terms that need 128 bits are drawn in pieces. False alarm < 2e-9 in all.
TEST(BernoulliExpTest, LargeTermsHaveTheProbabilityOfTheReducedFraction) {
  OpenSslRandom random;
  const absl::uint128 unit = absl::uint128(1) << 90;
  const testing::BinomialPlan plan{.p = std::exp(-1.0 / 3), .trials = 100'000};
  uint64_t successes = 0;
  for (uint64_t i = 0; i < plan.trials; ++i) {
    successes += *BernoulliExp(unit, unit * 3, random) ? 1 : 0;
  }
  EXPECT_TRUE(plan.Accepts(successes)) << successes;
}

TEST(DiscreteLaplaceTest, LargeScalesHaveTheirSpread) {
  OpenSslRandom random;
  // The magnitude exceeds the scale with probability of nearly exp(-1).
  const uint64_t scale = (uint64_t{1} << 46) + 1;
  const testing::BinomialPlan plan{.p = std::exp(-1.0), .trials = 100'000};
  uint64_t beyond = 0;
  for (uint64_t i = 0; i < plan.trials; ++i) {
    const int64_t noise =
        *DiscreteLaplace(Budget::kNanosPerEpsilon, absl::uint128(1'000'000'000) * scale, random);
    beyond += static_cast<uint64_t>(std::abs(noise)) > scale ? 1 : 0;
  }
  EXPECT_TRUE(plan.Accepts(beyond)) << beyond;
}

TEST(DiscreteLaplaceTest, RefusesRatesOutOfRange) {
  testing::WalkingRandom random(kWalk);
  EXPECT_THAT(DiscreteLaplace(0, 1, random),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("positive")));
  for (const absl::uint128 denominator : {absl::uint128(0), kMaxSamplerTerm + 1}) {
    const auto refused = StatusIs(StatusCode::kInvalidArgument, HasSubstr("2^100"));
    EXPECT_THAT(DiscreteLaplace(1, denominator, random), refused);
    EXPECT_THAT(BernoulliExp(1, denominator, random), refused);
  }
  EXPECT_THAT(DiscreteLaplace(1, kMaxNoiseScale, random),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("2^48")));
  EXPECT_THAT(DiscreteLaplace(*Budget::Parse("1"), 0, random),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("sensitivity")));
}

double Bell(int64_t x, double deviation) {
  return std::exp(-static_cast<double>(x * x) / (2 * deviation * deviation));
}

double BellsSum(double deviation) {
  double sum = 0;
  for (int64_t x = -60; x <= 60; ++x) sum += Bell(x, deviation);
  return sum;
}

TEST(DiscreteGaussianTest, HasExactlyTheStatedLaw) {
  for (const uint64_t deviation : {1, 2}) {
    const Law<int64_t> law = WalkAllBranches<int64_t>(
        kWalk, [&](PrivateRandom& random) { return DiscreteGaussian(deviation, random); });
    EXPECT_LE(law.cut, 0.1);
    const auto wide = static_cast<double>(deviation);
    for (int64_t x = -3; x <= 3; ++x) {
      const double expected = Bell(x, wide) / BellsSum(wide);
      EXPECT_LE(law.probability.at(x), expected + kRounding) << deviation << " at " << x;
      EXPECT_GE(law.probability.at(x), expected - law.cut - kRounding) << deviation << " at " << x;
    }
  }
}

// A draw is within one deviation with probability of nearly erf(1 / sqrt(2)). False alarm < 2e-9.
TEST(DiscreteGaussianTest, LargeDeviationsHaveTheirSpread) {
  OpenSslRandom random;
  const testing::BinomialPlan plan{.p = std::erf(1 / std::sqrt(2.0)), .trials = 20'000};
  uint64_t within = 0;
  for (uint64_t i = 0; i < plan.trials; ++i) {
    const int64_t noise = *DiscreteGaussian(kMaxDeviation, random);
    within += static_cast<uint64_t>(std::abs(noise)) <= kMaxDeviation ? 1 : 0;
  }
  EXPECT_TRUE(plan.Accepts(within)) << within;
}

TEST(DiscreteGaussianTest, RefusesDeviationsOutOfRange) {
  testing::WalkingRandom random(kWalk);
  for (const uint64_t deviation : {uint64_t{0}, kMaxDeviation + 1}) {
    EXPECT_THAT(DiscreteGaussian(deviation, random),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("2^40")));
  }
}

}  // namespace
}  // namespace coppice
