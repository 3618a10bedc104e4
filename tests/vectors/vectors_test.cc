// The vectors in the tree are what the code makes today: a change of any byte that a device sends,
// signs or stores shows here, before it reaches other people's devices.

#include "tests/vectors/vectors.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>

#include "tests/vectors/stored_file.h"

namespace coppice::vectors {
namespace {

TEST(VectorsTest, FilesAreWhatTheCodeMakes) {
  for (const VectorFile& made : MakeAllVectors()) ExpectStored(made);
}

TEST(VectorsTest, NoFileIsLeftOver) {
  std::set<std::string> made, stored;
  for (const VectorFile& file : MakeAllVectors()) made.insert(file.name);
  for (const auto& entry : std::filesystem::directory_iterator(VectorsFolder())) {
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
