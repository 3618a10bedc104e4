// A tree as its columns in preorder, the shape in which it travels (coppice.v1.Tree).

#ifndef COPPICE_COMMON_STUDY_PREORDER_H_
#define COPPICE_COMMON_STUDY_PREORDER_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "common/schema/schema.h"
#include "common/tree/tree.h"

namespace coppice {

// A node, all that is left of it, all that is right of it. What only some nodes have is a column of
// its own, in the order of these nodes.
struct PreorderTree {
  std::vector<int32_t> kinds;        // of every node, by the numbers of coppice.v1.SplitKind
  std::vector<uint32_t> features;    // of splits
  std::vector<double> thresholds;    // of numeric splits
  std::vector<uint32_t> categories;  // of category splits
  std::vector<bool> missing_left;    // of numeric and category splits
};

// InvalidArgument, naming the column, unless the columns are those of one tree that fits `schema`.
absl::StatusOr<Tree> MakeTree(const PreorderTree& preorder, const Schema& schema);

}  // namespace coppice

#endif  // COPPICE_COMMON_STUDY_PREORDER_H_
