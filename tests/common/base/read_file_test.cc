#include "common/base/read_file.h"

#include <fstream>
#include <string>

#include "common/base/status.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace coppice {
namespace {

using ::coppice::testing::StatusIs;
using ::coppice::testing::TempDir;
using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(ReadFileTest, ReadsEveryByte) {
  const TempDir dir;
  const std::string bytes("a\0\r\n\xff", 5);
  std::ofstream(dir.path() + "/file", std::ios::binary) << bytes;
  ASSERT_OK_AND_ASSIGN(const std::string read, ReadFile(dir.path() + "/file"));
  EXPECT_EQ(read, bytes);
}

TEST(ReadFileTest, WhatCannotBeReadSaysWhichFileAndWhy) {
  const TempDir dir;
  std::ofstream(dir.path() + "/empty").flush();
  const struct {
    std::string path;
    const char* why;
  } cases[] = {{dir.path() + "/none", "No such file"},
               {dir.path(), "Is a directory"},
               {dir.path() + "/empty", "it is empty"}};
  for (const auto& one : cases) {
    EXPECT_THAT(ReadFile(one.path), StatusIs(StatusCode::kNotFound,
                                             AllOf(HasSubstr(one.path), HasSubstr("cannot be read"),
                                                   HasSubstr(one.why))));
  }
}

TEST(ReadTextFileTest, SkipsAByteOrderMark) {
  const TempDir dir;
  const std::string path = dir.path() + "/file";
  for (const char* text : {"token\r\n", "\xEF\xBB\xBFtoken\r\n"}) {
    std::ofstream(path, std::ios::binary) << text;
    ASSERT_OK_AND_ASSIGN(const std::string read, ReadTextFile(path));
    EXPECT_EQ(read, "token\r\n");
  }
}

TEST(ReadTextFileTest, SaysThatAFileIsInUtf16) {
  const TempDir dir;
  const std::string path = dir.path() + "/file";
  for (const std::string& text : {std::string("\xFF\xFEt\0", 4), std::string("\xFE\xFF\0t", 4)}) {
    std::ofstream(path, std::ios::binary) << text;
    EXPECT_THAT(ReadTextFile(path),
                StatusIs(StatusCode::kInvalidArgument,
                         AllOf(HasSubstr(path), HasSubstr("save it as UTF-8"))));
  }
}

}  // namespace
}  // namespace coppice
