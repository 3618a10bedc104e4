// Trees of any number of leaves.

#ifndef COPPICE_TESTS_SUPPORT_FULL_TREE_H_
#define COPPICE_TESTS_SUPPORT_FULL_TREE_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "common/model/tree.h"
#include "common/schema/schema.h"

namespace coppice::testing {

// Makes 2^`levels` leaves. Every node compares the first feature, a number, with its lower bound.
inline Tree FullTree(uint32_t levels, const Schema& schema) {
  std::vector<Node> nodes((size_t{2} << levels) - 1);
  for (uint32_t i = 0; 2 * i + 2 < nodes.size(); ++i) {
    nodes[i].kind = SplitKind::kNumeric;
    nodes[i].threshold = schema.features()[0].min;
    nodes[i].left = 2 * i + 1;
    nodes[i].right = 2 * i + 2;
  }
  return *Tree::Create(std::move(nodes), schema);
}

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_SUPPORT_FULL_TREE_H_
