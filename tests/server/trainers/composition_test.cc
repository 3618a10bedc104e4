#include "server/trainers/lazybb/composition.h"

#include <cmath>
#include <numeric>
#include <random>

#include "common/base/status.h"
#include "server/trainers/core/shares.h"
#include "tests/support/status_matchers.h"

namespace coppice::trainers {
namespace {

using namespace ::coppice::testing;  // NOLINT: most names in this file are the suites'.
using ::testing::HasSubstr;

constexpr uint64_t kMillionth = 1'000'000'000'000;  // of delta, in 1e-18

// The exact delta of independent randomized responses: sums over all ways in which respondents tell
// the truth or lie, without a lattice, an order or a bound.
long double DeltaOfAllResults(const std::vector<long double>& sizes, long double epsilon) {
  long double delta = 0;
  for (uint32_t liars = 0; liars < 1u << sizes.size(); ++liars) {
    long double p = 1, q = 1;
    for (size_t i = 0; i < sizes.size(); ++i) {
      const long double truth = std::exp(sizes[i]) / (1 + std::exp(sizes[i]));
      const bool lies = (liars >> i & 1) != 0;
      p *= lies ? 1 - truth : truth;
      q *= lies ? truth : 1 - truth;
    }
    delta += std::max(0.0L, p - std::exp(epsilon) * q);
  }
  return delta;
}

std::vector<long double> Sizes(const std::vector<uint64_t>& parts, uint64_t step) {
  std::vector<long double> sizes;
  for (const uint64_t part : parts) sizes.push_back(static_cast<long double>(part * step) / 1e9L);
  return sizes;
}

std::vector<long double> SizesOf(const std::vector<BudgetShare>& shares) {
  std::vector<long double> sizes;
  for (const BudgetShare& share : shares) {
    sizes.push_back(static_cast<long double>(share.amount()) / 1e9L);
  }
  return sizes;
}

uint64_t SumOf(const std::vector<BudgetShare>& shares) {
  return std::accumulate(
      shares.begin(), shares.end(), uint64_t{0},
      [](uint64_t sum, const BudgetShare& share) { return sum + share.amount(); });
}

const BudgetShare kOne = BudgetShare(*Budget::Parse("1"));

TEST(ComposedDeltaTest, IsThatOfAllResultsOfRandomizedResponsesAndNeverLess) {
  std::mt19937_64 engine(1);
  int above = 0;
  for (int i = 0; i < 400; ++i) {
    std::vector<uint64_t> parts(1 + engine() % 10);
    for (uint64_t& part : parts) part = 1 + engine() % 30;
    const uint64_t step = 1 + engine() % 40'000'000;
    const Budget epsilon = *Budget::FromNanos(1 + engine() % 3'000'000'000);
    const double composed = ComposedDelta(parts, step, epsilon);
    const long double exact =
        DeltaOfAllResults(Sizes(parts, step), static_cast<long double>(epsilon.nanos()) / 1e9L);
    EXPECT_GE(composed, exact - 1e-17L);
    EXPECT_NEAR(composed, static_cast<double>(exact), 1e-9 * composed + 1e-16);
    above += exact > 0 ? 1 : 0;
  }
  EXPECT_GT(above, 100);
}

// Kairouz, Oh and Viswanath's sum for equal releases, by logarithms of binomials. At (1, 1e-6) it
// allows 27 releases of .0482 each, where adding up allows .0370.
TEST(ComposedDeltaTest, OfEqualReleasesIsTheBinomialSum) {
  for (const int count : {27, 99, 400}) {
    const double size = 0.25 / std::sqrt(count);
    double sum = 0;
    for (int lies = 0; size * (count - 2 * lies) > 1; ++lies) {
      const double log_mass = std::lgamma(count + 1) - std::lgamma(lies + 1) -
                              std::lgamma(count - lies + 1) + size * (count - lies) -
                              count * std::log1p(std::exp(size));
      sum += std::exp(log_mass) * -std::expm1(1 - size * (count - 2 * lies));
    }
    const auto nanos = static_cast<uint64_t>(std::llround(size * 1e9));
    const std::vector<uint64_t> parts(static_cast<size_t>(count), 1);
    EXPECT_NEAR(ComposedDelta(parts, nanos, *Budget::Parse("1")) / sum, 1, 1e-4) << count;
  }
}

TEST(ComposedDeltaTest, IsNothingUpToTheSumOfEpsilons) {
  EXPECT_EQ(ComposedDelta({3, 4}, 1'000'000, *Budget::FromNanos(7'000'000)), 0);
  EXPECT_GT(ComposedDelta({3, 4}, 1'000'000, *Budget::FromNanos(6'999'999)), 0);
}

TEST(ComposedDeltaTest, GrowsWithEveryReleaseAndFallsWithEpsilon) {
  const Budget one = *Budget::Parse("1");
  const std::vector<uint64_t> parts(30, 5);
  std::vector<uint64_t> more = parts, larger = parts;
  more.push_back(1);
  ++larger[3];
  const double delta = ComposedDelta(parts, 10'000'000, one);
  EXPECT_GT(delta, 0);
  EXPECT_GT(ComposedDelta(more, 10'000'000, one), delta);
  EXPECT_GT(ComposedDelta(larger, 10'000'000, one), delta);
  EXPECT_GT(ComposedDelta(parts, 10'000'001, one), delta);
  EXPECT_LT(ComposedDelta(parts, 10'000'000, *Budget::Parse("1.01")), delta);
}

TEST(ComposedDeltaTest, HugeEpsilonsAreNoMoreThanAll) {
  const double delta = ComposedDelta({1, 1, 1}, 900'000'000'000, *Budget::Parse("1"));
  EXPECT_NEAR(delta, 1, 1e-9);
}

// If the sum wrapped around, releases without any privacy would seem to lose nothing.
TEST(ComposedDeltaTest, LossesThatDoNotFit64BitsAreAll) {
  const Budget one = *Budget::Parse("1");
  EXPECT_EQ(ComposedDelta({uint64_t{1} << 40}, uint64_t{1} << 24, one), 1);
  EXPECT_EQ(ComposedDelta({uint64_t{1} << 63, uint64_t{1} << 63}, 1, one), 1);
  EXPECT_EQ(ComposedDelta({1}, uint64_t{1} << 53, one), 1);
}

TEST(ConcentratedSharesTest, SquaresThatDoNotFit64BitsAreRefused) {
  // 2^24 squares of 2^40 each.
  const std::vector<uint64_t> weights(uint64_t{1} << 24, 1);
  EXPECT_THAT(ConcentratedShares(kOne, kMillionth, weights).status(),
              testing::StatusIs(StatusCode::kInvalidArgument, ::testing::HasSubstr("2^64")));
}

TEST(PureSharesTest, WithoutADeltaEpsilonsAddUp) {
  const std::vector<uint64_t> weights = {700, 1000, 1300, 1300};
  ASSERT_OK_AND_ASSIGN(const std::vector<BudgetShare> shares, PureShares(kOne, 0, weights));
  EXPECT_EQ(shares[0].amount(), uint64_t{7'000'000'000} / 43);
  EXPECT_EQ(shares[3].amount(), uint64_t{13'000'000'000} / 43);
  ASSERT_OK_AND_ASSIGN(const auto none,
                       PureShares(BudgetShare::WithoutPrivacy(), kMillionth, weights));
  EXPECT_FALSE(none[0].is_private());
}

TEST(PureSharesTest, AreNearlyAllThatDeltaAllowsByAllResultsOfRandomizedResponses) {
  for (const double delta : {0.2, 0.01, 0.0001}) {
    const std::vector<uint64_t> weights = {500'001, 800'000, 999'999, 999'999, 999'999, 999'999,
                                           999'999, 999'999, 999'999, 999'999, 999'999, 999'999};
    const auto atto = static_cast<uint64_t>(delta * 1e18);
    ASSERT_OK_AND_ASSIGN(const std::vector<BudgetShare> shares, PureShares(kOne, atto, weights));
    EXPECT_GE(SumOf(shares), 1'000'000'000u - 12);
    const double spent = static_cast<double>(DeltaOfAllResults(SizesOf(shares), 1));
    EXPECT_LE(spent, delta);
    EXPECT_GT(spent, delta * 0.97);
    EXPECT_NEAR(static_cast<double>(shares[0].amount()) / static_cast<double>(shares[5].amount()),
                500'001 / 999'999.0, 1e-8);
  }
}

TEST(PureSharesTest, MoreDeltaIsNeverLessAndNoneIsLost) {
  for (const size_t count : {1u, 2u, 12u, 99u, 1024u, 1025u}) {
    const std::vector<uint64_t> weights(count, 12345);
    uint64_t least = 0;
    for (const uint64_t delta :
         {uint64_t{0}, uint64_t{1}, kMillionth, kDeltaOne / 10, kDeltaOne - 1}) {
      ASSERT_OK_AND_ASSIGN(const std::vector<BudgetShare> shares, PureShares(kOne, delta, weights));
      EXPECT_GE(shares[0].amount() + 1, least) << count;
      least = shares[0].amount();
    }
    // Beyond kMaxComposed releases nothing is composed.
    EXPECT_EQ(least > 1'100'000'000 / count, count <= kMaxComposed) << count;
  }
}

TEST(ConcentratedSharesTest, AddUpToTheRhoOfEpsilonAndDelta) {
  ASSERT_OK_AND_ASSIGN(const auto shares, ConcentratedShares(kOne, kMillionth, {1000, 2000, 2000}));
  const uint64_t whole = Rho::Implying(*Budget::Parse("1"), kMillionth)->picos();
  EXPECT_LE(SumOf(shares), whole);
  EXPECT_GE(SumOf(shares) + 3, whole);
  EXPECT_NEAR(static_cast<double>(shares[1].amount()) / static_cast<double>(shares[0].amount()), 4,
              1e-4);
  EXPECT_THAT(ConcentratedShares(kOne, 0, {1}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("delta")));
}

std::vector<uint64_t> AmountsOf(const StatusOr<std::vector<BudgetShare>>& shares) {
  EXPECT_OK(shares);
  std::vector<uint64_t> amounts;
  for (const BudgetShare& share : *shares) amounts.push_back(share.amount());
  return amounts;
}

// Rounds of several classes: the same weights again and again.
TEST(SelectionSharesTest, RepeatedWeightsHaveTheSharesOfAllOfThemWrittenOut) {
  const std::vector<uint64_t> once = {700, 900, 1000, 1000};
  for (const uint64_t times : {1, 2, 7, 256, 257, 1000}) {
    std::vector<uint64_t> all;
    for (uint64_t i = 0; i < times; ++i) all.insert(all.end(), once.begin(), once.end());
    const auto expect_same = [&](StatusOr<std::vector<BudgetShare>> repeated,
                                 StatusOr<std::vector<BudgetShare>> written_out) {
      std::vector<uint64_t> expected = AmountsOf(written_out);
      expected.resize(once.size());
      EXPECT_EQ(AmountsOf(repeated), expected) << times;
    };
    expect_same(ProportionalShares(kOne, once, times), ProportionalShares(kOne, all));
    expect_same(PureShares(kOne, kMillionth, once, times), PureShares(kOne, kMillionth, all));
    expect_same(ConcentratedShares(kOne, kMillionth, once, times),
                ConcentratedShares(kOne, kMillionth, all));
    for (const uint32_t selections : {1, 4}) {
      expect_same(SelectionShares(kOne, kMillionth, once, selections, times),
                  SelectionShares(kOne, kMillionth, all, selections));
    }
  }
}

TEST(SelectionSharesTest, RepeatedWeightsThatDoNotFit64BitsAreRefused) {
  const std::vector<uint64_t> half = {uint64_t{1} << 62};
  EXPECT_OK(ProportionalShares(kOne, half, 3));
  for (const uint64_t times : {uint64_t{4}, uint64_t{1} << 40, ~uint64_t{0}}) {
    EXPECT_THAT(ProportionalShares(kOne, half, times).status(),
                testing::StatusIs(StatusCode::kInvalidArgument, HasSubstr("2^64")));
  }
}

TEST(SelectionSharesTest, AFewRoundsAreOfEpsilonAndManyOfRho) {
  const auto concentrated = [](size_t rounds, uint64_t delta_atto, uint32_t selections) {
    return SelectionShares(kOne, delta_atto, std::vector<uint64_t>(rounds, 1000), selections)
        ->front()
        .is_concentrated();
  };
  EXPECT_FALSE(concentrated(5, kMillionth, 1));
  EXPECT_TRUE(concentrated(20, kMillionth, 1));
  EXPECT_TRUE(concentrated(5, kMillionth, 4));  // of twenty selections
  EXPECT_FALSE(concentrated(1000, 0, 1));
  EXPECT_FALSE(concentrated(20, 1, 1));
}

TEST(SelectionSharesTest, AnEpsilonThatRhoCannotBeDividedFromIsDividedItself) {
  const BudgetShare little(*Budget::FromNanos(5));
  ASSERT_OK_AND_ASSIGN(const auto shares, SelectionShares(little, 1, {1, 1}, 1));
  EXPECT_EQ(shares[0].amount(), 2u);
  EXPECT_FALSE(shares[0].is_concentrated());
  EXPECT_THAT(SelectionShares(little, 1, std::vector<uint64_t>(6, 1), 1),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("epsilon")));
}

}  // namespace
}  // namespace coppice::trainers
