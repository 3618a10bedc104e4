#include "server/curator/estimation/planning/study_defaults.h"

#include "server/curator/partition/forest_size.h"

namespace coppice::curator {
namespace {

constexpr uint32_t kDefaultDepth = 6;  // of a single tree, as in the paper
constexpr uint32_t kDefaultMinLeaf = 1;
constexpr uint64_t kDefaultSeed = 1;  // public: the same request makes the same partition

SplitRule ChooseRule(const PartitionRequest& request) {
  if (request.rule.has_value()) return *request.rule;
  if (!request.use_labels) return SplitRule::kHybrid;
  if (request.max_depth || request.min_leaf || request.trees) return SplitRule::kMaxEdge;
  // A model of one value's reports would be corrected towards public rows of all values.
  const bool corrects = !request.from_schema && request.by_feature.empty();
  return corrects ? SplitRule::kRandomCut : SplitRule::kHybrid;
}

// Whether a rule makes forests whose size public rows decide.
bool IsForForests(SplitRule rule) {
  return rule == SplitRule::kHybrid || rule == SplitRule::kRandomCut;
}

uint32_t ChooseTrees(SplitRule rule, bool use_labels) {
  if (!IsForForests(rule)) return 1;
  return use_labels ? kForestTrees : kForestTreesWithoutLabels;
}

}  // namespace

PartitionChoice ChoosePartition(const PartitionRequest& request) {
  const SplitRule rule = ChooseRule(request);
  const bool is_hybrid = rule == SplitRule::kHybrid;
  const bool is_small = rule == SplitRule::kRandomCut;
  const uint32_t depth = is_small ? kMaxDepth : kDefaultDepth;
  const uint32_t leaves =
      is_small && request.max_leaves == 0 ? kCorrectionLeaves : request.max_leaves;
  const PartitionOptions options = {
      .rule = rule,
      // The hybrid rule knows entropy alone.
      .criterion = is_hybrid ? Criterion::kEntropy : request.criterion.value_or(Criterion::kGini),
      .max_depth = request.max_depth.value_or(depth),
      .min_leaf = request.min_leaf.value_or(kDefaultMinLeaf),
      .trees = request.trees.value_or(ChooseTrees(rule, request.use_labels)),
      .seed = request.seed.value_or(kDefaultSeed),
      .max_leaves = leaves,
      .use_labels = request.use_labels,
      .from_schema = request.from_schema,
      .by_feature = request.by_feature};
  return {.options = options,
          .choose_size = IsForForests(rule) && !request.max_depth && !request.min_leaf};
}

EstimatorKind ChooseEstimator(const PartitionOptions& partition) {
  return partition.rule == SplitRule::kRandomCut ? EstimatorKind::kSmooth : EstimatorKind::kPooled;
}

}  // namespace coppice::curator
