#include "server/curator/estimation/counts/estimator.h"

#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "common/base/public_random.h"
#include "common/base/status.h"
#include "common/privacy/openssl_random.h"
#include "tests/server/curator/evidence_builders.h"
#include "tests/support/local_reports.h"
#include "tests/support/status_matchers.h"

namespace coppice::curator {
namespace {

using ::coppice::testing::KindsForClasses;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::Private;
using testing::Public;
using testing::StatusIs;
using testing::Stump;
using testing::UnitSchema;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

EstimatorOptions Weighted(double lambda) {
  return {.kind = EstimatorKind::kWeighted, .lambda = lambda};
}

// Leaf 0 of a stump whose second leaf is empty.
LeafPrediction First(std::vector<double> private_label, std::vector<uint64_t> public_label,
                     double lambda, uint64_t reports = 0, const NoiseVariance& noise = {}) {
  const auto classes = static_cast<uint32_t>(private_label.size());
  private_label.resize(2 * classes);
  public_label.resize(2 * classes);
  const auto leaves =
      EstimateTree(Stump(), Private(classes, std::move(private_label), reports, noise),
                   Public(classes, std::move(public_label)), Weighted(lambda));
  EXPECT_OK(leaves);
  return leaves.ok() ? leaves->front() : LeafPrediction{};
}

TEST(WeightedEstimatorTest, AddsLambdaPublicRowsToThePrivateOnes) {
  // (7 + 1) / (10 + 4) = 4/7.
  const LeafPrediction leaf = First({3, 7}, {3, 1}, 1);
  EXPECT_THAT(leaf.probabilities,
              ElementsAre(DoubleNear(3.0 / 7, 1e-15), DoubleNear(4.0 / 7, 1e-15)));
  EXPECT_EQ(leaf.label, 1u);
  EXPECT_EQ(leaf.source_node, 1u);
}

TEST(WeightedEstimatorTest, ExactlyOneHalfIsLabelZero) {
  // (7 + 2) / (10 + 8).
  EXPECT_EQ(First({3, 7}, {3, 1}, 2).label, 0u);
  EXPECT_EQ(First({3, 7}, {3, 1}, 1.999).label, 1u);
}

TEST(WeightedEstimatorTest, LambdaZeroIsPrivateOnlyAndInfinityPublicOnly) {
  EXPECT_THAT(First({3, 7}, {3, 1}, 0).probabilities[1], DoubleNear(0.7, 1e-15));
  EXPECT_EQ(First({3, 7}, {3, 1}, 0).label, 1u);
  EXPECT_THAT(First({3, 7}, {3, 1}, kInfinity).probabilities[1], DoubleNear(0.25, 1e-15));
  EXPECT_EQ(First({3, 7}, {3, 1}, kInfinity).label, 0u);
}

TEST(WeightedEstimatorTest, NothingKnownIsEqualProbabilitiesAndInfiniteError) {
  for (const double lambda : {0.0, 1.0, kInfinity}) {
    const LeafPrediction leaf = First({0, 0}, {0, 0}, lambda);
    EXPECT_THAT(leaf.probabilities, ElementsAre(0.5, 0.5));
    EXPECT_EQ(leaf.label, 0u);
    EXPECT_EQ(leaf.standard_error, kInfinity);
  }
  EXPECT_EQ(First({3, 7}, {0, 0}, kInfinity).label, 0u);  // 0/0 = 0
}

TEST(WeightedEstimatorTest, TwoClassesDecideByTheRatioEvenBelowZero) {
  // -4 / -5 > 1/2, as in the paper's formula; the error is unknown.
  const LeafPrediction leaf = First({-1, -4}, {0, 0}, 0);
  EXPECT_EQ(leaf.label, 1u);
  EXPECT_EQ(leaf.standard_error, kInfinity);
  // 4 / -1 and -4 / 1 are below 1/2.
  EXPECT_EQ(First({-5, 4}, {0, 0}, 0).label, 0u);
  EXPECT_EQ(First({5, -4}, {0, 0}, 0).label, 0u);
}

TEST(WeightedEstimatorTest, ProbabilitiesAreCutToTheUnitIntervalAfterTheLabel) {
  const LeafPrediction leaf = First({-2, 12}, {0, 0}, 0);
  EXPECT_THAT(leaf.probabilities, ElementsAre(0, 1));
  EXPECT_EQ(leaf.label, 1u);
}

TEST(WeightedEstimatorTest, ThreeClassesTakeTheLargestAndTheLowestOnATie) {
  EXPECT_EQ(First({3, 5, 2}, {0, 0, 0}, 1).label, 1u);
  EXPECT_EQ(First({3, 5, 2}, {3, 0, 0}, 1).label, 0u);
  EXPECT_EQ(First({4, 5, 5}, {0, 0, 0}, 1).label, 1u);
  EXPECT_THAT(
      First({1, 1, 2}, {0, 4, 0}, 1).probabilities,
      ElementsAre(DoubleNear(0.125, 1e-15), DoubleNear(0.625, 1e-15), DoubleNear(0.25, 1e-15)));
  // A negative total would reverse the order; the largest count must still win.
  const LeafPrediction negative = First({-5, 1, -3}, {0, 0, 0}, 1);
  EXPECT_EQ(negative.label, 1u);
  EXPECT_THAT(negative.probabilities, ElementsAre(1.0 / 3, 1.0 / 3, 1.0 / 3));
}

// The spread follows Laplace's rule of succession: (rows eta + 1) / (rows + 2).
TEST(WeightedEstimatorTest, ErrorOfExactCountsIsTheBinomialOne) {
  EXPECT_THAT(First({3, 7}, {3, 1}, 1).standard_error,
              DoubleNear(std::sqrt(9.0 / 16 * 7 / 16 / 14), 1e-15));
  EXPECT_THAT(First({3, 7}, {3, 1}, kInfinity).standard_error,
              DoubleNear(std::sqrt(4.0 / 6 * 2 / 6 / 4), 1e-15));
}

TEST(WeightedEstimatorTest, AFewRowsOfOneClassAreNotCertain) {
  const LeafPrediction leaf = First({0, 0}, {3, 0}, kInfinity);
  EXPECT_EQ(leaf.probabilities[0], 1);
  EXPECT_THAT(leaf.standard_error, DoubleNear(std::sqrt(4.0 / 5 * 1 / 5 / 3), 1e-15));
}

TEST(WeightedEstimatorTest, ErrorCountsTheNoiseOfEveryReport) {
  // eta = 7/10 of 10 rows, 100 reports: 100 (3 - 1.4 * 1 + 0.49 * 5) + (0.5 + 1) * 10 * (8/12)
  // (4/12).
  const NoiseVariance noise = {.leaf = 5,
                               .label = 3,
                               .covariance = 1,
                               .hit = {.leaf = 0.5, .label = 0.5, .covariance = 0.5},
                               .beside = {.leaf = 0.5, .label = 0, .covariance = 0}};
  EXPECT_THAT(First({3, 7}, {0, 0}, 0, 100, noise).standard_error,
              DoubleNear(std::sqrt(405 + 15 * 2.0 / 9) / 10, 1e-12));
}

TEST(WeightedEstimatorTest, RejectsLambdaBelowZeroAndNotANumber) {
  for (const double lambda : {-1.0, std::nan("")}) {
    EXPECT_THAT(
        EstimateTree(Stump(), Private(2, {1, 1, 1, 1}), Public(2, {1, 1, 1, 1}), Weighted(lambda)),
        StatusIs(StatusCode::kInvalidArgument, HasSubstr("lambda must be 0 or more")));
  }
}

TEST(WeightedEstimatorTest, RejectsCountsOfAnotherShape) {
  EXPECT_THAT(EstimateTree(Stump(), Private(2, {1, 1}), Public(2, {1, 1, 1, 1}), Weighted(1)),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("private counts have 1 leaves")));
  EXPECT_THAT(EstimateTree(Stump(), Private(2, {1, 1, 1, 1}), Public(2, {1, 1}), Weighted(1)),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("public counts have 1 leaves")));
  EXPECT_THAT(
      EstimateTree(Stump(), Private(2, {1, 1, 1, 1}), Public(3, {1, 1, 1, 1, 1, 1}), Weighted(1)),
      StatusIs(StatusCode::kInvalidArgument, HasSubstr("2 classes")));
}

TEST(EstimatorTest, NamesReadBackAndOthersAreListed) {
  for (const EstimatorKind kind :
       {EstimatorKind::kWeighted, EstimatorKind::kPrune, EstimatorKind::kPooled}) {
    ASSERT_OK_AND_ASSIGN(const EstimatorKind back, ParseEstimator(EstimatorName(kind)));
    EXPECT_EQ(back, kind);
  }
  EXPECT_THAT(ParseEstimator("rough"),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr("there are weighted, prune, pooled and smooth")));
}

TEST(EstimatorTest, OptionsPrintWhatMatters) {
  EXPECT_EQ(Weighted(0.5).ToString(), "weighted lambda=0.5");
  EXPECT_EQ(Weighted(kInfinity).ToString(), "weighted lambda=inf");
  EXPECT_EQ((EstimatorOptions{.kind = EstimatorKind::kPrune}).ToString(), "prune");
  EXPECT_EQ((EstimatorOptions{.kind = EstimatorKind::kPrune, .min_depth = 3}).ToString(),
            "prune min_depth=3");
}

TEST(EstimatorTest, CountsPublicRowsByLeafAndLabel) {
  Table table(UnitSchema({"0", "1"}));
  for (const auto& [x, label] : std::vector<std::pair<double, uint32_t>>{
           {0.1, 0}, {0.2, 1}, {0.5, 1}, {0.9, 1}, {0.49, 0}}) {
    table.Append(std::array<double, 1>{x}, label);
  }
  const PublicCounts counts = CountPublicRows(Stump(), table);
  EXPECT_EQ(counts.classes, 2u);
  EXPECT_THAT(counts.leaf, ElementsAre(3, 2));
  EXPECT_THAT(counts.label, ElementsAre(2, 1, 0, 2));
}

StatusOr<std::unique_ptr<LocalMechanism>> Mechanism(MechanismKind kind, double epsilon,
                                                    const Domain& domain) {
  return MakeLocalMechanism(kind, *Budget::FromEpsilon(epsilon), domain);
}

TEST(EstimatorTest, SumsOfAnotherSizeAreRefused) {
  ASSERT_OK_AND_ASSIGN(const auto mechanism, Mechanism(MechanismKind::kOptimizedUnary, 1, {2, 2}));
  EXPECT_THAT(CountReports(*mechanism, {.sums = {1, 2, 3}, .reports = 5}, Public(2, {1, 1, 1, 1})),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("the sums have 3 entries")));
}

TEST(EstimatorTest, CountsOfAnotherTreeAreRefused) {
  ASSERT_OK_AND_ASSIGN(const auto mechanism, Mechanism(MechanismKind::kOptimizedUnary, 1, {3, 2}));
  const TreeSums sums = {.sums = std::vector<int64_t>(6), .reports = 0};
  EXPECT_THAT(CountReports(*mechanism, sums, Public(2, {1, 1, 1, 1})),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("3 leaves")));
}

// signed_hadamard tells no masses, so leaves get the public rows' shares, with half a row more
// each.
TEST(EstimatorTest, MarginsTakeTheirMassesFromPublicRows) {
  ASSERT_OK_AND_ASSIGN(const auto mechanism, Mechanism(MechanismKind::kSignedHadamard, 2, {2, 2}));
  TreeSums sums{.sums = std::vector<int64_t>(mechanism->sum_size()), .reports = 100};
  sums.sums[0] = 100;  // all reports in column 0, with a plus: every margin is 100 / keep
  const PublicCounts counts = Public(2, {4, 1, 2, 9});  // 5 and 11 rows
  ASSERT_OK_AND_ASSIGN(const PrivateCounts private_counts, CountReports(*mechanism, sums, counts));
  EXPECT_FALSE(private_counts.has_masses);
  EXPECT_NEAR(private_counts.counts.leaf[0], 100 * 5.5 / 17, 1e-9);
  EXPECT_NEAR(private_counts.counts.leaf[1], 100 * 11.5 / 17, 1e-9);
  for (uint32_t leaf = 0; leaf < 2; ++leaf) {
    const double one = private_counts.counts.at(leaf, 1), zero = private_counts.counts.at(leaf, 0);
    EXPECT_NEAR(one + zero, private_counts.counts.leaf[leaf], 1e-9);
    EXPECT_NEAR(one - zero, 100 * (std::exp(2) + 1) / (std::exp(2) - 1), 1e-6);
  }
}

TEST(EstimatorTest, SumsAndTheirCountsGiveTheSamePredictions) {
  OpenSslRandom random;
  for (const MechanismKind kind : KindsForClasses()) {
    ASSERT_OK_AND_ASSIGN(const auto mechanism, Mechanism(kind, 2, {2, 2}));
    TreeSums sums{.sums = std::vector<int64_t>(mechanism->sum_size()), .reports = 50};
    for (uint32_t i = 0; i < 50; ++i) {
      ASSERT_OK(mechanism->RandomizeInto({.leaf = i % 2, .label = i % 3 == 0 ? 1u : 0u}, random,
                                         absl::MakeSpan(sums.sums)));
    }
    const PublicCounts counts = Public(2, {4, 1, 2, 9});
    ASSERT_OK_AND_ASSIGN(const PrivateCounts estimated, CountReports(*mechanism, sums, counts));
    ASSERT_OK_AND_ASSIGN(const auto from_sums,
                         EstimateTree(Stump(), *mechanism, sums, counts, Weighted(3)));
    ASSERT_OK_AND_ASSIGN(const auto from_counts,
                         EstimateTree(Stump(), estimated, counts, Weighted(3)));
    EXPECT_EQ(from_sums, from_counts) << MechanismName(kind);
  }
}

// On any counts probabilities are a distribution, the error is not NaN, private rows do not matter
// at lambda = infinity, and public ones not at 0.
TEST(WeightedEstimatorTest, HoldsItsPromisesOnRandomCounts) {
  PublicRandom random(7);
  for (int trial = 0; trial < 2000; ++trial) {
    const auto classes = static_cast<uint32_t>(2 + random.Below(3));
    std::vector<double> ours(classes);
    std::vector<uint64_t> theirs(classes), nobody(classes, 0);
    for (double& count : ours) count = 40 * random.Unit() - 20;
    for (uint64_t& count : theirs) count = random.Below(4);
    const NoiseVariance noise = {.leaf = 2,
                                 .label = 1,
                                 .covariance = 1,
                                 .hit = {.leaf = -0.2, .label = -0.2, .covariance = -0.2},
                                 .beside = {.leaf = -0.2, .label = 0, .covariance = 0}};
    for (const double lambda : {0.0, 0.3, 100.0, kInfinity}) {
      const LeafPrediction leaf = First(ours, theirs, lambda, 10, noise);
      double total = 0;
      for (const double p : leaf.probabilities) {
        EXPECT_TRUE(p >= 0 && p <= 1);
        total += p;
      }
      EXPECT_NEAR(total, 1, 1e-12);
      EXPECT_TRUE(leaf.standard_error >= 0);
      EXPECT_LT(leaf.label, classes);
    }
    EXPECT_EQ(First(ours, theirs, 0), First(ours, nobody, 0));
    EXPECT_EQ(First(ours, theirs, kInfinity),
              First(std::vector<double>(classes, 1), theirs, kInfinity));
  }
}

}  // namespace
}  // namespace coppice::curator
