// A fresh folder for one test, removed with its contents when the test ends.

#ifndef COPPICE_TESTS_SUPPORT_TEMP_DIR_H_
#define COPPICE_TESTS_SUPPORT_TEMP_DIR_H_

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <string>
#include <system_error>

namespace coppice::testing {

class TempDir {
 public:
  TempDir() : path_(::testing::TempDir() + "coppice_XXXXXX") {
    if (mkdtemp(path_.data()) == nullptr) ADD_FAILURE() << "no temporary folder at " << path_;
  }
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_SUPPORT_TEMP_DIR_H_
