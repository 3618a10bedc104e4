// A hash tree over a few byte strings, as in RFC 6962: one root for all, and for each a short path
// to it.
//
// A path has kMerkleHashBytes per hash, the leaf's sibling first, at most ceil(log2(leaves))
// hashes; its length follows from the place and the number of leaves.

#ifndef COPPICE_COMMON_TERMS_MERKLE_H_
#define COPPICE_COMMON_TERMS_MERKLE_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "absl/types/span.h"
#include "common/terms/sha256.h"

namespace coppice {

inline constexpr size_t kMerkleHashBytes = std::tuple_size_v<Sha256Digest>;

// Guarantee  another leaf, place or number of leaves that verifies under a root yields a collision
//            of SHA-256. Leaves and inner nodes are hashed differently (first byte 0 or 1), so
//            neither passes for the other.
// Errors     VerifyMerklePath() treats its input as hostile: false unless all of it fits.
// Source     RFC 6962, 2.1; verification RFC 9162, 2.1.3.2.
struct MerkleTree {
  Sha256Digest root{};
  std::vector<std::string> paths;  // one per leaf
};

MerkleTree MakeMerkleTree(absl::Span<const std::string> leaves);

// Computes the root of a tree whose leaves come one after another: the same as MakeMerkleTree()'s,
// in the memory of one hash per level.
//
// Threads    not thread-safe.
class MerkleRootStream {
 public:
  // A leaf is the concatenation of its parts.
  void Add(std::initializer_list<std::string_view> leaf);
  // The root of the leaves so far; more may follow.
  Sha256Digest Root() const;

 private:
  uint64_t leaves_ = 0;
  // Roots of the full trees that the leaves so far make, the largest first: one per set bit of
  // leaves_.
  std::vector<Sha256Digest> full_;
};

// Whether `leaf` is number `index` of the `count` leaves under `root`.
bool VerifyMerklePath(std::string_view leaf, uint32_t index, uint32_t count, std::string_view path,
                      const Sha256Digest& root);

}  // namespace coppice

#endif  // COPPICE_COMMON_TERMS_MERKLE_H_
