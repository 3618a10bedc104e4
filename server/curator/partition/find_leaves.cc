#include "server/curator/partition/find_leaves.h"

#include <cstddef>

namespace coppice::curator {

std::vector<uint32_t> FindLeaves(const Tree& tree, const Table& rows) {
  std::vector<uint32_t> leaves(rows.num_rows());
  Row row;
  for (size_t i = 0; i < leaves.size(); ++i) {
    rows.CopyRow(i, row);
    leaves[i] = tree.FindLeaf(row);
  }
  return leaves;
}

}  // namespace coppice::curator
