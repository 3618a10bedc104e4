// The leaves that a row can be in, as far as its public features say.

#ifndef COPPICE_COMMON_TREE_CONSISTENT_LEAVES_H_
#define COPPICE_COMMON_TREE_CONSISTENT_LEAVES_H_

#include <cstdint>
#include <vector>

#include "common/schema/schema.h"
#include "common/tree/tree.h"

namespace coppice {

// The consistent set of `row`, rising: at a split of a public feature the walk follows the row, at
// one of a private feature both sides. Never empty; all leaves if no feature is public, one if all
// are.
//
// Guarantee  a function of the tree and of the row's public values alone: private ones are not
// read.
std::vector<uint32_t> ConsistentLeaves(const Tree& tree, const Schema& schema, RowView row);

// The public features that the walk of some row asks about, rising.
std::vector<uint32_t> PublicFeaturesOf(const Tree& tree, const Schema& schema);

}  // namespace coppice

#endif  // COPPICE_COMMON_TREE_CONSISTENT_LEAVES_H_
