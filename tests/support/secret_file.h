// Makes files of any mode with contents that nobody should print.

#ifndef COPPICE_TESTS_SUPPORT_SECRET_FILE_H_
#define COPPICE_TESTS_SUPPORT_SECRET_FILE_H_

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/temp_dir.h"

namespace coppice::testing {

// Writes "SECRET" into a file, and returns its path.
inline std::string MakeSecretFile(const TempDir& dir, const std::string& name, unsigned mode) {
  const std::string path = dir.path() + "/" + name;
  std::ofstream(path) << "SECRET\n";
  std::filesystem::permissions(path, static_cast<std::filesystem::perms>(mode));
  return path;
}

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_SUPPORT_SECRET_FILE_H_
