// The averaged linear model against the multivariate normal distribution that it stands for.

#include "server/curator/estimation/pooled/gaussian_average.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "common/base/public_random.h"
#include "tests/support/status_matchers.h"

namespace coppice::curator {
namespace {

using ::coppice::testing::StatusIs;
using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

MatrixXd Random(Index rows, Index columns, uint64_t seed) {
  PublicRandom random(seed);
  MatrixXd matrix(rows, columns);
  for (double& x : matrix.reshaped()) x = 2 * random.Unit() - 1;
  return matrix;
}

// Sums y = B (F x + e) + noise: what a study's leaves say of its rows.
struct Observations {
  MatrixXd sums = Random(9, 6, 1);        // B
  MatrixXd directions = Random(6, 3, 2);  // F
  VectorXd values = Random(9, 1, 3);      // y
  VectorXd noise = Random(9, 1, 4).cwiseAbs();
  VectorXd scatter = Random(6, 1, 5).cwiseAbs();
  MatrixXd known = directions.transpose() * directions;

  MatrixXd a() const { return sums.transpose() * noise.cwiseInverse().asDiagonal() * sums; }
  VectorXd b() const { return sums.transpose() * noise.cwiseInverse().asDiagonal() * values; }
  // The covariance of y under a prior.
  MatrixXd Covariance(const GaussianPrior& prior) const {
    MatrixXd of_rows = scatter.asDiagonal();
    if (prior.precision.size() > 0) {
      MatrixXd precision = prior.trust * known;
      precision.diagonal() += prior.precision;
      of_rows += directions * precision.inverse() * directions.transpose();
    }
    MatrixXd covariance = sums * of_rows * sums.transpose();
    covariance.diagonal() += noise;
    return covariance;
  }
  double LogDensity(const GaussianPrior& prior) const {
    const MatrixXd covariance = Covariance(prior);
    return -(std::log(covariance.determinant()) + values.dot(covariance.inverse() * values)) / 2;
  }
  VectorXd Mean(const GaussianPrior& prior) const {
    if (prior.precision.size() == 0) return VectorXd::Zero(3);
    MatrixXd precision = prior.trust * known;
    precision.diagonal() += prior.precision;
    return precision.inverse() * directions.transpose() * sums.transpose() *
           Covariance(prior).inverse() * values;
  }
};

std::vector<GaussianPrior> Priors() {
  return {{.weight = 0.2},
          {.weight = 0.5, .precision = VectorXd{{1, 2, 3}}, .trust = 0.7},
          {.weight = 0.3, .precision = VectorXd{{0.1, 0.2, 0.1}}}};
}

TEST(GaussianAverageTest, WeightsAreThoseOfTheDensities) {
  const Observations seen;
  const GaussianAverage average = *AveragePriors(
      *IntegrateScatter(seen.directions, seen.a(), seen.b(), seen.scatter), seen.known, Priors());
  std::vector<double> expected;
  double total = 0;
  for (const GaussianPrior& prior : Priors()) {
    total += expected.emplace_back(prior.weight * std::exp(seen.LogDensity(prior)));
  }
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(average.weights[i], expected[i] / total, 1e-9);
    EXPECT_GT(average.weights[i], 1e-4);  // each prior is tested
  }
}

TEST(GaussianAverageTest, MeanAndCovarianceAreThoseOfTheMixture) {
  const Observations seen;
  const GaussianLikelihood likelihood =
      *IntegrateScatter(seen.directions, seen.a(), seen.b(), seen.scatter);
  const GaussianAverage average = *AveragePriors(likelihood, seen.known, Priors());
  VectorXd mean = VectorXd::Zero(3);
  MatrixXd squares = MatrixXd::Zero(3, 3);
  for (size_t i = 0; i < Priors().size(); ++i) {
    const GaussianPrior prior = Priors()[i];
    const VectorXd of_prior = seen.Mean(prior);
    MatrixXd covariance = MatrixXd::Zero(3, 3);
    if (prior.precision.size() > 0) {
      MatrixXd precision = prior.trust * seen.known + likelihood.information;
      precision.diagonal() += prior.precision;
      covariance = precision.inverse();
    }
    mean += average.weights[i] * of_prior;
    squares += average.weights[i] * (covariance + of_prior * of_prior.transpose());
  }
  EXPECT_LT((average.mean - mean).norm(), 1e-9);
  EXPECT_LT((average.covariance - (squares - mean * mean.transpose())).norm(), 1e-9);
}

TEST(GaussianAverageTest, RefusesAPriorThatIsNone) {
  const Observations seen;
  EXPECT_THAT(
      AveragePriors(*IntegrateScatter(seen.directions, seen.a(), seen.b(), seen.scatter),
                    seen.known, {GaussianPrior{.weight = 1, .precision = VectorXd{{1, -9, 1}}}})
          .status(),
      StatusIs(StatusCode::kInternal, ::testing::_));
}

}  // namespace
}  // namespace coppice::curator
