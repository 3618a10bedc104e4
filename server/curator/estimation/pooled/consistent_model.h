// The pooled estimator's Gaussian model where features are public, so that the reports' noise
// differs from leaf to leaf and is no longer diagonal in the coordinates of a PooledBasis.
//
// A device that shows some features in the clear reports about the few leaves that these allow. So
// a leaf hears from some devices and not from others, the noise in it depends on how many, and no
// rotation makes that diagonal together with the prior: the coordinates have to be solved for at
// once. The idea is that of pooled.h.
//
// With e rows expected in a leaf of U public rows, and variance V of its margin M, the reports'
// part of theta's log-likelihood has the matrix W = Z diag(e^2 / (U^2 V)) Z' and the pull Z (M e /
// (U V)). An error zeta of every row's mass turns W, in the basis' coordinates, into G = W (I +
// zeta W)^-1. Prior and public labels are as in PooledModel. Each point of the grid takes one
// Cholesky decomposition. Where the rank is large, it covers the directions that hold nearly all of
// the prior; the others use the public labels alone.
//
// Guarantee  post-processing of randomized sums and public rows: costs no privacy, may be repeated.
// Errors     Internal if a decomposition fails, and what `cancel` returns.
// Source     docs/research/mechanisms.md#public-features.

#ifndef COPPICE_SERVER_CURATOR_ESTIMATION_POOLED_CONSISTENT_MODEL_H_
#define COPPICE_SERVER_CURATOR_ESTIMATION_POOLED_CONSISTENT_MODEL_H_

#include <functional>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "common/base/cancel_check.h"
#include "common/base/status.h"
#include "server/curator/estimation/pooled/pooled_basis.h"
#include "server/curator/estimation/pooled/pooled_model.h"

namespace coppice::curator {

// The reports' evidence by leaf: rows expected, variance of the margin, and the margin by column.
// Leaves without public rows or reports carry no weight.
struct ConsistentReports {
  LeafValues rows;
  LeafValues variance;
  std::vector<LeafValues> margins;
};

// theta averaged over PooledGrid().
struct ConsistentFit {
  std::vector<std::vector<double>> mean;  // by column, then coordinate
  std::vector<LeafValues> variance;       // by column: at the leaves
  std::vector<double> weights;            // of the grid's points
  double equivalent_rows = 0;             // trace of P W: the worth of the reports in public rows
};

StatusOr<ConsistentFit> FitConsistent(const PooledBasis& basis, const ConsistentReports& reports,
                                      bool use_labels, const CancelCheck& cancel);

// Forecasts the posterior mean under reports yet to come, for a known theta and one grid setting.
class ConsistentForecast {
 public:
  // `expected` has no margins. The basis must outlive the forecast.
  ConsistentForecast(const PooledBasis& basis, const ConsistentReports& expected);
  ~ConsistentForecast();

  double equivalent_rows() const;
  // The posterior mean, column after column, after drawing the reports' noise (one standard normal
  // per leaf and column); `row_noise` holds the standard normals of the masses' error.
  StatusOr<std::vector<double>> MeanOf(const Hyperparameters& setting,
                                       absl::Span<const std::vector<double>> theta,
                                       absl::Span<const std::vector<double>> row_noise,
                                       const std::function<double()>& draw_normal) const;

 private:
  class Impl;
  std::unique_ptr<const Impl> impl_;
};

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_ESTIMATION_POOLED_CONSISTENT_MODEL_H_
