// The Gaussian model behind the pooled estimator and the planner: the class margin theta in the
// coordinates of a PooledBasis, where prior, reports and public labels are all diagonal.
//
// In words, for each coordinate: before anything is seen it is near 0, the nearer the less the
// forest finds rows alike along it. Reports measure it with a noise that is known exactly, plus an
// error that is not, because a leaf's private rows are not quite where its public rows are. Public
// labels measure a multiple of it, since they may be weaker than private labels, unrelated or even
// inverted; part of their error follows the prior, since another population differs more where
// functions vary more. The posterior is the mean of the three, each weighted by its precision, and
// the likelihood says how well a setting of the unknown factors fits all coordinates.
//
//     theta_j ~ N(0, s^2 n lambda_j^2 / sum lambda^2)
//     u_j     ~ N(theta_j, a_j + zeta)                from the reports; a_j is their noise
//     w_j     ~ N(beta theta_j, sigma^2 + omega p_j)  from the public labels; p_j is the prior's

#ifndef COPPICE_SERVER_CURATOR_ESTIMATION_POOLED_POOLED_MODEL_H_
#define COPPICE_SERVER_CURATOR_ESTIMATION_POOLED_POOLED_MODEL_H_

#include <cstddef>
#include <vector>

#include "absl/types/span.h"
#include "server/curator/estimation/pooled/pooled_basis.h"

namespace coppice::curator {

// One point of the grid of hyper-parameters.
struct Hyperparameters {
  double roughness = 0;    // s^2: prior variance of theta, as a share of its largest
  double beta = 0;         // mean of the public labels is beta * theta
  double local_drift = 0;  // omega: variance of the public labels that follows the prior's
  double label_noise = 0;  // sigma^2 of one public label
  double leaf_noise = 0;   // zeta: private leaves are only estimates of the rows' own
  double log_prior = 0;
};

// The points to average over, with their prior weights. The explainable part of numbers varies more
// than that of classes, so numbers get more points.
std::vector<Hyperparameters> PooledGrid(bool numbers);

// The reports' evidence: coordinates of theta, by column, and the variance of each.
struct PrivateSide {
  bool present = false;
  std::vector<std::vector<double>> theta;
  std::vector<double> variance;
};

// theta's posterior in one setting. mean = variance * (from_private * u + from_public * w).
struct Posterior {
  std::vector<double> variance;
  std::vector<double> from_private;
  std::vector<double> from_public;
  double log_likelihood = 0;  // of all columns
};

// Threads    values and const methods; safe to share.
// Source     docs/research/mechanisms.md#pooled.
class PooledModel {
 public:
  // Both must outlive the model.
  PooledModel(const PooledBasis& basis, const PrivateSide& reports, bool use_labels);

  Posterior Fit(const Hyperparameters& setting) const;
  double Mean(const Posterior& fit, size_t column, size_t j) const {
    return fit.variance[j] * Pull(fit, column, j);
  }

 private:
  double Pull(const Posterior& fit, size_t column, size_t j) const;
  double ColumnLikelihood(const Hyperparameters& setting, const Posterior& fit, size_t column,
                          double log_terms) const;

  const PooledBasis& basis_;
  const PrivateSide& reports_;
  const bool use_labels_;
  std::vector<double> shape_;  // n lambda^2 / sum lambda^2: the prior's variance without s^2
};

// Posterior weights of the settings; they add up to 1. For numbers, public labels alone (where
// used) decide how rough theta is and how noisy labels are, and reports decide the rest: where
// leaves' masses are guessed, reports look flatter than they are and would flatten what public
// labels say.
std::vector<double> GridWeights(const PooledBasis& basis, absl::Span<const Hyperparameters> grid,
                                absl::Span<const double> log_likelihoods, bool use_labels);

// The prior's variances without the factor s^2.
std::vector<double> PriorShape(const PooledBasis& basis);

// Variance of each coordinate for this many reports with this much noise in a margin of two ends or
// classes (MarginNoise).
std::vector<double> ReportVariance(const PooledBasis& basis, double reports,
                                   double noise_per_report);

// The worth, in public rows, of reports that are about all leaves.
double EquivalentRows(const PooledBasis& basis, double reports, double noise_per_report);

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_ESTIMATION_POOLED_POOLED_MODEL_H_
