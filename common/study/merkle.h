// A hash tree over a few byte strings, as in RFC 6962: one root for all, and for each a short path
// that leads to it.
//
// A path has kMerkleHashBytes per hash, the leaf's sibling first, at most ceil(log2(leaves))
// hashes; its length follows from the place and the number of leaves.

#ifndef COPPICE_COMMON_STUDY_MERKLE_H_
#define COPPICE_COMMON_STUDY_MERKLE_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/study/sha256.h"

namespace coppice {

inline constexpr size_t kMerkleHashBytes = std::tuple_size_v<Sha256Digest>;

// Guarantee  to find another leaf, place or number of leaves that verifies under a root is to have
//            found two inputs of the same SHA-256. Leaves and inner nodes are hashed apart (a first
//            byte of 0 and of 1), so neither passes for the other.
// Errors     Verify() treats its input as hostile and says no to whatever does not fit.
// Source     RFC 6962, 2.1; verification RFC 9162, 2.1.3.2.
struct MerkleTree {
  Sha256Digest root{};
  std::vector<std::string> paths;  // one per leaf
};

MerkleTree MakeMerkleTree(absl::Span<const std::string> leaves);

// The root of a tree whose leaves come one after another: the same as MakeMerkleTree() has, in the
// memory of one hash for each level.
//
// Threads    one at a time.
class MerkleRootStream {
 public:
  // A leaf is its parts, one after another.
  void Add(std::initializer_list<absl::string_view> leaf);
  // The root of the leaves so far; more may follow.
  Sha256Digest Root() const;

 private:
  uint64_t leaves_ = 0;
  // Roots of the full trees that the leaves so far make, the largest first: one for each bit that
  // is set in leaves_.
  std::vector<Sha256Digest> full_;
};

// Whether `leaf` is number `index` of the `count` leaves under `root`.
bool VerifyMerklePath(absl::string_view leaf, uint32_t index, uint32_t count,
                      absl::string_view path, const Sha256Digest& root);

}  // namespace coppice

#endif  // COPPICE_COMMON_STUDY_MERKLE_H_
