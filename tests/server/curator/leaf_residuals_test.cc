// Residuals of reports about a predictor: what they mean on average, by enumeration of everything
// that can happen, and how much they vary.

#include "server/curator/estimation/correction/leaf_residuals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "tests/server/curator/evidence_builders.h"

namespace coppice::curator {
namespace {

using ::coppice::testing::Private;
using ::coppice::testing::Stump;
using ::coppice::testing::UnitSchema;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::Pointwise;

// A population of equally many rows of four kinds: three in the stump's left leaf, one in its
// right one.
struct Kind {
  double x;
  uint32_t label;
  double probability;  // that the predictor gives to class 1
};
constexpr std::array<Kind, 4> kPopulation = {
    {{0.1, 0, 0.2}, {0.2, 1, 0.6}, {0.3, 1, 0.9}, {0.7, 0, 0.55}}};

// Mean over the population of 1{in the leaf} (y - p).
std::vector<double> TrueResiduals() {
  std::vector<double> residuals(2);
  for (const Kind& kind : kPopulation) {
    residuals[kind.x < 0.5 ? 0 : 1] += (kind.label - kind.probability) / kPopulation.size();
  }
  return residuals;
}

struct Sample {
  Table rows;
  std::vector<double> probabilities;
};

Sample MakeSample(const std::vector<size_t>& kinds) {
  Sample sample{.rows = Table(UnitSchema({"0", "1"})), .probabilities = {}};
  for (const size_t kind : kinds) {
    sample.rows.Append(std::vector<double>{kPopulation[kind].x}, kPopulation[kind].label);
    sample.probabilities.push_back(kPopulation[kind].probability);
  }
  return sample;
}

struct Outcome {
  double probability;
  TreeSums sums;
};

// Everything that the study of a single device can see, over its kind, its ticket's column and its
// draws.
std::vector<Outcome> EveryReport(const LocalMechanism& mechanism) {
  std::vector<Outcome> outcomes;
  for (const Kind& kind : kPopulation) {
    const LeafLabel value = {.leaf = kind.x < 0.5 ? 0u : 1u, .label = kind.label};
    for (uint32_t column = 0; column < mechanism.columns(); ++column) {
      for (int byte = 0; byte < 256; ++byte) {
        const std::string payload(1, static_cast<char>(byte));
        const StatusOr<double> likelihood = mechanism.OutputProbability(value, column, payload);
        if (!likelihood.ok() || *likelihood == 0) continue;
        TreeSums sums{.sums = std::vector<int64_t>(mechanism.sum_size()), .reports = 1};
        EXPECT_TRUE(mechanism.Add(payload, column, absl::MakeSpan(sums.sums)).ok());
        outcomes.push_back({*likelihood / (kPopulation.size() * mechanism.columns()), sums});
      }
    }
  }
  return outcomes;
}

class UnbiasedResiduals : public ::testing::TestWithParam<MechanismKind> {};

// Two rows that the tree was grown on, two that it was not, and one device, all drawn
// independently.
TEST_P(UnbiasedResiduals, MeanOverAllDrawsIsThePredictorsError) {
  const auto mechanism = *MakeLocalMechanism(GetParam(), *Budget::Parse("1"), {2, 2});
  const std::vector<Outcome> reports = EveryReport(*mechanism);
  const Forest forest = {Stump()};
  std::vector<double> mean(2);
  double total = 0;
  for (size_t draw = 0; draw < 256; ++draw) {
    const Sample sample = MakeSample({draw % 4, draw / 4 % 4, draw / 16 % 4, draw / 64});
    const PublicLeaves leaves(forest, sample.rows, {{1, 1, 0, 0}});
    for (const Outcome& report : reports) {
      const PrivateCounts counts =
          *CountReports(*mechanism, report.sums, CountPublicRows(forest[0], sample.rows));
      const LeafResiduals residuals =
          ComputeResiduals(leaves, {counts}, /*output=*/1, sample.probabilities);
      total += report.probability / 256;
      for (size_t leaf = 0; leaf < 2; ++leaf) {
        mean[leaf] += report.probability / 256 * residuals.value[leaf];
      }
    }
  }
  EXPECT_NEAR(total, 1, 1e-9);  // nothing was left out
  EXPECT_THAT(mean, Pointwise(DoubleNear(1e-9), TrueResiduals()));
}

INSTANTIATE_TEST_SUITE_P(Mechanisms, UnbiasedResiduals,
                         ::testing::Values(MechanismKind::kDirect, MechanismKind::kSignedHadamard,
                                           MechanismKind::kSymmetricUnary,
                                           MechanismKind::kSubsetSelection,
                                           MechanismKind::kHadamardResponse),
                         [](const auto& info) { return std::string(MechanismName(info.param)); });

// The tree's own rows look pure in its leaves, the others do not, and the devices are like the
// others: there is nothing to correct.
TEST(LeafResidualsTest, OnlyHonestRowsSayWhatLeavesHold) {
  Table rows(UnitSchema({"0", "1"}));
  for (const double x : {0.1, 0.9, 0.2, 0.8}) rows.Append(std::vector<double>{x}, 0);
  const Forest forest = {Stump()};
  const std::vector<double> p = {0.05, 0.95, 0.4, 0.6};
  const PrivateCounts counts = Private(2, {300, 200, 200, 300}, 1000);
  const PublicLeaves leaves(forest, rows, {{2, 2, 0, 0}});
  EXPECT_THAT(ComputeResiduals(leaves, {counts}, 1, p).value,
              Pointwise(DoubleNear(1e-12), {0.0, 0.0}));
  // A tree that was grown on all rows has no honest one, and takes them all.
  const PublicLeaves grown_on_all(forest, rows, {{1, 1, 1, 1}});
  EXPECT_THAT(ComputeResiduals(grown_on_all, {counts}, 1, p).value,
              Pointwise(DoubleNear(1e-12), {0.0875, -0.0875}));
}

// Where the honest rows' share of a leaf is off, the guess cancels it.
TEST(LeafResidualsTest, WrongMassesCancel) {
  Table rows(UnitSchema({"0", "1"}));
  for (const double x : {0.1, 0.9, 0.2, 0.3, 0.8, 0.4}) rows.Append(std::vector<double>{x}, 0);
  const std::vector<double> p = {0.3, 0.3, 0.3, 0.3, 0.3, 0.3};
  const PublicLeaves leaves({Stump()}, rows, {{1, 1, 0, 0, 0, 0}});
  // A quarter of the devices are on the left, where three quarters of the honest rows are.
  const PrivateCounts counts = Private(2, {175, 75, 525, 225}, 1000);
  EXPECT_THAT(ComputeResiduals(leaves, {counts}, 1, p).value,
              Pointwise(DoubleNear(1e-12), {0.0, 0.0}));
}

TEST(LeafResidualsTest, VarianceIsThatOfReportsLabelsAndHonestRows) {
  Table rows(UnitSchema({"0", "1"}));
  for (const double x : {0.1, 0.9, 0.2, 0.8}) rows.Append(std::vector<double>{x}, 0);
  const std::vector<double> p = {0.5, 0.5, 0.7, 0.1};
  const PublicLeaves leaves({Stump()}, rows, {{1, 1, 0, 0}});
  const PrivateCounts counts =
      Private(2, {30, 20, 20, 30}, 100, {.leaf = 6, .label = 3, .covariance = 2});
  const LeafResiduals residuals = ComputeResiduals(leaves, {counts}, 1, p);
  const double guess = 0.5;  // the own row, and one at the mean of own rows
  const double noise = 3 - 2 * guess * 2 + guess * guess * 6;
  const double scatter = (std::pow(0.7 - guess, 2) + std::pow(0.1 - guess, 2)) / 2;
  const double variance = noise / 100 + 0.5 * guess * (1 - guess) / 100 + 0.5 * scatter / 4;
  EXPECT_THAT(residuals.variance, Pointwise(DoubleNear(1e-12), {variance, variance}));
  EXPECT_THAT(residuals.row_variance,
              Pointwise(DoubleNear(1e-12), {scatter, scatter, scatter, scatter}));
}

TEST(LeafResidualsTest, MarginsHaveNoGuess) {
  Table rows(UnitSchema({"0", "1"}));
  for (const double x : {0.1, 0.9, 0.2, 0.8}) rows.Append(std::vector<double>{x}, 0);
  PrivateCounts counts = Private(2, {30, 20, 20, 30}, 100, {.label = 3});
  counts.has_masses = false;
  const LeafResiduals residuals =
      ComputeResiduals(PublicLeaves({Stump()}, rows, {{1, 1, 0, 0}}), {counts}, 1,
                       std::vector<double>{0.5, 0.5, 0.7, 0.1});
  EXPECT_THAT(residuals.value, Pointwise(DoubleNear(1e-12), {-0.15, 0.25}));
  EXPECT_THAT(residuals.row_variance, Pointwise(DoubleNear(1e-12), {0.0, 0.0, 0.04, 0.16}));
  EXPECT_THAT(residuals.variance,
              Pointwise(DoubleNear(1e-12), {0.03 + 0.04 / 16, 0.03 + 0.16 / 16}));
}

TEST(LeafResidualsTest, TreeWithoutReportsSaysNothing) {
  Table rows(UnitSchema({"0", "1"}));
  for (const double x : {0.1, 0.9}) rows.Append(std::vector<double>{x}, 0);
  const LeafResiduals residuals = ComputeResiduals(
      PublicLeaves({Stump()}, rows, {{1, 0}}),
      {Private(2, {0, 0, 0, 0}, 0, {.leaf = 1, .label = 1})}, 1, std::vector<double>{0.5, 0.9});
  EXPECT_THAT(residuals.value, ElementsAre(0, 0));
  EXPECT_TRUE(std::isinf(residuals.variance[0]));
}

}  // namespace
}  // namespace coppice::curator
