// A linear model with Gaussian noise under several priors, averaged by their evidence. Only this
// room includes this file.
//
// The unknowns x have log-likelihood g' x - x' I x / 2. A prior with mean 0 and precision R gives
// them the posterior mean C^-1 g with C = R + I and covariance C^-1, and the data the evidence
//
//     log evidence = (log|R| - log|C| + g' C^-1 g) / 2
//
// up to a constant that all priors share. A prior that is sure of x = 0 has evidence 0.
//
// Source     MacKay, "Bayesian interpolation" (1992).

#ifndef COPPICE_SERVER_CURATOR_ESTIMATION_POOLED_GAUSSIAN_AVERAGE_H_
#define COPPICE_SERVER_CURATOR_ESTIMATION_POOLED_GAUSSIAN_AVERAGE_H_

#include <vector>

#include "Eigen/Dense"
#include "absl/types/span.h"
#include "common/base/status.h"

namespace coppice::curator {

struct GaussianPrior {
  double weight = 0;
  Eigen::VectorXd precision{};  // its diagonal part; empty: sure of 0
  double trust = 0;             // how much of `known` is added to it
};

struct GaussianLikelihood {
  Eigen::MatrixXd information;
  Eigen::VectorXd pull;
};

// What noisy sums say about x: sums b and information A about q = directions x + e, where the
// entries of e are independent with the variances `scatter`. They are integrated out: with D =
// diag(scatter), A becomes (A^-1 + D)^-1 = A - A S A and b becomes b - A S b, for S = sqrt(D)
// (1 + sqrt(D) A sqrt(D))^-1 sqrt(D). Internal if that cannot be decomposed.
StatusOr<GaussianLikelihood> IntegrateScatter(const Eigen::MatrixXd& directions,
                                              const Eigen::MatrixXd& a, const Eigen::VectorXd& b,
                                              const Eigen::VectorXd& scatter);

struct GaussianAverage {
  Eigen::VectorXd mean;
  Eigen::MatrixXd covariance;   // within the priors and between them
  std::vector<double> weights;  // posterior ones of the priors; they add up to 1
};

// Internal if a precision is not positive definite.
StatusOr<GaussianAverage> AveragePriors(const GaussianLikelihood& likelihood,
                                        const Eigen::MatrixXd& known,
                                        absl::Span<const GaussianPrior> priors);

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_ESTIMATION_POOLED_GAUSSIAN_AVERAGE_H_
