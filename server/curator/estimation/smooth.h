// The estimator with no knob: one closed-form model over all trees of a forest, public labels and
// randomized sums together.
//
// In the coordinates of SmoothBasis the class margin theta, the private sums and the public labels
// are all diagonal Gaussians. How rough theta is, how far the public labels can be trusted (beta: 1
// as the private ones, 0 nothing, below 0 inverted) and how noisy they are is averaged over a fixed
// grid, each point by how well it explains both.
//
// The result is an ordinary forest: values at the leaves that add up, as class probabilities whose
// mean over the trees is the prediction (Model::additive()), and their standard errors with the
// privacy noise in them. The time is linear in the rank of the basis for each of the 96 grid
// points, plus once the square of the public rows for the standard errors.
//
// Guarantee  post-processing of randomized sums and public rows: costs no privacy, may be repeated.
// Errors     InvalidArgument when shapes do not match.
// Source     docs/research/mechanisms.md#smooth.

#ifndef COPPICE_SERVER_CURATOR_ESTIMATION_SMOOTH_H_
#define COPPICE_SERVER_CURATOR_ESTIMATION_SMOOTH_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/base/cancel_check.h"
#include "common/tree/model.h"
#include "server/curator/estimation/estimator.h"
#include "server/curator/estimation/smooth_basis.h"

namespace coppice::curator {

// How likely a value of one of the model's parameters is, after all evidence.
struct WeightedValue {
  double value = 0;
  double weight = 0;
};

// What the model thinks of its evidence.
struct SmoothDiagnosis {
  std::vector<WeightedValue> beta;  // weight of the public labels against the private ones
  double effective_cells = 0;       // see SmoothBasis
  double noise_per_report = 0;      // variance that the mechanism adds to a leaf's margin
  // What the reports are worth, in public rows that were drawn like them.
  double equivalent_rows = 0;

  // Whether public labels and reports speak for each other, in a sentence.
  std::string InWords() const;
};

struct SmoothFit {
  std::vector<std::vector<LeafPrediction>> leaves;  // leaves[tree][leaf]
  SmoothDiagnosis diagnosis;
};

// Variance that one report adds to a leaf's margin, c (V_k - U / K) for the class k with the most,
// with c = K / sqrt(K - 1): for two classes, to their difference.
double MarginNoise(absl::Span<const NoiseVariance> noise);

// `counts` are one per tree, in the forest's order.
absl::StatusOr<SmoothFit> EstimateSmooth(const SmoothBasis& basis, const Forest& forest,
                                         absl::Span<const PrivateCounts> counts, Evidence evidence,
                                         const CancelCheck& cancel = {});

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_ESTIMATION_SMOOTH_H_
