// A file with given contents, removed at the end of the scope.

#ifndef COPPICE_TESTS_SUPPORT_TEMP_FILE_H_
#define COPPICE_TESTS_SUPPORT_TEMP_FILE_H_

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <string_view>

#include "common/base/text.h"

namespace coppice::testing {

class TempFile {
 public:
  // `suffix` ends the name, for example ".csv".
  TempFile(std::string_view suffix, std::string_view contents) {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    path_ = StrCat(::testing::TempDir(), test->test_suite_name(), ".", test->name(), ".", getpid(),
                   ".", next_++, suffix);
    std::ofstream(path_, std::ios::binary) << contents;
  }
  ~TempFile() { std::remove(path_.c_str()); }
  TempFile(const TempFile&) = delete;
  TempFile& operator=(const TempFile&) = delete;

  const std::string& path() const { return path_; }

 private:
  static inline int next_ = 0;
  std::string path_;
};

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_SUPPORT_TEMP_FILE_H_
