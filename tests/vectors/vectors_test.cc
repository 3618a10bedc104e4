// The vectors in the tree are what the code makes today: whoever changes a byte that a device
// sends, signs or stores learns of it here, before other people's devices do.

#include "tests/vectors/vectors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>

#include "common/base/read_file.h"

namespace coppice::vectors {
namespace {

namespace fs = std::filesystem;

fs::path Folder() { return fs::path(std::getenv("COPPICE_SOURCE_DIR")) / "tests/vectors"; }

// The first line that differs, for a message that people can read.
std::string FirstDifference(const std::string& a, const std::string& b) {
  const auto [at, unused] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  const auto line = std::count(a.begin(), at, '\n') + 1;
  return "line " + std::to_string(line);
}

TEST(VectorsTest, FilesAreWhatTheCodeMakes) {
  for (const VectorFile& made : MakeAllVectors()) {
    const auto stored = ReadFile((Folder() / made.name).string());
    ASSERT_TRUE(stored.ok()) << stored.status();
    EXPECT_TRUE(*stored == made.text)
        << made.name << " differs from what the code makes, at "
        << FirstDifference(*stored, made.text)
        << "; if the change is meant, run make_vectors --output tests/vectors";
  }
}

TEST(VectorsTest, NoFileIsLeftOver) {
  std::set<std::string> made, stored;
  for (const VectorFile& file : MakeAllVectors()) made.insert(file.name);
  for (const auto& entry : fs::directory_iterator(Folder())) {
    if (entry.path().extension() == ".json") stored.insert(entry.path().filename());
  }
  EXPECT_EQ(made, stored);
}

TEST(VectorsTest, TheSameEveryTime) {
  const auto first = MakeAllVectors(), second = MakeAllVectors();
  for (size_t i = 0; i < first.size(); ++i) EXPECT_EQ(first[i].text, second[i].text);
}

}  // namespace
}  // namespace coppice::vectors
