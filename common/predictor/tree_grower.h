// Grows one decision tree on public rows: the trees of the public predictor, and those that
// partition the rows of a study.
//
// A cell of rows is cut where its answers then differ most between the two sides: by the Gini
// criterion for classes, by squares for numbers. The best cut of every feature that is tried makes
// the most of few rows. A random cut, drawn uniformly between a feature's least and largest value
// in the cell, is worse for one tree and often better for the mean of many, since trees that err
// differently cancel each other's errors.
//
// A cut asks whether a number is below a threshold, or whether a category is the named one. A
// missing number counts as below all others, a missing category as a category of its own; either
// may be cut off from everything that is known. Features are tried in random order, and one that
// is constant in the cell does not count as tried. Cells are cut breadth first, so that a limit on
// the leaves keeps a tree level; a tree grown with a lower limit is the first part of one grown
// with a higher one.
//
// Each feature is sorted once for all trees. A tree keeps its rows in the order of every feature
// and divides these lists with its cells, so nothing is sorted, and nothing allocated, in a cell.
//
// Source     Breiman, Friedman, Olshen, Stone, "Classification and Regression Trees" (1984);
//            random cuts: Geurts, Ernst, Wehenkel, "Extremely randomized trees" (2006).

#ifndef COPPICE_COMMON_PREDICTOR_TREE_GROWER_H_
#define COPPICE_COMMON_PREDICTOR_TREE_GROWER_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "common/base/public_random.h"
#include "common/base/status.h"
#include "common/model/tree.h"
#include "common/table/table.h"

namespace coppice {

// The features of public rows, in the order that growers need them.
//
// Threads    immutable once made; safe to share.
class SortedFeatures {
 public:
  struct Column {
    bool is_numeric = false;
    // By row. A missing number is -infinity, a missing category follows "other".
    std::vector<double> values;
    std::vector<uint32_t> order;  // rows by rising value
  };

  // `rows` must outlive this.
  explicit SortedFeatures(const Table& rows);

  const Schema& schema() const { return rows_.schema(); }
  size_t num_rows() const { return rows_.num_rows(); }
  absl::Span<const Column> columns() const { return columns_; }

 private:
  const Table& rows_;
  std::vector<Column> columns_;
};

// What a tree is to tell apart, by row of the features: either classes or numbers.
struct TreeTargets {
  // For classes: one label per row, each below `classes`.
  absl::Span<const uint32_t> labels{};
  uint32_t classes = 0;
  // For numbers: `columns` numbers per row, one row after another.
  absl::Span<const double> numbers{};
  size_t columns = 0;

  bool are_classes() const { return !labels.empty(); }
};

enum class CutRule : uint8_t { kBest, kRandom };

inline constexpr uint32_t kNoLeafLimit = std::numeric_limits<uint32_t>::max();

struct GrowOptions {
  CutRule rule = CutRule::kBest;
  uint32_t features_per_cell = 1;  // how many are tried; more if none of these can be cut
  uint32_t min_rows = 1;           // of each side of a cut, repetitions counted
  uint32_t max_leaves = kNoLeafLimit;
};

// A tree as it was grown: nodes breadth first, so children stand next to each other and a tree that
// had stopped at L leaves is its first 2 L - 1 nodes.
struct GrownTree {
  std::vector<Node> nodes;
  // By row of the features: the position of its leaf; meaningless for rows that were not drawn.
  std::vector<uint32_t> leaf_of_row;

  uint32_t num_leaves() const { return static_cast<uint32_t>(nodes.size() + 1) / 2; }
};

struct GrowerMemory;

// Threads    one tree at a time; it keeps its memory from one tree to the next.
class TreeGrower {
 public:
  // `features` must outlive the grower.
  explicit TreeGrower(const SortedFeatures& features);
  ~TreeGrower();
  TreeGrower(const TreeGrower&) = delete;
  TreeGrower& operator=(const TreeGrower&) = delete;

  // `drawn[row]` is how often the row counts; at least one row must count.
  void Grow(const TreeTargets& targets, absl::Span<const uint32_t> drawn,
            const GrowOptions& options, PublicRandom& random, GrownTree& tree);

 private:
  const SortedFeatures& features_;
  const std::unique_ptr<GrowerMemory> memory_;
};

// Draws a bootstrap sample: as many rows as there are in `from`, with repetition. drawn[row] is how
// often the row was drawn; it has an entry for every row of the table.
void DrawBootstrap(absl::Span<const uint32_t> from, PublicRandom& random,
                   std::vector<uint32_t>& drawn);

// The tree in the form that is served and sent, with leaves numbered from left to right, and where
// each of these leaves stood among the grown nodes.
struct FinishedTree {
  Tree tree = Tree::SingleLeaf();
  std::vector<uint32_t> node_of_leaf;
};
// `grown` are the nodes of a GrownTree. `max_leaves` cuts the tree short, as if it had been grown
// with this limit.
StatusOr<FinishedTree> FinishTree(absl::Span<const Node> grown, const Schema& schema,
                                  uint32_t max_leaves = kNoLeafLimit);

// A leaf limit as a number of nodes: a grown tree's nodes from there on are cut off.
inline uint64_t NodesOfLeaves(uint32_t leaves) { return 2 * uint64_t{leaves} - 1; }

}  // namespace coppice

#endif  // COPPICE_COMMON_PREDICTOR_TREE_GROWER_H_
