#include "client/cli/studies/token_list.h"

#include <fstream>

#include "common/base/status.h"
#include "common/base/text.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_file.h"

namespace coppice::cli {
namespace {

using ::coppice::testing::StatusIs;
using ::coppice::testing::TempFile;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(TokenListTest, WhatIsWrittenIsRead) {
  const std::vector<std::string> tokens = {std::string(32, '\xff'), std::string(32, '\0')};
  const TempFile file(".txt", WriteTokenList(tokens));
  ASSERT_OK_AND_ASSIGN(const std::vector<std::string> read, ReadTokenList(file.path()));
  EXPECT_EQ(read, tokens);
}

TEST(TokenListTest, AByteOrderMarkIsSkipped) {
  const std::vector<std::string> tokens = {std::string(32, 'x'), std::string(32, 'y')};
  const TempFile file(".txt", "\xEF\xBB\xBF" + WriteTokenList(tokens));
  ASSERT_OK_AND_ASSIGN(const std::vector<std::string> read, ReadTokenList(file.path()));
  EXPECT_EQ(read, tokens);
}

TEST(TokenListTest, ALineThatIsNoTokenIsNamedAndNotShown) {
  const std::string good = WriteTokenList({std::string(32, 'x')});
  for (const char* line : {"", "s3cr3t", "!!!"}) {
    const TempFile file(".txt", StrCat(good, line, "\n"));
    EXPECT_THAT(
        ReadTokenList(file.path()),
        StatusIs(StatusCode::kInvalidArgument,
                 AllOf(HasSubstr(":2: is not a submission token"), Not(HasSubstr("s3cr3t")))));
  }
}

TEST(TokenListTest, NamesAMissingFile) {
  EXPECT_THAT(ReadTokenList("/none"), StatusIs(StatusCode::kNotFound, HasSubstr("/none")));
}

}  // namespace
}  // namespace coppice::cli
