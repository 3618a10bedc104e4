#include "common/base/rate_limiter.h"

#include <gtest/gtest.h>

namespace coppice {
namespace {

const absl::Time kStart = absl::FromUnixSeconds(1'000);
constexpr absl::Duration kGiven = absl::ZeroDuration();

absl::Time After(double seconds) { return kStart + absl::Seconds(seconds); }

TEST(TokenBucketTest, GivesTheBurstAtOnceAndThenTheRate) {
  TokenBucket bucket(/*rate=*/2, /*burst=*/3, kStart);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(bucket.Take(1, kStart), kGiven) << i;
  EXPECT_EQ(bucket.Take(1, kStart), absl::Seconds(0.5));
  EXPECT_EQ(bucket.Take(1, After(0.25)), absl::Seconds(0.25));
  EXPECT_EQ(bucket.Take(1, After(0.5)), kGiven);
  EXPECT_NE(bucket.Take(1, After(0.5)), kGiven);
}

TEST(TokenBucketTest, ARefusalTakesNothing) {
  TokenBucket bucket(1, 2, kStart);
  EXPECT_EQ(bucket.Take(2, kStart), kGiven);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(bucket.Take(1, kStart), absl::Seconds(1));
  EXPECT_EQ(bucket.Take(1, After(1)), kGiven);
}

TEST(TokenBucketTest, ALongRestFillsItNoFurtherThanTheBurst) {
  TokenBucket bucket(1, 2, kStart);
  EXPECT_EQ(bucket.Take(2, After(1'000'000)), kGiven);
  EXPECT_NE(bucket.Take(1, After(1'000'000)), kGiven);
}

TEST(TokenBucketTest, MoreThanTheBurstIsGivenByAFullBucketAndPaidOffAfterwards) {
  TokenBucket bucket(1, 10, kStart);
  EXPECT_EQ(bucket.Take(25, kStart), kGiven);
  EXPECT_EQ(bucket.Take(1, kStart), absl::Seconds(16));
  EXPECT_EQ(bucket.Take(25, After(15)), absl::Seconds(10));
  EXPECT_EQ(bucket.Take(1, After(16)), kGiven);
}

TEST(TokenBucketTest, AClockThatIsSetBackGivesNothingAndDoesNotBlock) {
  TokenBucket bucket(1, 1, kStart);
  EXPECT_EQ(bucket.Take(1, kStart), kGiven);
  EXPECT_EQ(bucket.Take(1, After(-500)), absl::Seconds(1));
  EXPECT_EQ(bucket.Take(1, After(-499)), kGiven);
}

TEST(RateLimiterTest, EachStudyHasItsOwnBucket) {
  RateLimiter limiter({.rate = 1, .burst = 1}, [] { return kStart; });
  EXPECT_EQ(limiter.Take("a", 1), kGiven);
  EXPECT_NE(limiter.Take("a", 1), kGiven);
  EXPECT_EQ(limiter.Take("b", 1), kGiven);
}

TEST(RateLimiterTest, AKeyMayHaveALimitOfItsOwnAndAnotherOneStartsFull) {
  RateLimiter limiter({.rate = 1, .burst = 1}, [] { return kStart; });
  const RateLimit ten{.rate = 1, .burst = 10}, five{.rate = 1, .burst = 5};
  EXPECT_EQ(limiter.Take("a", 10, ten), kGiven);
  EXPECT_NE(limiter.Take("a", 1, ten), kGiven);
  EXPECT_EQ(limiter.Take("a", 5, five), kGiven);
  EXPECT_NE(limiter.Take("a", 1, five), kGiven);
}

TEST(RateLimiterTest, ARateOfZeroIsNoLimit) {
  RateLimiter limiter({.rate = 0, .burst = 1}, [] { return kStart; });
  for (int i = 0; i < 100; ++i) EXPECT_EQ(limiter.Take("a", 1000), kGiven);
}

}  // namespace
}  // namespace coppice
