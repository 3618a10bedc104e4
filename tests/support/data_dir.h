// Finds the real data sets: in $COPPICE_DATA_DIR, else in ../shared/data next to the sources.

#ifndef COPPICE_TESTS_SUPPORT_DATA_DIR_H_
#define COPPICE_TESTS_SUPPORT_DATA_DIR_H_

#include <cstdlib>
#include <filesystem>
#include <string>

namespace coppice::testing {

// Returns the folder of the data set `name`, or "" if the data sets are not here.
inline std::string DataSet(const std::string& name) {
  const char* named = std::getenv("COPPICE_DATA_DIR");
  const char* sources = std::getenv("COPPICE_SOURCE_DIR");
  std::filesystem::path root;
  if (named != nullptr) {
    root = named;
  } else if (sources != nullptr) {
    root = std::filesystem::path(sources) / ".." / "shared" / "data";
  }
  const std::filesystem::path folder = root / name;
  return !root.empty() && std::filesystem::is_directory(folder) ? folder.string() : "";
}

}  // namespace coppice::testing

// Declares `folder` as the data set's folder, or skips the test.
#define COPPICE_NEEDS_DATA_SET(folder, name)                                              \
  const std::string folder = ::coppice::testing::DataSet(name);                           \
  if (folder.empty()) {                                                                   \
    GTEST_SKIP() << "no data set " << (name) << ": set COPPICE_DATA_DIR to their folder"; \
  }                                                                                       \
  static_assert(true)

#endif  // COPPICE_TESTS_SUPPORT_DATA_DIR_H_
