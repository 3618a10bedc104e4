#include "server/curator/studies/estimate_model.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/tree/collapse.h"
#include "server/curator/estimation/smooth.h"

namespace coppice {
namespace {

Certificate MakeCertificate(const StudyFacts& facts, const EstimatorOptions& options,
                            uint64_t reports) {
  const std::string mechanism(MechanismName(facts.terms->mechanism));
  const uint64_t epsilon_nanos = facts.terms->epsilon.nanos();
  return {.epsilon_nanos = epsilon_nanos,
          .releases = {{.what = "a device's one report: its leaf and label in one tree",
                        .mechanism = mechanism,
                        .epsilon_nanos = epsilon_nanos,
                        .times = 1,
                        .part = ""}},
          .mechanism = mechanism,
          .neighbouring = "any value of one device's row for any other (local)",
          .public_inputs = {"the schema: bounds, vocabularies and classes",
                            absl::StrCat("the ", facts.public_rows,
                                         " public rows, and the partition grown from them"),
                            "the number of reports"},
          .estimator = options.ToString(),
          .reports = reports,
          .public_rows = facts.public_rows,
          .fingerprint = ToHex(facts.fingerprint),
          .code_version = COPPICE_VERSION,
          .diagnosis = ""};
}

// Each tree on its own sums, drawn together where pruning left equal leaves.
absl::StatusOr<Model> EstimateTrees(const StudyFacts& facts, const StudyProgress& progress,
                                    const Table& public_rows, const EstimatorOptions& options,
                                    Certificate certificate, const CancelCheck& cancel) {
  EstimatorOptions of_partition = options;
  of_partition.max_depth = facts.partition.max_depth;
  Forest forest;
  std::vector<std::vector<LeafPrediction>> leaves;
  for (size_t t = 0; t < facts.mechanisms.size(); ++t) {
    COPPICE_RETURN_IF_ERROR(cancel());
    const Tree& tree = (*facts.forest)[t];
    COPPICE_ASSIGN_OR_RETURN(std::vector<LeafPrediction> of_tree,
                             EstimateTree(tree, *facts.mechanisms[t], *progress.sums[t],
                                          CountPublicRows(tree, public_rows), of_partition));
    COPPICE_ASSIGN_OR_RETURN(CollapsedTree pruned, Collapse(tree, of_tree, *facts.terms->schema));
    forest.push_back(std::move(pruned.tree));
    leaves.push_back(std::move(pruned.leaves));
  }
  return Model::Create(*facts.terms->schema, std::move(forest), std::move(leaves),
                       std::move(certificate));
}

// The forest as one.
absl::StatusOr<Model> EstimateForest(const StudyFacts& facts, const StudyProgress& progress,
                                     const Table& public_rows, const SmoothBasis& basis,
                                     const EstimatorOptions& options, Certificate certificate,
                                     const CancelCheck& cancel) {
  std::vector<PrivateCounts> counts;
  for (size_t t = 0; t < facts.mechanisms.size(); ++t) {
    COPPICE_RETURN_IF_ERROR(cancel());
    COPPICE_ASSIGN_OR_RETURN(counts.emplace_back(),
                             CountReports(*facts.mechanisms[t], *progress.sums[t],
                                          CountPublicRows((*facts.forest)[t], public_rows)));
  }
  const Forest& forest = *facts.forest;
  COPPICE_ASSIGN_OR_RETURN(SmoothFit fit,
                           EstimateSmooth(basis, forest, counts, options.evidence, cancel));
  if (options.evidence == Evidence::kBoth) certificate.diagnosis = fit.diagnosis.InWords();
  return Model::Create(*facts.terms->schema, forest, std::move(fit.leaves), std::move(certificate),
                       LeafKind::kAdditive);
}

}  // namespace

absl::StatusOr<Model> EstimateModel(const Study& study, const Table& public_rows,
                                    const SmoothBasis* basis, const EstimatorOptions& options,
                                    const CancelCheck& cancel) {
  const StudyFacts& facts = study.facts();
  const StudyProgress progress = study.Progress();
  uint64_t reports = 0;
  for (const SharedSums& sums : progress.sums) reports += sums->reports;
  Certificate certificate = MakeCertificate(facts, options, reports);
  if (options.kind == EstimatorKind::kSmooth) {
    return EstimateForest(facts, progress, public_rows, *basis, options, std::move(certificate),
                          cancel);
  }
  return EstimateTrees(facts, progress, public_rows, options, std::move(certificate), cancel);
}

}  // namespace coppice
