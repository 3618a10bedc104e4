// The files of this folder, as the tree has them.

#ifndef COPPICE_TESTS_VECTORS_STORED_FILE_H_
#define COPPICE_TESTS_VECTORS_STORED_FILE_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "common/base/read_file.h"
#include "tests/vectors/vectors.h"

namespace coppice::vectors {

inline std::filesystem::path VectorsFolder() {
  return std::filesystem::path(std::getenv("COPPICE_SOURCE_DIR")) / "tests/vectors";
}

// Expects that the tree has the file as it was made; reports the first line that differs.
inline void ExpectStored(const VectorFile& made) {
  const auto stored = ReadFile((VectorsFolder() / made.name).string());
  ASSERT_TRUE(stored.ok()) << stored.status();
  const auto at = std::mismatch(stored->begin(), stored->end(), made.text.begin(), made.text.end());
  EXPECT_TRUE(*stored == made.text)
      << made.name << " differs from what the code makes, at line "
      << std::count(stored->begin(), at.first, '\n') + 1
      << "; if the change is meant, run make_vectors --output tests/vectors";
}

}  // namespace coppice::vectors

#endif  // COPPICE_TESTS_VECTORS_STORED_FILE_H_
