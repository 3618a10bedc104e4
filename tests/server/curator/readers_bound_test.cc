#include "server/curator/estimation/inspection/readers_bound.h"

#include <vector>

#include "common/ldp/amplification.h"
#include "tests/support/status_matchers.h"

namespace coppice::curator {
namespace {

constexpr uint64_t kLocalNanos = 2'000'000'000;
constexpr double kAnyMass = 1;

Schema TwoFeatures(bool region_is_public) {
  std::vector<Feature> features = {
      {.name = "age", .min = 0, .max = 100, .values = {}},
      {.name = "region", .type = FeatureType::kCategorical, .values = {"north", "south"}}};
  features[1].is_public = region_is_public;
  return *Schema::Create(features, "y", {"no", "yes"});
}

ReadersBound BoundOf(bool region_is_public, uint64_t reports) {
  return BoundForReaders(TwoFeatures(region_is_public), *Budget::FromNanos(kLocalNanos), kAnyMass,
                         reports);
}

TEST(ReadersBoundTest, IsThatOfTheHonestReports) {
  const ReadersBound bound = BoundOf(false, 100'000);
  EXPECT_EQ(bound.honest_reports, 90'000);
  EXPECT_EQ(bound.dishonest_millionths, 100'000);
  EXPECT_EQ(bound.delta_atto, 10'000'000'000);
  const ShuffledReports honest = {90'000, *Budget::FromNanos(kLocalNanos), kAnyMass};
  EXPECT_EQ(bound.epsilon_nanos, EpsilonBound(honest, bound.delta_atto)->nanos());
  EXPECT_LT(bound.epsilon_nanos, kLocalNanos / 20);
}

TEST(ReadersBoundTest, PublicFeaturesLeaveNoClaim) {
  EXPECT_EQ(BoundOf(true, 100'000), ReadersBound());
}

TEST(ReadersBoundTest, NoHonestReportLeavesNoClaim) {
  EXPECT_EQ(BoundOf(false, 0), ReadersBound());
  EXPECT_EQ(BoundOf(false, 1), ReadersBound());
}

// 1.999999991 is no promise.
TEST(ReadersBoundTest, WhatHardlyGainsIsNotPromised) {
  const ShuffledReports honest = {30, *Budget::FromNanos(kLocalNanos), kAnyMass};
  EXPECT_LT(EpsilonBound(honest, DefaultShuffleDelta(34))->nanos(), kLocalNanos);
  EXPECT_EQ(BoundOf(false, 34), ReadersBound());
}

TEST(ReadersBoundTest, MoreReportsThanAreComputedCountAsThose) {
  const ReadersBound bound = BoundOf(false, 20'000'000'000);
  EXPECT_EQ(bound.honest_reports, kMaxShuffledReports);
  EXPECT_GT(bound.epsilon_nanos, 0);
}

BatchBound OfBatches(const char* local, uint64_t reports) {
  const Budget budget = *Budget::Parse(local);
  return BoundForBatches(budget, MaxTwoSidedMass(budget), reports, 100'000, 10'000'000'000);
}

TEST(BoundForBatchesTest, IsThatOfTheHonestReports) {
  const Budget local = *Budget::Parse("4");
  const BatchBound bound = OfBatches("4", 1000);
  EXPECT_EQ(bound.honest_reports, 900u);
  EXPECT_EQ(bound.epsilon_nanos,
            EpsilonBound({900, local, MaxTwoSidedMass(local)}, 10'000'000'000)->nanos());
}

// The bounds are 11.999999991 and 4.499791925, which promise nothing.
TEST(BoundForBatchesTest, WhatHardlyGainsIsNotPromised) {
  for (const char* local : {"4.2", "4.5", "6", "12"}) {
    EXPECT_EQ(OfBatches(local, 1000).epsilon_nanos, 0u) << local;
    EXPECT_EQ(OfBatches(local, 1000).honest_reports, 900u);
  }
  EXPECT_EQ(OfBatches("12", 10'000).epsilon_nanos, 0u);
}

}  // namespace
}  // namespace coppice::curator
