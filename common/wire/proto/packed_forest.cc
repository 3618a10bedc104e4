#include "common/wire/proto/packed_forest.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/terms/merkle.h"
#include "common/wire/field_error.h"
#include "common/wire/proto/convert.h"
#include "common/wire/terms.h"
#include "coppice/v1/study.pb.h"

namespace coppice {
PackedForest PackForest(const Forest& forest) {
  std::vector<std::string> trees;
  trees.reserve(forest.size());
  for (const Tree& tree : forest) trees.push_back(ToProto(tree).SerializeAsString());
  return PackTrees(std::move(trees));
}

PackedForest PackTrees(std::vector<std::string> trees) {
  MerkleTree merkle = MakeMerkleTree(trees);
  v1::GetOfferResponse response;
  response.mutable_forest()->Assign(trees.begin(), trees.end());
  PackedForest packed{.trees = std::move(trees),
                      .merkle = std::move(merkle),
                      .as_field = response.SerializeAsString()};
  for (const std::string& tree : packed.trees) {
    packed.longest_tree = std::max(packed.longest_tree, tree.size());
  }
  for (const std::string& path : packed.merkle.paths) {
    packed.longest_path = std::max(packed.longest_path, path.size());
  }
  return packed;
}

StatusOr<Forest> OpenForest(const Terms& terms, const PackedForest& packed) {
  if (packed.trees.size() != terms.trees || packed.merkle.root != terms.forest_root) {
    return DataLossError(StrCat("what was sent are not the ", terms.trees,
                                " trees that the terms of study ", terms.study, " stand for"));
  }
  Forest forest;
  forest.reserve(packed.trees.size());
  for (uint32_t t = 0; t < terms.trees; ++t) {
    StatusOr<Tree> tree = ReadStudyTree(packed.trees[t], terms);
    if (!tree.ok()) return InField(ElementName("forest.trees", t), tree.status());
    forest.push_back(*std::move(tree));
  }
  return forest;
}

}  // namespace coppice
