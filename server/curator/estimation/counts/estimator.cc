#include "server/curator/estimation/counts/estimator.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <string_view>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/terms/report_form.h"
#include "server/curator/estimation/counts/consistent_counts.h"
#include "server/curator/estimation/counts/node_evidence.h"
#include "server/curator/estimation/counts/prune.h"
#include "server/curator/partition/find_leaves.h"

namespace coppice::curator {
namespace {

// "a has b leaves and c classes, but the tree has d and the other counts e."
Status CheckShape(std::string_view what, size_t leaf, size_t label, uint32_t counted_classes,
                  const Tree& tree, uint32_t classes) {
  if (leaf == tree.num_leaves() && counted_classes == classes &&
      label == size_t{tree.num_leaves()} * classes) {
    return OkStatus();
  }
  return InvalidArgumentError(StrCat(what, " have ", leaf, " leaves and ", counted_classes,
                                     " classes; the tree has ", tree.num_leaves(),
                                     " leaves and the study ", classes, " classes"));
}

Status CheckInput(const Tree& tree, const PrivateCounts& private_counts,
                  const PublicCounts& public_counts, const EstimatorOptions& options) {
  const uint32_t classes = public_counts.classes;
  if (classes < 2) return InvalidArgumentError("public counts need at least two classes");
  COPPICE_RETURN_IF_ERROR(CheckShape("public counts", public_counts.leaf.size(),
                                     public_counts.label.size(), classes, tree, classes));
  const LeafCounts& counts = private_counts.counts;
  COPPICE_RETURN_IF_ERROR(CheckShape("private counts", counts.leaf.size(), counts.label.size(),
                                     counts.classes, tree, classes));
  if (private_counts.noise.size() != classes) {
    return InvalidArgumentError("private counts need one noise variance a class");
  }
  if (std::isnan(options.lambda) || options.lambda < 0) {
    return InvalidArgumentError("lambda must be 0 or more, or infinity for public rows only");
  }
  return OkStatus();
}

// Fills in masses where the sums have margins only: the public rows' shares, half a row per leaf.
void AddPublicMasses(const PublicCounts& public_counts, uint64_t reports, LeafCounts& counts) {
  const auto leaves = static_cast<double>(counts.leaf.size());
  const double rows = std::accumulate(public_counts.leaf.begin(), public_counts.leaf.end(), 0.0);
  for (size_t leaf = 0; leaf < counts.leaf.size(); ++leaf) {
    const double share =
        (static_cast<double>(public_counts.leaf[leaf]) + 0.5) / (rows + leaves / 2);
    counts.leaf[leaf] = share * static_cast<double>(reports);
    for (size_t k = 0; k < counts.classes; ++k) {
      counts.label[leaf * counts.classes + k] += counts.leaf[leaf] / counts.classes;
    }
  }
}

}  // namespace

StatusOr<EstimatorKind> ParseEstimator(std::string_view name) {
  for (const EstimatorKind kind : {EstimatorKind::kWeighted, EstimatorKind::kPrune,
                                   EstimatorKind::kPooled, EstimatorKind::kSmooth}) {
    if (name == EstimatorName(kind)) return kind;
  }
  return InvalidArgumentError(
      StrCat("unknown estimator '", name, "'; there are weighted, prune, pooled and smooth"));
}

std::string_view EstimatorName(EstimatorKind kind) {
  switch (kind) {
    case EstimatorKind::kWeighted:
      return "weighted";
    case EstimatorKind::kPrune:
      return "prune";
    case EstimatorKind::kPooled:
      return "pooled";
    case EstimatorKind::kSmooth:
      return "smooth";
  }
  return "";
}

StatusOr<Evidence> ParseEvidence(std::string_view name) {
  for (const Evidence evidence : {Evidence::kBoth, Evidence::kReports, Evidence::kPublic}) {
    if (name == EvidenceName(evidence)) return evidence;
  }
  return InvalidArgumentError("evidence must be both, reports or public");
}

std::string_view EvidenceName(Evidence evidence) {
  switch (evidence) {
    case Evidence::kBoth:
      return "both";
    case Evidence::kReports:
      return "reports";
    case Evidence::kPublic:
      return "public";
  }
  return "";
}

std::string EstimatorOptions::ToString() const {
  if (kind == EstimatorKind::kWeighted) return StrCat("weighted lambda=", lambda);
  if (TakesForest(kind)) {
    const std::string of_value = where ? StrCat(" where ", where->ToString()) : "";
    if (evidence == Evidence::kBoth) return StrCat(EstimatorName(kind), of_value);
    return StrCat(EstimatorName(kind), " evidence=", EvidenceName(evidence), of_value);
  }
  return min_depth == 1 ? "prune" : StrCat("prune min_depth=", min_depth);
}

double MarginNoise(absl::Span<const NoiseVariance> noise) {
  const auto classes = static_cast<double>(noise.size());
  double most = 0;
  for (const NoiseVariance& of_class : noise) {
    most = std::max(most, of_class.label + of_class.leaf / (classes * classes) -
                              2 * of_class.covariance / classes);
  }
  return classes * classes / (classes - 1) * most;
}

StatusOr<PrivateCounts> CountReports(const LocalMechanism& mechanism, const TreeSums& sums,
                                     const PublicCounts& public_counts) {
  if (sums.sums.size() != mechanism.sum_size()) {
    return InvalidArgumentError(StrCat("the sums have ", sums.sums.size(),
                                       " entries, but the mechanism keeps ", mechanism.sum_size()));
  }
  if (public_counts.leaf.size() != mechanism.domain().leaves) {
    return InvalidArgumentError(StrCat("the mechanism is for ", mechanism.domain().leaves,
                                       " leaves, the public counts for ",
                                       public_counts.leaf.size()));
  }
  PrivateCounts result;
  result.counts = mechanism.Estimate(sums.sums, sums.reports);
  result.reports = sums.reports;
  for (uint32_t k = 0; k < mechanism.domain().classes; ++k) {
    result.noise.push_back(mechanism.Variance(k));
  }
  result.has_masses = !mechanism.margins_only();
  if (!result.has_masses) AddPublicMasses(public_counts, sums.reports, result.counts);
  return result;
}

PublicCounts CountPublicRows(const Tree& tree, const Table& public_rows) {
  PublicCounts counts;
  counts.classes = public_rows.schema().num_outputs();
  counts.leaf.resize(tree.num_leaves());
  counts.label.resize(size_t{tree.num_leaves()} * counts.classes);
  const std::vector<uint32_t> leaf_of = FindLeaves(tree, public_rows);
  for (size_t i = 0; i < public_rows.num_rows(); ++i) {
    const size_t leaf = leaf_of[i];
    ++counts.leaf[leaf];
    if (public_rows.schema().target()) continue;  // a number has no class
    ++counts.label[leaf * counts.classes + public_rows.label(i)];
  }
  if (ReportForm::For(public_rows.schema()).ShowsSomething()) {
    counts.consistent_share = ConsistentShares(tree, public_rows, counts.leaf);
  }
  return counts;
}

StatusOr<std::vector<LeafPrediction>> EstimateTree(const Tree& tree,
                                                   const LocalMechanism& mechanism,
                                                   const TreeSums& sums,
                                                   const PublicCounts& public_counts,
                                                   const EstimatorOptions& options) {
  COPPICE_ASSIGN_OR_RETURN(const PrivateCounts private_counts,
                           CountReports(mechanism, sums, public_counts));
  return EstimateTree(tree, private_counts, public_counts, options);
}

StatusOr<std::vector<LeafPrediction>> EstimateTree(const Tree& tree,
                                                   const PrivateCounts& private_counts,
                                                   const PublicCounts& public_counts,
                                                   const EstimatorOptions& options) {
  COPPICE_RETURN_IF_ERROR(CheckInput(tree, private_counts, public_counts, options));
  if (TakesForest(options.kind)) {
    return InternalError("the estimator takes a forest, not a tree");
  }
  if (private_counts.consistent.has_value()) {
    return InvalidArgumentError(
        "a study with public features needs the pooled or the smooth estimator: weighted and "
        "prune count every "
        "report in every leaf");
  }
  const NodeTable nodes(tree, private_counts.counts, public_counts);
  const PrivateNoise noise = {.variance = private_counts.noise,
                              .reports = static_cast<double>(private_counts.reports)};
  if (options.kind == EstimatorKind::kPrune) {
    return PruneTree(tree, nodes, noise,
                     {.max_depth = options.max_depth, .min_depth = options.min_depth});
  }
  std::vector<LeafPrediction> result;
  result.reserve(tree.num_leaves());
  for (uint32_t leaf = 0; leaf < tree.num_leaves(); ++leaf) {
    const uint32_t node = tree.leaf_node(leaf);
    result.push_back(PredictNode(nodes.at(node), noise, options.lambda));
    result.back().source_node = node;
  }
  return result;
}

}  // namespace coppice::curator
