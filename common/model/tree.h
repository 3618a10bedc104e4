// The flat decision tree and the forest: leaf location and shape, no predictions.
//
// Nodes are in an array in preorder: a node, then its left subtree, then its right subtree.
// Create() accepts any order with children after their parent, and sorts them into this one, so
// equal trees have equal nodes. Leaves are numbered 0..num_leaves()-1 from left to right; that
// number is what a device's report is about.
//
// A numeric split sends a row left if value < threshold, a category split if value == category, a
// missing split if the value is missing. For a missing value, `missing_left` decides at the other
// splits, so every row has exactly one leaf. A partition is made from public rows only; nothing
// here is private.

#ifndef COPPICE_COMMON_MODEL_TREE_H_
#define COPPICE_COMMON_MODEL_TREE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "common/base/status.h"
#include "common/schema/schema.h"

namespace coppice {

enum class SplitKind : uint8_t { kLeaf, kNumeric, kCategory, kMissing };

struct Node {
  SplitKind kind = SplitKind::kLeaf;
  bool missing_left = false;  // whether a missing value goes left, for kNumeric and kCategory
  uint32_t feature = 0;       // not for kLeaf
  double threshold = 0;       // kNumeric: the cut. kCategory: the category's code.
  uint32_t left = 0;          // positions of the children, each greater than this node's own
  uint32_t right = 0;

  friend bool operator==(const Node&, const Node&) = default;
};

// Whether a row with this `value` of the split's feature goes left. Not for kLeaf.
inline bool GoesLeft(const Node& node, double value) {
  if (IsMissing(value)) return node.kind == SplitKind::kMissing || node.missing_left;
  return (node.kind == SplitKind::kNumeric && value < node.threshold) ||
         (node.kind == SplitKind::kCategory && value == node.threshold);
}

inline constexpr uint32_t kMaxNodes = 1u << 20;
inline constexpr uint32_t kMaxDepth = 64;  // maximum depth of a public partition
inline constexpr uint32_t kMaxModelDepth =
    512;  // of any tree: a split among many categories becomes a chain
inline constexpr uint32_t kNoParent = ~0u;

// Errors     Create() treats its input as hostile: InvalidArgument on any index, cycle, unreachable
//            node, feature, category, non-finite threshold or size out of range.
// Threads    immutable after Create(); safe to share.
// In a study of numbers: where the numbers of a leaf are expected. A device answers with the place
// of its number between half_range below its leaf's centre and half_range above it.
struct LeafCentres {
  std::vector<double> of_leaf;
  double half_range = 0;

  friend bool operator==(const LeafCentres&, const LeafCentres&) = default;
};

class Tree {
 public:
  // A partition with a single cell.
  static Tree SingleLeaf();
  static StatusOr<Tree> Create(std::vector<Node> nodes, const Schema& schema);
  // InvalidArgument unless Create() would make this tree with this schema, too.
  Status CheckFits(const Schema& schema) const;

  // This tree with centres. InvalidArgument unless there are as many as leaves, all are finite, and
  // the range is finite and positive.
  StatusOr<Tree> WithCentres(LeafCentres centres) const;
  // Nothing if numbers are expected in one range, whatever the leaf.
  const std::optional<LeafCentres>& centres() const { return centres_; }
  Tree WithoutCentres() const;

  uint32_t num_leaves() const { return static_cast<uint32_t>(leaf_nodes_.size()); }
  uint32_t depth() const { return max_depth_; }  // depth of the deepest leaf; the root has depth 0
  absl::Span<const Node> nodes() const { return nodes_; }

  // The leaf that `row` falls into. `row` must fit the schema that the tree was created with.
  uint32_t FindLeaf(RowView row) const;

  // Node positions from the root to the leaf of `row`, both included.
  std::vector<uint32_t> Path(RowView row) const;

  // Per node position: its parent (kNoParent at the root), its depth, and the half-open range of
  // the leaves below it.
  uint32_t parent(uint32_t node) const { return parents_[node]; }
  uint32_t node_depth(uint32_t node) const { return depths_[node]; }
  uint32_t first_leaf(uint32_t node) const { return first_leaf_[node]; }
  uint32_t end_leaf(uint32_t node) const { return end_leaf_[node]; }
  // Node position of a leaf.
  uint32_t leaf_node(uint32_t leaf) const { return leaf_nodes_[leaf]; }

  friend bool operator==(const Tree& a, const Tree& b) {
    return a.nodes_ == b.nodes_ && a.centres_ == b.centres_;
  }

 private:
  Tree() = default;
  void Index();  // computes the other members from nodes_

  std::vector<Node> nodes_;
  std::vector<uint32_t> parents_, depths_, first_leaf_, end_leaf_;
  std::vector<uint32_t> leaf_nodes_;
  std::optional<LeafCentres> centres_;
  uint32_t max_depth_ = 0;
};

// A study's partition: one tree (the paper's) or several.
using Forest = std::vector<Tree>;

}  // namespace coppice

#endif  // COPPICE_COMMON_MODEL_TREE_H_
