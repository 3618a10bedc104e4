// Finds the leaf of every row of a table in one tree.

#ifndef COPPICE_SERVER_CURATOR_PARTITION_FIND_LEAVES_H_
#define COPPICE_SERVER_CURATOR_PARTITION_FIND_LEAVES_H_

#include <cstdint>
#include <vector>

#include "common/model/tree.h"
#include "common/table/table.h"

namespace coppice::curator {

// `rows` must fit the schema that the tree was created for.
std::vector<uint32_t> FindLeaves(const Tree& tree, const Table& rows);

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_PARTITION_FIND_LEAVES_H_
