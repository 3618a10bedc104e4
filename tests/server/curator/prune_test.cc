#include "server/curator/estimation/counts/prune.h"

#include <cmath>
#include <limits>
#include <vector>

#include "common/base/public_random.h"
#include "tests/server/curator/evidence_builders.h"
#include "tests/support/status_matchers.h"

namespace coppice::curator {
namespace {

using testing::Private;
using testing::Public;
using testing::Quarters;
using testing::Stump;

constexpr double kPublicOnly = std::numeric_limits<double>::infinity();
constexpr PruneSetting kExact = {.reports = 10'000, .public_rows = 1000, .noise_scale = 0};

std::vector<LeafPrediction> Prune(const Tree& tree, const PrivateCounts& private_counts,
                                  const PublicCounts& public_counts, uint32_t min_depth = 1) {
  const auto leaves = EstimateTree(tree, private_counts, public_counts,
                                   {.kind = EstimatorKind::kPrune, .min_depth = min_depth});
  EXPECT_OK(leaves);
  return leaves.value_or(std::vector<LeafPrediction>(tree.num_leaves()));
}

// The expected numbers come from a separate evaluation of the paper's formulas.

TEST(PruneStatisticTest, SamplesThatAgreeAreWeightedByTheirSignals) {
  // c = ln 11000 + 9, u = 78.1 < 400. Signals 0.25 and 0.1, lambda 0.4, eta 0.7429.
  const PruneStatistic statistic = TestNode(kExact, 8, 0, 400, 300, 50, 30);
  EXPECT_NEAR(statistic.lambda, 0.4, 1e-12);
  EXPECT_NEAR(statistic.value, 1.1802595044545034, 1e-12);
}

TEST(PruneStatisticTest, SamplesThatDisagreeLeaveTheStrongerOne) {
  const PruneStatistic ours = TestNode(kExact, 8, 0, 400, 300, 50, 10);
  EXPECT_EQ(ours.lambda, 0);
  EXPECT_NEAR(ours.value, 1.1686310484104936, 1e-12);
  // 100 private rows at 0.55 against 50 public rows at 0.2.
  const PruneStatistic theirs = TestNode(kExact, 8, 0, 100, 55, 50, 10);
  EXPECT_EQ(theirs.lambda, kPublicOnly);
  EXPECT_NEAR(theirs.value, -0.5318654828141591, 1e-12);
}

TEST(PruneStatisticTest, MorePrivateLabelsThanRowsCountAsAllRows) {
  const PruneStatistic statistic = TestNode(kExact, 8, 0, 400, 500, 50, 30);
  EXPECT_NEAR(statistic.lambda, 0.2, 1e-12);
  EXPECT_NEAR(statistic.value, 2.3430979663219844, 1e-12);
}

TEST(PruneStatisticTest, PublicRowsAloneWhereNoiseDominates) {
  const double alone = 0.17728849427138635;
  EXPECT_NEAR(TestNode(kExact, 8, 0, 60, 50, 50, 30).value, alone, 1e-12);   // u = 78.1
  EXPECT_NEAR(TestNode(kExact, 8, 0, -60, 50, 50, 30).value, alone, 1e-12);  // no row
  EXPECT_NEAR(TestNode(kExact, 8, 0, 400, -5, 50, 30).value, alone, 1e-12);  // no label
  PruneSetting noisy = kExact;
  noisy.noise_scale = 1;
  const PruneStatistic statistic = TestNode(noisy, 8, 0, 400, 300, 50, 30);
  EXPECT_EQ(statistic.lambda, kPublicOnly);
  EXPECT_NEAR(statistic.value, alone, 1e-12);
}

TEST(PruneStatisticTest, NoiseBoundGrowsWithHeightAndScale) {
  PruneSetting setting = kExact;
  setting.noise_scale = 0.001;
  // u = 1350.03 two steps up: 1351 rows are enough and 1349 are not.
  EXPECT_NEAR(TestNode(setting, 8, 2, 2000, 1500, 50, 30).value, 2.7742960118950966, 1e-12);
  EXPECT_NE(TestNode(setting, 8, 2, 1351, 1000, 50, 30).lambda, kPublicOnly);
  EXPECT_EQ(TestNode(setting, 8, 2, 1349, 1000, 50, 30).lambda, kPublicOnly);
}

TEST(PruneStatisticTest, WithoutPublicRowsThePrivateOnesDecide) {
  const PruneStatistic statistic = TestNode(kExact, 8, 0, 400, 300, 0, 0);
  EXPECT_EQ(statistic.lambda, 0);
  EXPECT_NEAR(statistic.value, 1.1686310484104936, 1e-12);
  const PruneStatistic nothing = TestNode(kExact, 8, 0, 0, 0, 0, 0);
  EXPECT_EQ(nothing.value, 0);
  EXPECT_EQ(nothing.lambda, kPublicOnly);
}

// There are no reports, so the public rows decide everything.

TEST(PruneTest, AClearLeafKeepsItsOwnSums) {
  const auto leaves = Prune(Stump(), Private(2, {0, 0, 0, 0}), Public(2, {990, 10, 20, 980}));
  EXPECT_EQ(leaves[0].source_node, 1u);
  EXPECT_EQ(leaves[0].label, 0u);
  EXPECT_EQ(leaves[1].source_node, 2u);
  EXPECT_EQ(leaves[1].label, 1u);
  EXPECT_NEAR(leaves[1].probabilities[1], 0.98, 1e-12);
}

TEST(PruneTest, AnUnclearLeafTakesTheClearParent) {
  const auto leaves = Prune(Stump(), Private(2, {0, 0, 0, 0}), Public(2, {1, 1, 10, 990}));
  EXPECT_EQ(leaves[0].source_node, 0u);
  EXPECT_EQ(leaves[0].label, 1u);
  EXPECT_NEAR(leaves[0].probabilities[1], 991.0 / 1002, 1e-12);
  EXPECT_NEAR(leaves[0].standard_error, std::sqrt(992.0 / 1004 * (12.0 / 1004) / 1002), 1e-12);
  EXPECT_EQ(leaves[1].source_node, 2u);
}

TEST(PruneTest, WithoutAClearNodeTheLargestStatisticWins) {
  // 3 of 4, then 4 of 8: neither node is clear, and the leaf is the clearer one.
  const auto leaves = Prune(Stump(), Private(2, {0, 0, 0, 0}), Public(2, {1, 3, 3, 1}));
  EXPECT_EQ(leaves[0].source_node, 1u);
  EXPECT_EQ(leaves[0].label, 1u);
}

TEST(PruneTest, MinDepthEndsTheWalkBelowTheRoot) {
  const PublicCounts counts = Public(2, {1, 1, 1, 1, 0, 1000, 0, 1000});
  const PrivateCounts none = Private(2, std::vector<double>(8, 0));
  EXPECT_EQ(Prune(Quarters(), none, counts, 0)[0].source_node, 0u);
  EXPECT_EQ(Prune(Quarters(), none, counts, 1)[0].source_node, 2u);
  EXPECT_EQ(Prune(Quarters(), none, counts, 99)[0].source_node, 2u);
}

TEST(PruneTest, PrivateRowsOutvoteFewPublicOnesOnceTheyAreExact) {
  // A stump over 100000 exact private rows; the public row of leaf 0 is wrong.
  const auto leaves =
      Prune(Stump(), Private(2, {5000, 45000, 40000, 10000}, 100'000), Public(2, {1, 0, 1, 0}));
  EXPECT_EQ(leaves[0].label, 0u);  // u = n 2^(h+1) 2^-k exceeds the leaf at depth 1: public only
  const auto deep =
      Prune(Quarters(), Private(2, {1000, 90000, 1000, 1000, 1000, 3000, 1500, 1500}, 100'000),
            Public(2, {1, 0, 1, 0, 1, 0, 1, 0}));
  EXPECT_EQ(deep[0].source_node, 2u);
  EXPECT_EQ(deep[0].label, 1u);
  EXPECT_NEAR(deep[0].probabilities[1], 90.0 / 91, 1e-12);
}

TEST(PruneTest, DepthAskedForTightensTheNoiseBound) {
  const PrivateCounts rows = Private(2, {5000, 45000, 40000, 10000}, 100'000);
  const PublicCounts wrong = Public(2, {1, 0, 0, 1});
  EstimatorOptions options{.kind = EstimatorKind::kPrune};
  ASSERT_OK_AND_ASSIGN(const auto shallow, EstimateTree(Stump(), rows, wrong, options));
  EXPECT_EQ(shallow[0].label, 0u);  // k = 1, u = n: public only
  options.max_depth = 8;
  ASSERT_OK_AND_ASSIGN(const auto deep, EstimateTree(Stump(), rows, wrong, options));
  EXPECT_EQ(deep[0].label, 1u);  // k = 8, u = n / 128
}

TEST(PruneTest, NoisyReportsAreIgnoredAtTheLeaves) {
  const NoiseVariance noise = {.leaf = 32, .label = 32};
  const auto leaves =
      Prune(Stump(), Private(2, {50, 900, 40, 10}, 1000, noise), Public(2, {990, 10, 20, 980}));
  EXPECT_EQ(leaves[0].label, 0u);
  EXPECT_NEAR(leaves[0].probabilities[0], 0.99, 1e-12);
}

TEST(PruneTest, EmptyTreeHasNothingToSay) {
  const auto leaves = Prune(Stump(), Private(2, {0, 0, 0, 0}), Public(2, {0, 0, 0, 0}));
  EXPECT_EQ(leaves[0].label, 0u);
  EXPECT_EQ(leaves[0].standard_error, kPublicOnly);
  EXPECT_EQ(leaves[0].probabilities[0], 0.5);
}

TEST(PruneTest, ThreeClassesLookForAMajority) {
  // Leaf 0 is clearly not class 0, but not clearly another one. Its parent is clearly class 2.
  const auto leaves =
      Prune(Stump(), Private(3, std::vector<double>(6, 0)), Public(3, {0, 51, 49, 0, 0, 900}));
  EXPECT_EQ(leaves[0].source_node, 0u);
  EXPECT_EQ(leaves[0].label, 2u);
  EXPECT_EQ(leaves[1].source_node, 2u);
}

// Swapping the two classes everywhere must swap the answers of public-only pruning.
TEST(PruneTest, PublicPruningIsSymmetricInTheClasses) {
  PublicRandom random(3);
  const PrivateCounts none = Private(2, std::vector<double>(8, 0));
  for (int trial = 0; trial < 500; ++trial) {
    std::vector<uint64_t> label(8), swapped(8);
    for (size_t i = 0; i < 8; ++i) label[i] = swapped[i ^ 1] = random.Below(60) + i % 2;
    const auto leaves = Prune(Quarters(), none, Public(2, label));
    const auto mirror = Prune(Quarters(), none, Public(2, swapped));
    for (size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(leaves[i].source_node, mirror[i].source_node);
      EXPECT_NEAR(leaves[i].probabilities[0], mirror[i].probabilities[1], 1e-12);
    }
  }
}

}  // namespace
}  // namespace coppice::curator
