// Grows the public partition that devices answer about.
//
// Every input is public. The partition never depends on a private row: it is a function of public
// rows, the schema and the options alone. So it may be as fine, and as well fitted to the public
// labels, as one likes: what it costs is public rows' privacy, and no epsilon. Its rules:
//
//   max_edge         splits a cell at the midpoint of one of its longest edges (ties within 1e-12):
//                    the one with the largest reduction of the criterion
//   random_max_edge  one of the longest edges at random
//   cart             any feature and threshold, by the largest reduction
//   hybrid           as cart by entropy while that reduces anything, then by the widest spread of
//                    the features; it reads categories and missing values its own way, see
//                    hybrid_grower.h
//   random_cut       the best of one random cut per feature, breadth first
//                    (common/predictor/tree_grower.h)
//
// The edge rules make cells that are nearly cubes whatever the labels are: after p cuts in d
// features each side is about 2^(-p/d) of the whole, which is what the paper's rate of convergence
// rests on, and labels only break ties. cart follows the labels alone: it ignores useless features,
// and its best cells are better on real tables, but nothing is proved about it. hybrid does both,
// the one after the other. random_cut is for small trees that correct a predictor of their own
// (estimation/correction.h): what these trees are asked is where that predictor is wrong, and many
// trees that differ answer this better than trees that all follow the same few public labels.
//
// Edges are measured in the box of the public rows, scaled to [0,1] per feature; an edge with a
// single public value is never cut. A cell is not split if it has fewer than two public rows or if
// a side would hold fewer than `min_leaf` rows: another edge of the same length is tried then,
// never a shorter one. cart splits only where the criterion decreases. Ties go to the lower
// feature, then to the lower threshold or category.
//
// A category is split from the rest: under cart and max_edge the one with the largest reduction,
// under random_max_edge the most frequent. Its edge has length 1, then (remaining categories) /
// (all, with "other") on the side of the rest and 0 on the category's. The edge rules cut missing |
// present first, which leaves the edge's length. Where a side of that is below `min_leaf`, and
// under cart, missing values go where the reduction is larger; if no public row is missing, they go
// with most public rows.
//
// Several trees cost no epsilon: each device answers in one of them with all of its epsilon,
// and the pooled estimator pools the trees. What they buy is a finer notion of which rows are alike
// than one tree has, whose cells end abruptly at cuts that few public rows chose.
//
// A forest has more than one tree, each grown on a bootstrap of the public rows, in which min_leaf
// counts a row as often as it was drawn. The hybrid rule gives every second tree a random third of
// the features at each node.
//
// Guarantee  the same bytes for the same rows, options and seed, on any machine.
// Units      depth: the root has depth 0. min_leaf: public rows.
// Source     Ma and Yang 2024, Algorithm 1 and section 7.2; docs/research/mechanisms.md#partition.

#ifndef COPPICE_SERVER_CURATOR_PARTITION_PARTITION_H_
#define COPPICE_SERVER_CURATOR_PARTITION_PARTITION_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/cancel_check.h"
#include "common/base/public_random.h"
#include "common/base/status.h"
#include "common/model/tree.h"
#include "common/table/table.h"

namespace coppice::curator {

class HybridRows;  // hybrid_grower.h

enum class SplitRule { kMaxEdge, kRandomMaxEdge, kCart, kHybrid, kRandomCut };
enum class Criterion { kGini, kEntropy };

StatusOr<SplitRule> ParseSplitRule(std::string_view name);  // "max_edge", ...
std::string_view SplitRuleName(SplitRule rule);
StatusOr<Criterion> ParseCriterion(std::string_view name);  // "gini", "entropy"
std::string_view CriterionName(Criterion criterion);

struct PartitionOptions {
  SplitRule rule = SplitRule::kMaxEdge;
  Criterion criterion = Criterion::kGini;
  uint32_t max_depth = 6;  // 0..kMaxDepth
  uint32_t min_leaf = 1;   // at least 1
  uint32_t trees = 1;      // 1..1024; if more than one, each on a bootstrap of the public rows
  uint64_t seed = 1;       // public randomness: ties, random edges, bootstraps
  // Limits one tree by kHybrid (0: no limit) or kRandomCut, which needs it instead of max_depth: a
  // tree has fewer levels than leaves.
  uint32_t max_leaves = 0;
  // Only for kHybrid: if false, the partition is made from the features alone, for public rows with
  // missing or untrusted labels.
  bool use_labels = true;
  // There are no public rows, only those that stand for the schema (from_schema.h). Requires the
  // hybrid rule, or an edge rule, which then cuts the declared ranges, and no labels. A cell has no
  // rows to count, so min_leaf is used by the hybrid rule alone.
  bool from_schema = false;
  // A study's trees begin with the values of this public feature; empty: of none. The growers
  // ignore it: by_value.h puts the values in front of the grown trees.
  std::string by_feature{};

  friend bool operator==(const PartitionOptions&, const PartitionOptions&) = default;
};

// One tree of a forest by the hybrid rule, with its bag: how often each row was drawn.
struct BaggedTree {
  Tree tree;
  std::vector<uint32_t> drawn;
};
StatusOr<BaggedTree> GrowBaggedTree(const HybridRows& rows, const PartitionOptions& options,
                                    uint32_t tree, const CancelCheck& cancel = {});

// That bag again, of one tree among the options' trees: a function of its number, the seed and the
// number of rows. A single tree draws each row once.
std::vector<uint32_t> BagOf(size_t rows, const PartitionOptions& options, uint32_t tree);

// One tree by one of the other rules (grow_tree.cc). InvalidArgument if it would have more than
// kMaxNodes nodes.
StatusOr<Tree> GrowTree(const Table& public_rows, const PartitionOptions& options,
                        PublicRandom& random, const CancelCheck& cancel);

// InvalidArgument: options out of range, or no public row. Calls `cancel` before each cell.
StatusOr<Forest> GrowPartition(const Table& public_rows, const PartitionOptions& options,
                               const CancelCheck& cancel = {});

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_PARTITION_PARTITION_H_
