// From sums to a model, for any local mechanism: the paper's weighted estimator and LPCT-prune,
// tree by tree. The smooth estimator, which takes a forest as one, is in smooth.h.
//
// There is one TreeSums and one PublicCounts per tree of the forest, in its order. There may be any
// number K of classes. Prune is stated by the paper for two; for more, each class against the rest,
// and the node is chosen by the class with the largest statistic. Each tree is estimated on its own
// sums; Model::Predict() lets them vote.
//
// Guarantee  post-processing of randomized sums and public rows: costs no privacy, may be repeated.
// Errors     InvalidArgument when shapes do not match or lambda is negative or NaN.
// Source     Ma and Yang 2024, Algorithm 2; docs/research/mechanisms.md#estimator and #prune.

#ifndef COPPICE_SERVER_CURATOR_ESTIMATION_ESTIMATOR_H_
#define COPPICE_SERVER_CURATOR_ESTIMATION_ESTIMATOR_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/data/table.h"
#include "common/ldp/local_mechanism.h"
#include "common/tree/model.h"
#include "common/tree/tree.h"
#include "server/curator/partition/by_value.h"

namespace coppice::curator {

// What the curator holds of one tree: the sum of the reports that answered in it, and how many.
struct TreeSums {
  std::vector<int64_t> sums;
  uint64_t reports = 0;
};

// Public rows in the leaves of one tree. label[leaf * classes + k], all 0 of numbers.
struct PublicCounts {
  uint32_t classes = 0;
  std::vector<uint64_t> leaf;
  std::vector<uint64_t> label;
  // Where features are public: see ConsistentShares() in consistent_counts.h. Else empty.
  std::vector<double> consistent_share{};
};

// What reports about consistent leaves say beside their counts, one per leaf; consistent_counts.h.
struct ConsistentEvidence {
  std::vector<double> reports;   // that the leaf was consistent with
  std::vector<double> rows;      // of these, in the leaf by the public rows' share
  std::vector<double> variance;  // of the leaf's margin
};

// Unbiased estimates of one tree's private counts, and the noise in them. With no noise (all
// variances zero) they are exact counts, which only the lab has.
struct PrivateCounts {
  LeafCounts counts;
  std::vector<NoiseVariance> noise;  // one per class, per report
  uint64_t reports = 0;
  // Whether the sums say how many rows a leaf has; if not, the masses in `counts` are the public
  // rows', and only the margins between its classes are private.
  bool has_masses = true;
  // Set where features are public. For kSmooth alone.
  std::optional<ConsistentEvidence> consistent = std::nullopt;
};

PublicCounts CountPublicRows(const Tree& tree, const Table& public_rows);

// Where the mechanism gives margins only, the masses of the leaves are the public rows' shares of
// the reports. InvalidArgument if `sums` is not of `mechanism`'s size, or the public counts are of
// another tree.
absl::StatusOr<PrivateCounts> CountReports(const LocalMechanism& mechanism, const TreeSums& sums,
                                           const PublicCounts& public_counts);

enum class EstimatorKind { kWeighted, kPrune, kSmooth };
absl::StatusOr<EstimatorKind> ParseEstimator(absl::string_view name);  // "weighted", ...
absl::string_view EstimatorName(EstimatorKind kind);

// What kSmooth goes by: the public labels, the reports, or both.
enum class Evidence { kBoth, kReports, kPublic };
absl::StatusOr<Evidence> ParseEvidence(absl::string_view name);  // "both", "reports", "public"
absl::string_view EvidenceName(Evidence evidence);

struct EstimatorOptions {
  EstimatorKind kind = EstimatorKind::kWeighted;
  // Weight of a public row against a private one, for kWeighted: 0 is private only, infinity public
  // only.
  double lambda = 1;
  // For kPrune. The depth that the partition was asked for, which its constants are stated in (0:
  // the tree's own), and the depth at which the walk up ends.
  uint32_t max_depth = 0;
  uint32_t min_depth = 1;
  Evidence evidence = Evidence::kBoth;  // for kSmooth
  // For kSmooth: go by the reports with this public value alone. All reports if not set.
  std::optional<FeatureValue> where = std::nullopt;

  std::string ToString() const;  // "weighted lambda=1", "prune", "smooth where plan = gold"
};

// Predictions for the leaves of one tree. A leaf with nothing to go by has equal probabilities, an
// infinite standard error and label 0.
absl::StatusOr<std::vector<LeafPrediction>> EstimateTree(const Tree& tree,
                                                         const LocalMechanism& mechanism,
                                                         const TreeSums& sums,
                                                         const PublicCounts& public_counts,
                                                         const EstimatorOptions& options);

// The same on counts at hand: several estimates of one set of reports need only one count.
absl::StatusOr<std::vector<LeafPrediction>> EstimateTree(const Tree& tree,
                                                         const PrivateCounts& private_counts,
                                                         const PublicCounts& public_counts,
                                                         const EstimatorOptions& options);

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_ESTIMATION_ESTIMATOR_H_
