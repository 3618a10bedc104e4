// The estimator without settings: one closed-form model over all trees of a forest, for public
// labels and randomized sums together.
//
// A leaf of one tree holds few reports, too few to tell its label from the noise. But many trees
// were grown, and two rows that share a leaf in most of them are probably alike. A covariance of
// the unknown class margin, made of the share of common leaves, turns the forest into a Gaussian
// process: a report about one leaf informs all others by as much as they are alike, and no more.
// That is also why each device may answer in a single tree with all of its epsilon. The estimate is
// of one function, to which every tree's reports contribute, so dividing devices among trees adds
// no noise.
//
// How rough that function is, and how far public labels can be believed, is unknown and cannot be
// tuned on private rows. So nothing is tuned: all values of a grid are kept, each weighted by how
// well it explains reports and labels together (Bayesian model averaging; Hoeting and others 1999).
//
// In the coordinates of PooledBasis the class margin theta, the private sums and the public labels
// are all diagonal Gaussians. A fixed grid covers the roughness of theta, the trust in public
// labels (beta: 1 as in the private ones, 0 none, below 0 inverted) and their noise. The result
// averages over the grid, weighting each point by how well it explains both.
//
// The result is an ordinary forest. The values at its leaves add up: their mean over the trees is
// the prediction, as class probabilities (Model::additive()). Standard errors include the privacy
// noise. The time is linear in the rank of the basis for each of the 96 grid points, plus once the
// square of the public rows for the standard errors.
//
// Guarantee  post-processing of randomized sums and public rows: costs no privacy, may be repeated.
// Errors     InvalidArgument when shapes do not match.
// Source     Gaussian processes: Rasmussen and Williams 2006. The proximity of rows in a forest:
//            Breiman 2001; as a covariance: Davies and Ghahramani 2014. The model:
//            docs/research/mechanisms.md#pooled.

#ifndef COPPICE_SERVER_CURATOR_ESTIMATION_POOLED_POOLED_H_
#define COPPICE_SERVER_CURATOR_ESTIMATION_POOLED_POOLED_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "common/base/cancel_check.h"
#include "common/base/status.h"
#include "common/model/model.h"
#include "server/curator/estimation/counts/estimator.h"
#include "server/curator/estimation/pooled/pooled_basis.h"

namespace coppice::curator {

// The posterior weight of one value of a model parameter.
struct WeightedValue {
  double value = 0;
  double weight = 0;
};

// The model's view of its evidence.
struct PooledDiagnosis {
  std::vector<WeightedValue> beta;  // weight of the public labels against the private ones
  double effective_cells = 0;       // see PooledBasis
  double noise_per_report = 0;      // variance that the mechanism adds to a leaf's margin
  // The worth of the reports, in public rows drawn from the same population.
  double equivalent_rows = 0;

  // Says in one sentence whether public labels and reports agree.
  std::string InWords() const;
};

struct PooledFit {
  std::vector<std::vector<LeafPrediction>> leaves;  // leaves[tree][leaf]
  PooledDiagnosis diagnosis;
};

// `counts` has one entry per tree, in the forest's order.
StatusOr<PooledFit> EstimatePooled(const PooledBasis& basis, const Forest& forest,
                                   absl::Span<const PrivateCounts> counts, Evidence evidence,
                                   const CancelCheck& cancel = {});

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_ESTIMATION_POOLED_POOLED_H_
