// Turns sums into a model, for any local mechanism: the paper's weighted estimator and LPCT-prune,
// tree by tree. The estimators pooled and smooth, which take a forest as one, are in pooled.h and
// correction.h.
//
// The weighted estimator answers in a leaf with a ratio: the rows of a class over all rows, private
// and public ones together, where each public row counts as lambda rows. Private sums are unbiased,
// so with many reports the ratio tends to the private share, but their noise is large. Public rows
// are few and exact, and of another population, whose majority is assumed to be the same (the
// paper's posterior drift). Lambda trades the noise of the ones for the bias of the others; 0 uses
// reports alone, infinity public rows alone. It has to be chosen, which cannot be done on private
// rows without paying: prune chooses one at each node from the sums, pooled needs none.
//
// There is one TreeSums and one PublicCounts per tree of the forest, in its order, and any number K
// of classes. The paper states prune for two; for more, each class is tested against the rest, and
// the one with the largest statistic chooses the node. Each tree is estimated on its own sums;
// Model::Predict() lets them vote.
//
// Guarantee  post-processing of randomized sums and public rows: costs no privacy, may be repeated.
// Errors     InvalidArgument when shapes do not match or lambda is negative or NaN.
// Source     Ma and Yang 2024, Algorithm 2; docs/research/mechanisms.md#estimator and #prune.

#ifndef COPPICE_SERVER_CURATOR_ESTIMATION_COUNTS_ESTIMATOR_H_
#define COPPICE_SERVER_CURATOR_ESTIMATION_COUNTS_ESTIMATOR_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/ldp/local_mechanism.h"
#include "common/model/model.h"
#include "common/model/tree.h"
#include "common/table/table.h"
#include "server/curator/partition/by_value.h"

namespace coppice::curator {

// The curator's data for one tree: the sum of the reports that answered in it, and their number.
struct TreeSums {
  std::vector<int64_t> sums;
  uint64_t reports = 0;
};

// Public rows in the leaves of one tree. label[leaf * classes + k]; all 0 for numbers.
struct PublicCounts {
  uint32_t classes = 0;
  std::vector<uint64_t> leaf;
  std::vector<uint64_t> label;
  // Set where features are public (see ConsistentShares() in consistent_counts.h), else empty.
  std::vector<double> consistent_share{};
};

// The evidence in reports about consistent leaves besides their counts; see consistent_counts.h.
struct ConsistentEvidence {
  std::vector<double> reports;   // reports that the leaf is consistent with
  std::vector<double> rows;      // of these reports, those in the leaf by the public rows' share
  std::vector<double> variance;  // variance of the leaf's margin
};

// Unbiased estimates of one tree's private counts, and their noise. Without noise (all variances
// zero) they are exact counts, which exist only in the lab.
struct PrivateCounts {
  LeafCounts counts;
  std::vector<NoiseVariance> noise;  // one per class, per report
  uint64_t reports = 0;
  // Whether the sums say how many rows a leaf has. If not, the masses in `counts` are the public
  // rows', and only the margins between a leaf's classes are private.
  bool has_masses = true;
  // Set where features are public. kPooled and kSmooth use it.
  std::optional<ConsistentEvidence> consistent = std::nullopt;
};

// Variance that one report adds to a leaf's margin c (V_k - U / K), for the class k with the most,
// with c = K / sqrt(K - 1). For two classes, the margin is their difference.
double MarginNoise(absl::Span<const NoiseVariance> noise);

PublicCounts CountPublicRows(const Tree& tree, const Table& public_rows);

// Where the mechanism gives margins only, the leaves' masses are the public rows' shares of the
// reports. InvalidArgument if `sums` does not have `mechanism`'s size or the public counts are of
// another tree.
StatusOr<PrivateCounts> CountReports(const LocalMechanism& mechanism, const TreeSums& sums,
                                     const PublicCounts& public_counts);

enum class EstimatorKind { kWeighted, kPrune, kPooled, kSmooth };
StatusOr<EstimatorKind> ParseEstimator(std::string_view name);  // "weighted", ...
std::string_view EstimatorName(EstimatorKind kind);

// Whether the estimator takes all trees as one.
inline bool TakesForest(EstimatorKind kind) {
  return kind == EstimatorKind::kPooled || kind == EstimatorKind::kSmooth;
}

// The evidence that such an estimator uses: the public labels, the reports, or both.
enum class Evidence { kBoth, kReports, kPublic };
StatusOr<Evidence> ParseEvidence(std::string_view name);  // "both", "reports", "public"
std::string_view EvidenceName(Evidence evidence);

struct EstimatorOptions {
  EstimatorKind kind = EstimatorKind::kWeighted;
  // Replaces `kind` by what suits the study (ChooseEstimator() in study_defaults.h). Only
  // Studies::BuildModel() looks at it.
  bool choose_kind = false;
  // For kWeighted: the weight of a public row against a private one. 0 is private only, infinity is
  // public only.
  double lambda = 1;
  // For kPrune: the depth that the partition was asked for, in which its constants are stated (0:
  // the tree's own), and the depth at which the walk up ends.
  uint32_t max_depth = 0;
  uint32_t min_depth = 1;
  Evidence evidence = Evidence::kBoth;  // for kPooled and kSmooth
  // For the same: use only the reports with this public value. All reports if unset.
  std::optional<FeatureValue> where = std::nullopt;
  // A larger model, as a message, is not kept; 0: any is. It changes nothing in the model.
  uint64_t most_bytes = 0;

  std::string ToString() const;  // "weighted lambda=1", "prune", "pooled where plan = gold"
};

// Predictions for the leaves of one tree. A leaf without evidence has equal probabilities, an
// infinite standard error and label 0.
StatusOr<std::vector<LeafPrediction>> EstimateTree(const Tree& tree,
                                                   const LocalMechanism& mechanism,
                                                   const TreeSums& sums,
                                                   const PublicCounts& public_counts,
                                                   const EstimatorOptions& options);

// The same from given counts, so that several estimates of one set of reports count only once.
StatusOr<std::vector<LeafPrediction>> EstimateTree(const Tree& tree,
                                                   const PrivateCounts& private_counts,
                                                   const PublicCounts& public_counts,
                                                   const EstimatorOptions& options);

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_ESTIMATION_COUNTS_ESTIMATOR_H_
