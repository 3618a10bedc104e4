// A study's forest as it is sent: the bytes of each tree, and what ties them to the terms.
//
// Guarantee  what OpenForest() returns is, tree by tree, what the terms' forest_root
//            covers. A device with the terms' fingerprint accepts one forest only.
// Errors     Foreign bytes are hostile. DataLoss if forest_root does not cover them, and
//            InvalidArgument if it does but they are not a tree, or not one that fits the terms.

#ifndef COPPICE_COMMON_WIRE_PROTO_PACKED_FOREST_H_
#define COPPICE_COMMON_WIRE_PROTO_PACKED_FOREST_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/terms/merkle.h"
#include "common/terms/terms.h"

namespace coppice {

struct PackedForest {
  std::vector<std::string> trees;  // serialized v1.Tree messages, in the forest's order
  MerkleTree merkle;               // over these bytes
  // All trees as field `forest` of a GetOfferResponse, to append to the bytes of another response.
  std::string as_field;
  // Room for any of the trees, and for any of their paths, in an envelope
  // (common/terms/envelope.h).
  size_t longest_tree = 0;
  size_t longest_path = 0;
};

PackedForest PackForest(const Forest& forest);
// Packs existing bytes, whatever they are.
PackedForest PackTrees(std::vector<std::string> trees);

// Opens all trees.
StatusOr<Forest> OpenForest(const Terms& terms, const PackedForest& packed);

}  // namespace coppice

#endif  // COPPICE_COMMON_WIRE_PROTO_PACKED_FOREST_H_
