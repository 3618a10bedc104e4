#include "server/curator/estimation/pooled/gaussian_average.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "common/base/status_macros.h"

namespace coppice::curator {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

Status Decomposes(const Eigen::LLT<MatrixXd>& decomposition) {
  if (decomposition.info() == Eigen::Success) return OkStatus();
  return InternalError("the estimate's system of equations could not be decomposed");
}

double LogDeterminant(const Eigen::LLT<MatrixXd>& decomposition) {
  return 2 * decomposition.matrixLLT().diagonal().array().log().sum();
}

// A prior with the data.
struct GaussianPosterior {
  VectorXd mean;
  MatrixXd covariance;
  double log_evidence = 0;
};

StatusOr<GaussianPosterior> PosteriorOf(const GaussianLikelihood& likelihood, const MatrixXd& known,
                                        const GaussianPrior& prior) {
  const Index size = likelihood.pull.size();
  if (prior.precision.size() == 0) {
    return GaussianPosterior{.mean = VectorXd::Zero(size),
                             .covariance = MatrixXd::Zero(size, size)};
  }
  MatrixXd precision = prior.trust * known;
  precision.diagonal() += prior.precision;
  const Eigen::LLT<MatrixXd> of_prior(precision);
  const Eigen::LLT<MatrixXd> of_both(precision + likelihood.information);
  COPPICE_RETURN_IF_ERROR(Decomposes(of_prior));
  COPPICE_RETURN_IF_ERROR(Decomposes(of_both));
  GaussianPosterior posterior;
  posterior.mean = of_both.solve(likelihood.pull);
  posterior.covariance = of_both.solve(MatrixXd::Identity(size, size));
  posterior.log_evidence =
      (LogDeterminant(of_prior) - LogDeterminant(of_both) + likelihood.pull.dot(posterior.mean)) /
      2;
  return posterior;
}

}  // namespace

StatusOr<GaussianLikelihood> IntegrateScatter(const MatrixXd& directions, const MatrixXd& a,
                                              const VectorXd& b, const VectorXd& scatter) {
  const VectorXd root = scatter.cwiseMax(0).cwiseSqrt();
  MatrixXd inner = root.asDiagonal() * a * root.asDiagonal();
  inner.diagonal().array() += 1;
  const Eigen::LLT<MatrixXd> decomposition(inner);
  COPPICE_RETURN_IF_ERROR(Decomposes(decomposition));
  // With inner = L L', the part that is lost is the square of L^-1 sqrt(D) A.
  const MatrixXd told = a * directions;
  const MatrixXd lost = decomposition.matrixL().solve(root.asDiagonal() * told);
  const VectorXd lost_pull = decomposition.matrixL().solve(root.cwiseProduct(b));
  GaussianLikelihood likelihood;
  likelihood.information = directions.transpose() * told - lost.transpose() * lost;
  likelihood.pull = directions.transpose() * b - lost.transpose() * lost_pull;
  return likelihood;
}

StatusOr<GaussianAverage> AveragePriors(const GaussianLikelihood& likelihood, const MatrixXd& known,
                                        absl::Span<const GaussianPrior> priors) {
  std::vector<GaussianPosterior> posteriors;
  std::vector<double> weights;
  for (const GaussianPrior& prior : priors) {
    COPPICE_ASSIGN_OR_RETURN(posteriors.emplace_back(), PosteriorOf(likelihood, known, prior));
    weights.push_back(std::log(prior.weight) + posteriors.back().log_evidence);
  }
  const double best = *std::max_element(weights.begin(), weights.end());
  double total = 0;
  for (double& weight : weights) total += weight = std::exp(weight - best);
  for (double& weight : weights) weight /= total;
  const Index size = likelihood.pull.size();
  GaussianAverage average{.mean = VectorXd::Zero(size),
                          .covariance = MatrixXd::Zero(size, size),
                          .weights = std::move(weights)};
  for (size_t i = 0; i < posteriors.size(); ++i) {
    const auto& [mean, covariance, evidence] = posteriors[i];
    average.mean += average.weights[i] * mean;
    average.covariance += average.weights[i] * (covariance + mean * mean.transpose());
  }
  average.covariance -= average.mean * average.mean.transpose();
  return average;
}

}  // namespace coppice::curator
