#include "server/trainers/core/shares.h"

#include <cmath>
#include <numeric>

#include "absl/numeric/int128.h"
#include "common/base/status.h"
#include "tests/support/status_matchers.h"

namespace coppice::trainers {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

BudgetShare OfNanos(uint64_t nanos) { return BudgetShare(*Budget::FromNanos(nanos)); }

const uint64_t kWholes[] = {1'000'000'000,      999'999'999,       123'456'789,
                            17'000'000'000'001, Budget::kMaxNanos, 300'000'000'003};

TEST(SharesTest, GeometricSharesNeverExceedTheWholeAndLoseANanoEachAtMost) {
  for (const uint64_t nanos : kWholes) {
    for (uint32_t levels = 1; levels <= 16; ++levels) {
      ASSERT_OK_AND_ASSIGN(const auto shares, GeometricShares(OfNanos(nanos), levels));
      ASSERT_EQ(shares.size(), levels);
      uint64_t sum = 0;
      for (const BudgetShare& share : shares) sum += share.amount();
      EXPECT_LE(sum, nanos);
      EXPECT_GT(sum + levels, nanos);
    }
  }
}

TEST(SharesTest, EachLevelGetsHalfAsMuchAgainAsTheOneAbove) {
  ASSERT_OK_AND_ASSIGN(const auto shares, GeometricShares(OfNanos(Budget::kMaxNanos), 10));
  for (size_t level = 1; level < shares.size(); ++level) {
    EXPECT_NEAR(static_cast<double>(shares[level].amount()),
                1.5 * static_cast<double>(shares[level - 1].amount()), 3)
        << level;
  }
}

TEST(SharesTest, FortyLevelsOfTheLargestBudgetDoNotOverflow) {
  ASSERT_OK_AND_ASSIGN(const auto shares, GeometricShares(OfNanos(Budget::kMaxNanos), 40));
  absl::uint128 sum = 0;
  for (const BudgetShare& share : shares) sum += share.amount();
  EXPECT_LE(sum, Budget::kMaxNanos);
  EXPECT_GT(sum + 40, Budget::kMaxNanos);
}

TEST(SharesTest, MoreLevelsThanFit64BitsAreRefused) {
  const auto refused = StatusIs(StatusCode::kInvalidArgument, HasSubstr("use fewer levels"));
  EXPECT_THAT(GeometricShares(OfNanos(Budget::kMaxNanos), 41).status(), refused);
  EXPECT_THAT(GeometricShares(OfNanos(Budget::kMaxNanos), 81).status(), refused);
  EXPECT_THAT(GeometricShares(OfNanos(Budget::kMaxNanos), 28, {.to = 5, .from = 4}).status(),
              refused);
}

TEST(SharesTest, RefusesAFractionOutOfRange) {
  for (const double share : {0.0, 1.0, -0.5, 1.5, 1e300, std::nan("")}) {
    EXPECT_THAT(Divide(OfNanos(Budget::kMaxNanos), share).status(),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("between 0 and 1")))
        << share;
  }
}

TEST(SharesTest, NoLevelsTakeNoShares) {
  ASSERT_OK_AND_ASSIGN(const auto shares, GeometricShares(OfNanos(1), 0));
  EXPECT_TRUE(shares.empty());
}

TEST(SharesTest, TooSmallAnEpsilonIsRefused) {
  const auto refused = StatusIs(StatusCode::kInvalidArgument, HasSubstr("epsilon is too small"));
  EXPECT_THAT(GeometricShares(OfNanos(2), 2).status(), refused);
  EXPECT_THAT(EqualShare(OfNanos(9), 10).status(), refused);
  EXPECT_THAT(Divide(OfNanos(1), 0.5).status(), refused);
  EXPECT_OK(EqualShare(OfNanos(10), 10));
  EXPECT_OK(Divide(OfNanos(2), 0.5));
}

TEST(SharesTest, EqualSharesAreRoundedDown) {
  EXPECT_EQ(EqualShare(OfNanos(10), 3)->amount(), 3u);
  EXPECT_EQ(EqualShare(OfNanos(10), 1)->amount(), 10u);
}

TEST(SharesTest, TheTwoPartsOfADivisionAreTheWhole) {
  for (const uint64_t nanos : kWholes) {
    for (int percent = 1; percent <= 99; ++percent) {
      ASSERT_OK_AND_ASSIGN(const TwoShares two, Divide(OfNanos(nanos), percent / 100.0));
      EXPECT_EQ(two.part.amount() + two.rest.amount(), nanos);
      EXPECT_EQ(two.part.amount(),
                absl::Uint128Low64(absl::uint128(nanos) * static_cast<uint64_t>(percent) / 100))
          << percent;
    }
  }
}

TEST(SharesTest, LevelsGrowByTheFractionThatIsAskedFor) {
  ASSERT_OK_AND_ASSIGN(const auto shares,
                       GeometricShares(OfNanos(Budget::kMaxNanos), 4, {.to = 5, .from = 4}));
  uint64_t sum = shares[0].amount();
  for (size_t level = 1; level < 4; ++level) {
    EXPECT_NEAR(static_cast<double>(shares[level].amount()),
                1.25 * static_cast<double>(shares[level - 1].amount()), 3);
    sum += shares[level].amount();
  }
  EXPECT_LE(sum, Budget::kMaxNanos);
  EXPECT_GT(sum + 4, Budget::kMaxNanos);
}

TEST(SharesTest, PartsOfARhoAreRhos) {
  const BudgetShare whole(*Rho::FromPicos(1000));
  EXPECT_TRUE(EqualShare(whole, 3)->is_concentrated());
  EXPECT_EQ(EqualShare(whole, 3)->rho().picos(), 333u);
  EXPECT_EQ(Divide(whole, 0.25)->rest.rho().picos(), 750u);
  EXPECT_EQ(GeometricShares(whole, 2)->at(1).rho().picos(), 600u);
}

TEST(SharesTest, WithoutPrivacyEveryShareIsWithout) {
  const BudgetShare none = BudgetShare::WithoutPrivacy();
  ASSERT_OK_AND_ASSIGN(const auto levels, GeometricShares(none, 3));
  ASSERT_EQ(levels.size(), 3u);
  for (const BudgetShare& share : levels) EXPECT_FALSE(share.is_private());
  EXPECT_FALSE(EqualShare(none, 1000)->is_private());
  EXPECT_FALSE(Divide(none, 0.5)->part.is_private());
  EXPECT_FALSE(Divide(none, 0.5)->rest.is_private());
  EXPECT_FALSE(BudgetShare::Of(std::nullopt).is_private());
  EXPECT_EQ(BudgetShare::Of(*Budget::Parse("2")).amount(), 2'000'000'000u);
}

TEST(ProportionalSharesTest, FollowTheirWeightsAndNeverSumToMore) {
  for (const uint64_t nanos : {uint64_t{10}, uint64_t{1'000'000'007}, Budget::kMaxNanos}) {
    const std::vector<uint64_t> weights = {3, 1, uint64_t{1} << 40, (uint64_t{1} << 40) + 7};
    const auto shares = ProportionalShares(BudgetShare(*Budget::FromNanos(nanos)), weights);
    if (nanos < Budget::kMaxNanos) {
      EXPECT_THAT(shares.status(), StatusIs(StatusCode::kInvalidArgument, HasSubstr("too small")));
      continue;
    }
    ASSERT_OK(shares);
    uint64_t sum = 0;
    for (const BudgetShare& share : *shares) sum += share.amount();
    EXPECT_LE(sum, nanos);
    EXPECT_GT(sum + weights.size(), nanos);
    EXPECT_GT((*shares)[0].amount(), (*shares)[1].amount());
    EXPECT_NEAR(static_cast<double>((*shares)[2].amount()), static_cast<double>(nanos) / 2, 1e6);
  }
  ASSERT_OK_AND_ASSIGN(const auto without,
                       ProportionalShares(BudgetShare::WithoutPrivacy(), {1, 2}));
  EXPECT_EQ(without.size(), 2u);
  EXPECT_FALSE(without[0].is_private());
}

// If the sum wrapped around, each share would exceed the whole.
TEST(ProportionalSharesTest, WeightsThatDoNotFit64BitsTogetherAreRefused) {
  constexpr uint64_t kHalf = uint64_t{1} << 63;
  const auto refused = StatusIs(StatusCode::kInvalidArgument, HasSubstr("2^64"));
  EXPECT_THAT(ProportionalShares(OfNanos(1'000'000'000), {kHalf, kHalf}).status(), refused);
  EXPECT_THAT(ProportionalShares(OfNanos(1'000'000'000), {kHalf, kHalf, 1000}).status(), refused);
  ASSERT_OK_AND_ASSIGN(const auto shares,
                       ProportionalShares(OfNanos(1'000'000'000), {kHalf, kHalf - 1}));
  EXPECT_LE(shares[0].amount() + shares[1].amount(), 1'000'000'000u);
  EXPECT_GT(shares[1].amount(), 499'999'990u);
}

}  // namespace
}  // namespace coppice::trainers
