// Draws a pruned tree together: where all leaves below a node answer with the sums of one and the
// same ancestor, the node becomes a leaf.
//
// Guarantee  every row gets the same prediction as before.

#ifndef COPPICE_COMMON_TREE_COLLAPSE_H_
#define COPPICE_COMMON_TREE_COLLAPSE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "common/schema/schema.h"
#include "common/tree/model.h"
#include "common/tree/tree.h"

namespace coppice {

struct CollapsedTree {
  Tree tree;
  std::vector<LeafPrediction> leaves;  // source_node is a position in the new tree
};

// `leaves` has one prediction a leaf of `tree`, whose schema is `schema`.
absl::StatusOr<CollapsedTree> Collapse(const Tree& tree, const std::vector<LeafPrediction>& leaves,
                                       const Schema& schema);

}  // namespace coppice

#endif  // COPPICE_COMMON_TREE_COLLAPSE_H_
