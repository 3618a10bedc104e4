#include "server/curator/partition/partition.h"

#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/public_random.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/predictor/tree_grower.h"
#include "server/curator/partition/from_schema.h"
#include "server/curator/partition/hybrid_grower.h"
#include "server/curator/partition/number_labels.h"

namespace coppice::curator {
namespace {

constexpr uint32_t kMaxTrees = 1024;

Status CheckOptions(const Table& public_rows, const PartitionOptions& options) {
  if (options.max_depth > kMaxDepth) {
    return InvalidArgumentError(StrCat("max_depth must be from 0 to ", kMaxDepth));
  }
  const bool needs_labels =
      options.rule == SplitRule::kCart || options.rule == SplitRule::kRandomCut;
  if (options.from_schema && (options.use_labels || needs_labels)) {
    return InvalidArgumentError(
        "a partition without public rows has no labels: use hybrid, max_edge or random_max_edge");
  }
  if (options.from_schema && options.rule == SplitRule::kMaxEdge && options.trees > 1) {
    return InvalidArgumentError(
        "max_edge without public rows grows the same tree each time: use random_max_edge");
  }
  if (options.rule != SplitRule::kHybrid && !options.use_labels && !options.from_schema) {
    return InvalidArgumentError("a partition without labels needs the hybrid rule");
  }
  const bool is_level = options.rule == SplitRule::kHybrid || options.rule == SplitRule::kRandomCut;
  if (!is_level && options.max_leaves != 0) {
    return InvalidArgumentError(
        "a limit on the leaves is for the rules hybrid and random_cut; limit max_depth");
  }
  if (!is_level && public_rows.schema().target() && options.use_labels) {
    return InvalidArgumentError("partitions for numbers need the rule hybrid or random_cut");
  }
  if (options.rule == SplitRule::kRandomCut) {
    if (options.max_leaves < 1 || options.max_leaves > kMaxDepth + 1) {
      return InvalidArgumentError(
          StrCat("random_cut needs a limit on the leaves, max_leaves, from 1 to ", kMaxDepth + 1));
    }
    if (options.max_depth != kMaxDepth) {
      return InvalidArgumentError(
          "max_depth is not for random_cut, whose trees max_leaves limits: leave it out");
    }
  }
  if (options.min_leaf < 1) return InvalidArgumentError("min_leaf must be at least 1");
  if (options.trees < 1 || options.trees > kMaxTrees) {
    return InvalidArgumentError(StrCat("trees must be from 1 to ", kMaxTrees));
  }
  if (public_rows.num_rows() == 0) {
    return InvalidArgumentError("a partition needs at least one public row");
  }
  if (public_rows.num_rows() > std::numeric_limits<uint32_t>::max()) {
    return InvalidArgumentError("a partition takes fewer than 2^32 public rows");
  }
  return OkStatus();
}

std::vector<uint32_t> DrawBag(size_t rows, const PartitionOptions& options, PublicRandom& random) {
  std::vector<uint32_t> drawn(rows, options.trees > 1 ? 0 : 1);
  if (options.trees == 1) return drawn;
  for (size_t i = 0; i < rows; ++i) ++drawn[random.Below(rows)];
  return drawn;
}

Table Bootstrap(const Table& rows, PublicRandom& random) {
  std::vector<size_t> drawn(rows.num_rows());
  for (size_t& row : drawn) row = random.Below(rows.num_rows());
  return rows.Select(drawn);
}

StatusOr<Tree> GrowOne(const Table& public_rows, const PartitionOptions& options,
                       PublicRandom& random, const CancelCheck& cancel) {
  if (options.from_schema) {
    return GrowTreeFromSchema(public_rows.schema(), options, random, cancel);
  }
  if (options.trees == 1) return GrowTree(public_rows, options, random, cancel);
  return GrowTree(Bootstrap(public_rows, random), options, random, cancel);
}

StatusOr<Forest> GrowHybrid(const Table& public_rows, const PartitionOptions& options,
                            const CancelCheck& cancel) {
  const HybridRows rows(public_rows, options.use_labels);
  Forest forest;
  for (uint32_t t = 0; t < options.trees; ++t) {
    COPPICE_ASSIGN_OR_RETURN(BaggedTree grown, GrowBaggedTree(rows, options, t, cancel));
    forest.push_back(std::move(grown.tree));
  }
  return forest;
}

// The places of numbers in their range; empty for classes.
std::vector<double> PlacesOf(const Table& rows) {
  std::vector<double> places;
  if (!rows.schema().target()) return places;
  for (size_t i = 0; i < rows.num_rows(); ++i) places.push_back(PlaceOf(rows, i));
  return places;
}

StatusOr<Forest> GrowByRandomCuts(const Table& public_rows, const PartitionOptions& options,
                                  const CancelCheck& cancel) {
  const SortedFeatures features(public_rows);
  const std::vector<double> places = PlacesOf(public_rows);
  const std::vector<uint32_t> labels(public_rows.labels().begin(), public_rows.labels().end());
  TreeTargets targets{.numbers = places, .columns = 1};
  if (places.empty()) targets = {.labels = labels, .classes = public_rows.schema().num_classes()};
  const GrowOptions grow = {
      .rule = CutRule::kRandom,
      .features_per_cell = static_cast<uint32_t>(public_rows.schema().num_features()),
      .min_rows = options.min_leaf,
      .max_leaves = options.max_leaves};
  TreeGrower grower(features);
  GrownTree grown;
  Forest forest;
  for (uint32_t t = 0; t < options.trees; ++t) {
    COPPICE_RETURN_IF_ERROR(cancel());
    PublicRandom random(options.seed, t);
    const std::vector<uint32_t> bag = DrawBag(public_rows.num_rows(), options, random);
    grower.Grow(targets, bag, grow, random, grown);
    COPPICE_ASSIGN_OR_RETURN(FinishedTree tree, FinishTree(grown.nodes, public_rows.schema()));
    forest.push_back(std::move(tree.tree));
  }
  return forest;
}

}  // namespace

StatusOr<SplitRule> ParseSplitRule(std::string_view name) {
  for (const SplitRule rule : {SplitRule::kMaxEdge, SplitRule::kRandomMaxEdge, SplitRule::kCart,
                               SplitRule::kHybrid, SplitRule::kRandomCut}) {
    if (name == SplitRuleName(rule)) return rule;
  }
  return InvalidArgumentError(
      "split rule must be max_edge, random_max_edge, cart, hybrid or random_cut");
}

std::string_view SplitRuleName(SplitRule rule) {
  switch (rule) {
    case SplitRule::kMaxEdge:
      return "max_edge";
    case SplitRule::kRandomMaxEdge:
      return "random_max_edge";
    case SplitRule::kCart:
      return "cart";
    case SplitRule::kHybrid:
      return "hybrid";
    case SplitRule::kRandomCut:
      return "random_cut";
  }
  return "";
}

StatusOr<Criterion> ParseCriterion(std::string_view name) {
  for (const Criterion criterion : {Criterion::kGini, Criterion::kEntropy}) {
    if (name == CriterionName(criterion)) return criterion;
  }
  return InvalidArgumentError("criterion must be gini or entropy");
}

std::string_view CriterionName(Criterion criterion) {
  switch (criterion) {
    case Criterion::kGini:
      return "gini";
    case Criterion::kEntropy:
      return "entropy";
  }
  return "";
}

std::vector<uint32_t> BagOf(size_t rows, const PartitionOptions& options, uint32_t tree) {
  PublicRandom random(options.seed, tree);
  return DrawBag(rows, options, random);
}

StatusOr<BaggedTree> GrowBaggedTree(const HybridRows& rows, const PartitionOptions& options,
                                    uint32_t tree, const CancelCheck& cancel) {
  PublicRandom random(options.seed, tree);
  std::vector<uint32_t> drawn = DrawBag(rows.num_rows(), options, random);
  const HybridOptions of_tree = {.max_depth = options.max_depth,
                                 .min_leaf = options.min_leaf,
                                 .max_leaves = options.max_leaves,
                                 .few_features = tree % 2 == 1};
  COPPICE_ASSIGN_OR_RETURN(Tree grown, GrowHybridTree(rows, drawn, of_tree, random, cancel));
  return BaggedTree{.tree = std::move(grown), .drawn = std::move(drawn)};
}

StatusOr<Forest> GrowPartition(const Table& public_rows, const PartitionOptions& options,
                               const CancelCheck& cancel) {
  COPPICE_RETURN_IF_ERROR(CheckOptions(public_rows, options));
  if (options.rule == SplitRule::kRandomCut) return GrowByRandomCuts(public_rows, options, cancel);
  if (options.rule == SplitRule::kHybrid) return GrowHybrid(public_rows, options, cancel);
  Forest forest;
  for (uint32_t t = 0; t < options.trees; ++t) {
    PublicRandom random(options.seed, t);
    COPPICE_ASSIGN_OR_RETURN(Tree tree, GrowOne(public_rows, options, random, cancel));
    forest.push_back(std::move(tree));
  }
  return forest;
}

}  // namespace coppice::curator
