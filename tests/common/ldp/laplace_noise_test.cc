#include "common/ldp/laplace_noise.h"

#include <cmath>
#include <vector>

#include "common/privacy/openssl_random.h"
#include "tests/support/binomial_plan.h"
#include "tests/support/scripted_draws.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using ::coppice::testing::BinomialPlan;
using ::coppice::testing::ScriptedDraws;

LaplaceNoise MakeNoise(const char* epsilon, uint64_t sensitivity) {
  return *LaplaceNoise::Create(*Budget::Parse(epsilon), sensitivity);
}

TEST(LaplaceNoiseTest, StatedLawIsALawWithTheStatedVariance) {
  for (const char* epsilon : {"0.1", "0.5", "1", "4"}) {
    const LaplaceNoise noise = MakeNoise(epsilon, 4);
    double total = 0;
    double variance = 0;
    for (int z = -20'000; z <= 20'000; ++z) {
      const double p = std::exp(noise.LogProbability(z));
      total += p;
      variance += p * z * z;
    }
    EXPECT_NEAR(total, 1, 1e-9) << epsilon;
    EXPECT_NEAR(variance / noise.variance(), 1, 1e-6) << epsilon;
  }
}

TEST(LaplaceNoiseTest, OneStepCostsNoMoreThanItsShareOfEpsilon) {
  for (const char* epsilon : {"0.01", "0.5", "1", "20"}) {
    for (const uint64_t sensitivity : {2, 4}) {
      const LaplaceNoise noise = MakeNoise(epsilon, sensitivity);
      const double share = Budget::Parse(epsilon)->epsilon() / static_cast<double>(sensitivity);
      const double step = noise.LogProbability(0) - noise.LogProbability(1);
      EXPECT_LE(step, share * (1 + 1e-12)) << epsilon;
      EXPECT_GE(step, share * (1 - 1e-5)) << epsilon;  // and wastes none of it
    }
  }
}

TEST(LaplaceNoiseTest, BoundIsOutOfReach) {
  for (const char* epsilon : {"0.01", "1", "20", "1000"}) {
    const LaplaceNoise noise = MakeNoise(epsilon, 4);
    // P(|noise| > bound) = 2 P(noise = bound + 1) / (1 - ratio).
    const double ratio = std::exp(noise.LogProbability(1) - noise.LogProbability(0));
    const double tail =
        noise.LogProbability(noise.bound() + 1) + std::log(2.0) - std::log1p(-ratio);
    EXPECT_LT(tail, -100 * std::log(2.0)) << epsilon;
  }
}

TEST(LaplaceNoiseTest, BoundIsTheLeastThatTheTailAllows) {
  EXPECT_EQ(MakeNoise("1", 4).bound(), 281);  // 101 log(2) 4 = 280.03
  EXPECT_EQ(MakeNoise("1", 2).bound(), 141);
}

// One draw per noise, except for a negative zero, which is dropped, and a tail past the table,
// which takes further draws.
TEST(LaplaceNoiseTest, DrawsBecomeNoise) {
  const LaplaceNoise noise = MakeNoise("1", 4);
  ScriptedDraws random({2 << 1, 1, 3 << 1 | 1, kManySteps << 1 | 1, 5 << 1, 4 << 1});
  std::vector<int32_t> drawn;
  ASSERT_OK(noise.Draw(random, 2, [&](size_t start, absl::Span<const int32_t> some) {
    EXPECT_EQ(start, drawn.size());
    drawn.insert(drawn.end(), some.begin(), some.end());
  }));
  EXPECT_EQ(drawn, (std::vector<int32_t>{2, -3}));
  EXPECT_EQ(random.drawn(), 3u);
  std::vector<int64_t> sums = {10, 20};
  ASSERT_OK(noise.AddTo(random, absl::MakeSpan(sums)));
  EXPECT_EQ(sums, (std::vector<int64_t>{10 - static_cast<int64_t>(kManySteps) - 4, 20 + 5}));
}

TEST(LaplaceNoiseTest, LongVectorsTakeOneDrawAnEntry) {
  const LaplaceNoise noise = MakeNoise("1", 4);
  constexpr size_t kEntries = 1300;  // more than two batches of draws
  std::vector<SignedSteps> draws;
  std::vector<int64_t> expected;
  for (size_t i = 0; i < kEntries; ++i) {
    draws.push_back(static_cast<SignedSteps>((i % 50 + 1) << 1 | i % 2));
    expected.push_back(100 + static_cast<int64_t>(i % 50 + 1) * (i % 2 == 0 ? 1 : -1));
  }
  ScriptedDraws random(draws);
  std::vector<int64_t> sums(kEntries, 100);
  ASSERT_OK(noise.AddTo(random, absl::MakeSpan(sums)));
  EXPECT_EQ(sums, expected);
  EXPECT_EQ(random.drawn(), kEntries);
}

TEST(LaplaceNoiseTest, SumsAreOfTheirParts) {
  ScriptedDraws draws(std::vector<SignedSteps>(1300, 3 << 1));
  EXPECT_EQ(*MakeNoise("0.05", 4).SumOf(1300, draws), 3 * 1300);  // draw by draw
  EXPECT_EQ(draws.drawn(), 1300u);
  ScriptedDraws layers({});  // in layers: how many of 9 reach a step, of those a second, ...
  layers.SetBinomials({5, 2, 0, 4, 0});
  EXPECT_EQ(*MakeNoise("2", 4).SumOf(9, layers), 5 + 2 - 4);
  EXPECT_EQ(layers.trials(), (std::vector<uint64_t>{9, 5, 2, 9, 4}));
}

// Exact figures, so that no constant behind them changes unnoticed.
TEST(LaplaceNoiseTest, TotalBoundIsAsComputed) {
  EXPECT_EQ(MakeNoise("1", 2).TotalBound(512), 1620);
  EXPECT_EQ(MakeNoise("0.1", 4).TotalBound(512), 33061);
  EXPECT_EQ(MakeNoise("1", 4).TotalBound(4'000'000), 15979877);
}

// Checks the noise that `draw` returns against the stated law at -3..3.
template <typename Draw>
bool MatchesLaw(const LaplaceNoise& noise, uint64_t trials, Draw draw) {
  std::vector<uint64_t> seen(7);
  for (uint64_t i = 0; i < trials; ++i) {
    const int64_t z = draw();
    if (z >= -3 && z <= 3) ++seen[static_cast<size_t>(z + 3)];
  }
  bool matches = true;
  for (int64_t z = -3; z <= 3; ++z) {
    const BinomialPlan plan{.p = std::exp(noise.LogProbability(z)), .trials = trials};
    matches = matches && plan.Accepts(seen[static_cast<size_t>(z + 3)]);
  }
  return matches;
}

// False alarm < 5e-8 (six times seven plans at 1e-9). Power: see the twin below.
TEST(LaplaceNoiseStatTest, DrawAddToAndSumOfHaveTheStatedLaw) {
  OpenSslRandom random;
  for (const char* epsilon : {"0.05", "2"}) {  // the first has tails past the table
    const LaplaceNoise noise = MakeNoise(epsilon, 4);
    EXPECT_TRUE(MatchesLaw(noise, 300'000, [&] {
      int32_t z = 99;
      EXPECT_OK(noise.Draw(random, 1, [&](size_t, absl::Span<const int32_t> one) { z = one[0]; }));
      return z;
    }));
    EXPECT_TRUE(MatchesLaw(noise, 300'000, [&] {
      int64_t z = 0;
      EXPECT_OK(noise.AddTo(random, absl::MakeSpan(&z, 1)));
      return z;
    }));
    EXPECT_TRUE(MatchesLaw(noise, 300'000, [&] { return *noise.SumOf(1, random); }));
  }
}

TEST(LaplaceNoiseStatTest, PlansRefuseAScaleThatIsHalved) {
  OpenSslRandom random;
  const LaplaceNoise stated = MakeNoise("1", 4);
  const LaplaceNoise halved = MakeNoise("2", 4);
  EXPECT_FALSE(MatchesLaw(stated, 300'000, [&] { return *halved.SumOf(1, random); }));
}

// A sum of n has n times the variance of one, whichever way it is drawn. The mean of m squares of
// near-normal numbers deviates by a relative sqrt(2/m); 7 of those: false alarm < 1e-9.
TEST(LaplaceNoiseStatTest, SumsHaveTheVarianceOfTheirParts) {
  OpenSslRandom random;
  constexpr int kSums = 4000;
  constexpr uint64_t kCount = 300;
  for (const char* epsilon : {"0.1", "2"}) {  // draw by draw, and in layers
    const LaplaceNoise noise = MakeNoise(epsilon, 4);
    double squares = 0;
    for (int i = 0; i < kSums; ++i) {
      const auto sum = static_cast<double>(*noise.SumOf(kCount, random));
      squares += sum * sum;
    }
    EXPECT_NEAR(squares / kSums / (kCount * noise.variance()), 1, 7 * std::sqrt(2.0 / kSums));
  }
}

// Chernoff's bound for one noise is at least the noise's own bound, and close to it; for many it is
// slightly above their mean.
TEST(LaplaceNoiseTest, TotalBoundIsSafeAndNotWasteful) {
  for (const char* epsilon : {"0.01", "1", "20"}) {
    const LaplaceNoise noise = *LaplaceNoise::Create(*Budget::Parse(epsilon), 4);
    EXPECT_GE(noise.TotalBound(1) + 2, noise.bound());
    EXPECT_LE(static_cast<double>(noise.TotalBound(1)),
              1.1 * static_cast<double>(noise.bound()) + 2);
    EXPECT_LT(noise.TotalBound(100), noise.TotalBound(101) + 1);
  }
  const LaplaceNoise noise = *LaplaceNoise::Create(*Budget::Parse("1"), 4);
  const double ratio = std::exp(-0.25);
  const double mean = 2 * ratio / (1 - ratio * ratio);  // of one absolute value
  const double of_many = static_cast<double>(noise.TotalBound(1'000'000));
  EXPECT_GT(of_many, 1e6 * mean);
  EXPECT_LT(of_many, 1.02e6 * mean);
}

}  // namespace
}  // namespace coppice
