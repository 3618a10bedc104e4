#include "common/terms/merkle.h"

#include <bit>
#include <string_view>

#include "common/base/part_of.h"
#include "common/base/text.h"

namespace coppice {
namespace {

constexpr std::string_view kLeafPrefix("\0", 1);
constexpr std::string_view kNodePrefix("\1", 1);

Sha256Digest HashLeaf(std::string_view leaf) { return Sha256({kLeafPrefix, leaf}); }

Sha256Digest HashNode(std::string_view left, std::string_view right) {
  return Sha256({kNodePrefix, left, right});
}

// Returns the root of `leaves`, and appends to their `paths`, complete below this root, the last
// hash.
Sha256Digest Climb(absl::Span<const std::string> leaves, absl::Span<std::string> paths) {
  if (leaves.empty()) return Sha256({});
  if (leaves.size() == 1) return HashLeaf(leaves[0]);
  const size_t split = std::bit_floor(leaves.size() - 1);  // the largest power of two below
  const std::string left(AsBytes(Climb(PartOf(leaves, 0, split), PartOf(paths, 0, split))));
  const std::string right(AsBytes(Climb(PartOf(leaves, split), PartOf(paths, split))));
  for (size_t i = 0; i < paths.size(); ++i) paths[i] += i < split ? right : left;
  return HashNode(left, right);
}

}  // namespace

MerkleTree MakeMerkleTree(absl::Span<const std::string> leaves) {
  MerkleTree tree;
  tree.paths.resize(leaves.size());
  tree.root = Climb(leaves, absl::MakeSpan(tree.paths));
  return tree;
}

void MerkleRootStream::Add(std::initializer_list<std::string_view> leaf) {
  Sha256Stream hash;
  hash.Add(kLeafPrefix);
  for (const std::string_view part : leaf) hash.Add(part);
  Sha256Digest node = hash.Finish();
  // Like a carry through the bits of a counter: two full trees of one size become the next.
  for (uint64_t bits = leaves_; bits % 2 == 1; bits /= 2) {
    node = HashNode(AsBytes(full_.back()), AsBytes(node));
    full_.pop_back();
  }
  full_.push_back(node);
  ++leaves_;
}

Sha256Digest MerkleRootStream::Root() const {
  if (full_.empty()) return Sha256({});
  Sha256Digest root = full_.back();
  for (size_t i = full_.size() - 1; i > 0; --i) {
    root = HashNode(AsBytes(full_[i - 1]), AsBytes(root));
  }
  return root;
}

bool VerifyMerklePath(std::string_view leaf, uint32_t index, uint32_t count, std::string_view path,
                      const Sha256Digest& root) {
  if (index >= count || path.size() % kMerkleHashBytes != 0) return false;
  Sha256Digest hash = HashLeaf(leaf);
  // Goes up level by level with the places of this node and of the last one.
  uint32_t at = index;
  uint32_t last = count - 1;
  for (; !path.empty(); path.remove_prefix(kMerkleHashBytes)) {
    if (last == 0) return false;  // the path is longer than the tree is high
    const std::string_view sibling = path.substr(0, kMerkleHashBytes);
    if (at % 2 == 1 || at == last) {
      hash = HashNode(sibling, AsBytes(hash));
      // A last node on the left has no sibling: it is its own parent until it is on the right.
      while (at % 2 == 0 && at != 0) {
        at /= 2;
        last /= 2;
      }
    } else {
      hash = HashNode(AsBytes(hash), sibling);
    }
    at /= 2;
    last /= 2;
  }
  return last == 0 && hash == root;
}

}  // namespace coppice
