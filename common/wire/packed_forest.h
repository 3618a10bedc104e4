// A study's forest as it travels: the bytes of each tree, and what ties them to the terms.
//
// Guarantee  what OpenTree() and OpenForest() return is, tree by tree, what the forest_root of the
//            terms stands for. A device with the terms' fingerprint can be given one forest only.
// Errors     Bytes from elsewhere are hostile. DataLoss if forest_root does not stand for them, and
//            InvalidArgument if it does but they are no tree, or none that fits the terms.

#ifndef COPPICE_COMMON_WIRE_PACKED_FOREST_H_
#define COPPICE_COMMON_WIRE_PACKED_FOREST_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/study/merkle.h"
#include "common/study/terms.h"

namespace coppice {

struct PackedForest {
  std::vector<std::string> trees;  // serialized v1.Tree messages, in the forest's order
  MerkleTree merkle;               // over these bytes
  // All trees as field `forest` of a GetOfferResponse: it may be put after the bytes of another.
  std::string as_field;
};

PackedForest PackForest(const Forest& forest);
// The same around bytes that are there already, whatever they are.
PackedForest PackTrees(std::vector<std::string> trees);

// Tree number `index`, from its bytes and its path.
absl::StatusOr<Tree> OpenTree(const Terms& terms, uint32_t index, absl::string_view tree,
                              absl::string_view path);
// All trees.
absl::StatusOr<Forest> OpenForest(const Terms& terms, const PackedForest& packed);

}  // namespace coppice

#endif  // COPPICE_COMMON_WIRE_PACKED_FOREST_H_
