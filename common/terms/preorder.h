// A tree as its columns in preorder, the form in which it is sent (coppice.v1.Tree).

#ifndef COPPICE_COMMON_TERMS_PREORDER_H_
#define COPPICE_COMMON_TERMS_PREORDER_H_

#include <cstdint>
#include <vector>

#include "common/base/status.h"
#include "common/model/tree.h"
#include "common/schema/schema.h"

namespace coppice {

// In preorder: a node, then its left subtree, then its right one. What only some nodes have is a
// column of its own, in the order of these nodes.
struct PreorderTree {
  std::vector<int32_t> kinds;        // of every node, with the numbers of coppice.v1.SplitKind
  std::vector<uint32_t> features;    // of splits
  std::vector<double> thresholds;    // of numeric splits
  std::vector<uint32_t> categories;  // of category splits
  std::vector<bool> missing_left;    // of numeric and category splits
};

// InvalidArgument, naming the column, unless the columns describe one tree that fits `schema`.
StatusOr<Tree> MakeTree(const PreorderTree& preorder, const Schema& schema);

}  // namespace coppice

#endif  // COPPICE_COMMON_TERMS_PREORDER_H_
