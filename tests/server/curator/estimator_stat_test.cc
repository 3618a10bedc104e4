// Whether the standard error is right: how often the truth lies within 1.96 of it.

#include <array>
#include <cmath>
#include <memory>
#include <vector>

#include "common/base/public_random.h"
#include "common/privacy/openssl_random.h"
#include "server/curator/estimation/counts/estimator.h"
#include "tests/server/curator/evidence_builders.h"
#include "tests/support/status_matchers.h"

namespace coppice::curator {
namespace {

constexpr uint32_t kLeaves = 4;
constexpr int kTrials = 2000;
constexpr double kTruth = 0.7;  // P(label 1) in every leaf, private and public

struct Case {
  MechanismKind mechanism;
  double lambda;
};

class StandardErrorTest : public ::testing::TestWithParam<Case> {};

// Leaf 0's prediction from 1000 private rows per leaf at epsilon 2, and 50 public rows per leaf.
LeafPrediction RunStudy(const LocalMechanism& mechanism, double lambda, PublicRandom& rows,
                        PrivateRandom& noise) {
  std::vector<uint64_t> private_rows(2 * kLeaves), public_rows(2 * kLeaves);
  for (uint32_t leaf = 0; leaf < kLeaves; ++leaf) {
    for (int i = 0; i < 1000; ++i) ++private_rows[2 * leaf + (rows.Unit() < kTruth ? 1 : 0)];
    for (int i = 0; i < 50; ++i) ++public_rows[2 * leaf + (rows.Unit() < kTruth ? 1 : 0)];
  }
  TreeSums sums{.sums = std::vector<int64_t>(mechanism.sum_size()), .reports = 1000 * kLeaves};
  EXPECT_OK(mechanism.RandomizeAllInto(private_rows, noise, absl::MakeSpan(sums.sums)));
  const auto leaves = EstimateTree(testing::Quarters(), mechanism, sums,
                                   testing::Public(2, public_rows), {.lambda = lambda});
  EXPECT_OK(leaves);
  return leaves->front();
}

// Coverage is 0.95, except for terms of the delta method below 0.01 here. False alarm: leaving
// [0.92, 0.98] is 6 standard deviations, < 1e-8. Power: an error wrong by 20 % covers 0.88 or 0.98
// and escapes with probability < 1e-3; one without the privacy noise covers less than 0.7.
TEST_P(StandardErrorTest, CoversTheTruthAsOftenAsItSays) {
  const Case& param = GetParam();
  const auto mechanism = MakeLocalMechanism(param.mechanism, *Budget::FromEpsilon(2),
                                            {.leaves = kLeaves, .classes = 2});
  ASSERT_OK(mechanism);
  PublicRandom rows(1);
  OpenSslRandom noise;
  int covered = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    const LeafPrediction leaf = RunStudy(**mechanism, param.lambda, rows, noise);
    const double truth = leaf.label == 1 ? kTruth : 1 - kTruth;
    covered += std::abs(leaf.probabilities[leaf.label] - truth) < 1.96 * leaf.standard_error;
  }
  const double coverage = static_cast<double>(covered) / kTrials;
  EXPECT_GT(coverage, 0.92);
  EXPECT_LT(coverage, 0.98);
}

INSTANTIATE_TEST_SUITE_P(MechanismsAndWeights, StandardErrorTest,
                         ::testing::Values(Case{MechanismKind::kLaplaceSplit, 0},
                                           Case{MechanismKind::kLaplaceSplit, 5},
                                           Case{MechanismKind::kLaplaceJoint, 0},
                                           Case{MechanismKind::kSymmetricUnary, 5},
                                           Case{MechanismKind::kOptimizedUnary, 0},
                                           Case{MechanismKind::kOptimizedUnary, 5}));

}  // namespace
}  // namespace coppice::curator
