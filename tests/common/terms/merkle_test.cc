#include "common/terms/merkle.h"

#include <string>
#include <string_view>
#include <vector>

#include "common/base/text.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

std::string Hex(const Sha256Digest& digest) {
  return BytesToHexString(std::string(digest.begin(), digest.end()));
}

std::vector<std::string> Leaves(uint32_t count) {
  std::vector<std::string> leaves;
  for (uint32_t i = 0; i < count; ++i) leaves.push_back("leaf " + std::to_string(i));
  return leaves;
}

uint32_t CeilLog2(uint32_t count) {
  uint32_t height = 0;
  while ((1u << height) < count) ++height;
  return height;
}

// The certificate-transparency project's own vectors for RFC 6962.
TEST(MerkleTest, RootsOfTheReferenceVectors) {
  const std::vector<std::string> inputs = {"",
                                           HexStringToBytes("00"),
                                           HexStringToBytes("10"),
                                           HexStringToBytes("2021"),
                                           HexStringToBytes("3031"),
                                           HexStringToBytes("40414243"),
                                           HexStringToBytes("5051525354555657"),
                                           HexStringToBytes("606162636465666768696a6b6c6d6e6f")};
  const std::vector<std::string> roots = {
      "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
      "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
      "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
      "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
      "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
      "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
      "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
      "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
      "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328"};
  for (size_t count = 0; count <= inputs.size(); ++count) {
    const absl::Span<const std::string> leaves(inputs.data(), count);
    EXPECT_EQ(Hex(MakeMerkleTree(leaves).root), roots[count]) << count;
  }
}

TEST(MerkleTest, AStreamHasTheRootOfTheTree) {
  MerkleRootStream stream;
  EXPECT_EQ(stream.Root(), MakeMerkleTree({}).root);
  const std::vector<std::string> leaves = Leaves(70);
  for (size_t i = 0; i < leaves.size(); ++i) {
    stream.Add({leaves[i].substr(0, 3), "", leaves[i].substr(3)});
    EXPECT_EQ(stream.Root(), MakeMerkleTree(absl::MakeSpan(leaves).first(i + 1)).root) << i;
  }
}

TEST(MerkleTest, EveryLeafOfEverySizeVerifiesAtItsPlaceOnly) {
  for (uint32_t count = 1; count <= 33; ++count) {
    const std::vector<std::string> leaves = Leaves(count);
    const MerkleTree tree = MakeMerkleTree(leaves);
    ASSERT_EQ(tree.paths.size(), count);
    for (uint32_t i = 0; i < count; ++i) {
      EXPECT_LE(tree.paths[i].size(), CeilLog2(count) * kMerkleHashBytes);
      for (uint32_t j = 0; j < count + 2; ++j) {
        EXPECT_EQ(VerifyMerklePath(leaves[i], j, count, tree.paths[i], tree.root), i == j)
            << i << " as " << j << " of " << count;
      }
    }
  }
}

TEST(MerkleTest, AnotherLeafOrAnotherNumberOfLeavesDoesNotVerify) {
  const std::vector<std::string> leaves = Leaves(11);
  const MerkleTree tree = MakeMerkleTree(leaves);
  EXPECT_FALSE(VerifyMerklePath("leaf 4", 3, 11, tree.paths[3], tree.root));
  EXPECT_FALSE(VerifyMerklePath("", 3, 11, tree.paths[3], tree.root));
  EXPECT_FALSE(VerifyMerklePath(leaves[3], 3, 0, tree.paths[3], tree.root));
  EXPECT_FALSE(VerifyMerklePath(leaves[3], 3, 3, tree.paths[3], tree.root));
  EXPECT_FALSE(VerifyMerklePath(leaves[3], 3, 17, tree.paths[3], tree.root));
  EXPECT_FALSE(VerifyMerklePath(leaves[3], ~0u, ~0u, tree.paths[3], tree.root));
}

TEST(MerkleTest, APathTooShortTooLongOrCutDoesNotVerify) {
  const std::vector<std::string> leaves = Leaves(16);
  const MerkleTree tree = MakeMerkleTree(leaves);
  const std::string& path = tree.paths[5];
  ASSERT_EQ(path.size(), 4 * kMerkleHashBytes);
  for (size_t size = 0; size < path.size(); ++size) {
    EXPECT_FALSE(VerifyMerklePath(leaves[5], 5, 16, path.substr(0, size), tree.root)) << size;
  }
  EXPECT_FALSE(VerifyMerklePath(leaves[5], 5, 16, path + std::string(32, '\0'), tree.root));
  EXPECT_FALSE(VerifyMerklePath(leaves[5], 5, 16, path + std::string(1 << 20, 'x'), tree.root));
}

TEST(MerkleTest, AChangedBitAnywhereInThePathOrTheRootDoesNotVerify) {
  const std::vector<std::string> leaves = Leaves(7);
  const MerkleTree tree = MakeMerkleTree(leaves);
  for (size_t i = 0; i < tree.paths[2].size(); ++i) {
    std::string path = tree.paths[2];
    path[i] = static_cast<char>(path[i] ^ 1);
    EXPECT_FALSE(VerifyMerklePath(leaves[2], 2, 7, path, tree.root)) << i;
  }
  for (size_t i = 0; i < kMerkleHashBytes; ++i) {
    Sha256Digest root = tree.root;
    root[i] ^= 1;
    EXPECT_FALSE(VerifyMerklePath(leaves[2], 2, 7, tree.paths[2], root)) << i;
  }
}

// The classical attack on trees that hash leaves and nodes alike shows an inner node as a leaf.
TEST(MerkleTest, AnInnerNodeDoesNotPassForALeaf) {
  const std::vector<std::string> leaves = Leaves(4);
  const MerkleTree tree = MakeMerkleTree(leaves);
  const Sha256Digest first = Sha256({std::string_view("\0", 1), leaves[0]});
  const Sha256Digest second = Sha256({std::string_view("\0", 1), leaves[1]});
  const std::string node =
      std::string(first.begin(), first.end()) + std::string(second.begin(), second.end());
  const std::string path = tree.paths[0].substr(kMerkleHashBytes);
  EXPECT_FALSE(VerifyMerklePath(node, 0, 2, path, tree.root));
  EXPECT_FALSE(VerifyMerklePath("\1" + node, 0, 2, path, tree.root));
}

}  // namespace
}  // namespace coppice
