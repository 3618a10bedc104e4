#include "common/privacy/exp_bound.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace coppice {
namespace {

// The error of expl and the division: 2^-58 where long double has 64 bits of mantissa, as on x86.
constexpr long double kSlack = 32 * std::numeric_limits<long double>::epsilon();
constexpr long double kCloseness = std::max(0x1p-50L, kSlack);

TEST(ExpBoundTest, LowerBoundIsBelowAndClose) {
  for (const uint64_t nanos :
       {10'000'000ull, 500'000'000ull, 1'000'000'000ull, 4'000'000'000ull, 19'999'999'999ull}) {
    for (const uint64_t divisor : {1, 2, 4}) {
      const Budget epsilon = *Budget::FromNanos(nanos);
      const long double exact = expl(static_cast<long double>(nanos) / 1e9L / divisor);
      const long double bound =
          static_cast<long double>(ExpLowerBound(epsilon, divisor)) * 0x1p-60L;
      EXPECT_LE(bound, exact * (1 + kSlack)) << nanos << "/" << divisor;
      EXPECT_GE(bound, exact * (1 - kCloseness)) << nanos << "/" << divisor;
    }
  }
}

TEST(ExpBoundTest, StopsGrowingAtTwenty) {
  EXPECT_EQ(ExpLowerBound(*Budget::Parse("1000"), 1), ExpLowerBound(*Budget::Parse("20"), 1));
}

TEST(ExpBoundTest, DecayRatioIsTheLeastThatIsNoLessPrivate) {
  for (const char* text : {"0.01", "0.5", "1", "2", "8", "20"}) {
    const Budget epsilon = *Budget::Parse(text);
    for (const uint64_t divisor : {2, 4}) {
      const long double exact =
          expl(-static_cast<long double>(epsilon.nanos()) / 1e9L / divisor) * 0x1p32L;
      const long double ratio = DecayRatio(epsilon, divisor);
      EXPECT_GE(ratio, exact * (1 - kSlack)) << text;
      EXPECT_LE(ratio, exact + 1.001L) << text;
      // Compared with the bound there is no rounding: A e >= 2^92, and A - 1 is not enough.
      const absl::uint128 e = ExpLowerBound(epsilon, divisor);
      const absl::uint128 a = DecayRatio(epsilon, divisor);
      EXPECT_GE(a * e, absl::uint128(1) << (kExpBits + 32)) << text;
      EXPECT_LT((a - 1) * e, absl::uint128(1) << (kExpBits + 32)) << text;
    }
  }
}

TEST(ExpBoundTest, SmallestBudgetStillDecays) {
  EXPECT_EQ(DecayRatio(*Budget::FromNanos(1), 4), 0xffffffffu);
}

TEST(ExpBoundTest, LieRateKeepsTheOddsWithinEpsilon) {
  for (const char* text : {"0.01", "0.5", "1", "2", "8", "20", "1000"}) {
    const Budget epsilon = *Budget::Parse(text);
    const uint64_t lie = LieRate(epsilon, 1);
    // (2^32 - lie) / lie <= e / 2^60, in whole numbers: the claim itself, without rounding.
    const absl::uint128 e = ExpLowerBound(epsilon, 1);
    EXPECT_LE(absl::uint128((uint64_t{1} << 32) - lie) << kExpBits, e * lie) << text;
    // One less would break it.
    EXPECT_GT(absl::uint128((uint64_t{1} << 32) - (lie - 1)) << kExpBits, e * (lie - 1)) << text;
  }
}

}  // namespace
}  // namespace coppice
