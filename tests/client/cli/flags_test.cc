#include "client/cli/terminal/flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "common/base/read_file.h"
#include "common/base/status.h"
#include "tests/client/cli/run_coppice.h"
#include "tests/support/secret_file.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace coppice::cli {
namespace {

using ::coppice::testing::Outcome;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class OpenFilesTest : public ::testing::Test {
 protected:
  std::string Make(const std::string& name, unsigned mode) const {
    return testing::MakeSecretFile(dir_, name, mode);
  }
  // Runs a verb that cannot reach its server.
  static Outcome Run(const std::vector<std::string>& flags) {
    std::vector<std::string> line = {"study",       "list",      "--server",
                                     "127.0.0.1:1", "--timeout", "0.1"};
    line.insert(line.end(), flags.begin(), flags.end());
    return testing::RunCoppice(line);
  }

  testing::TempDir dir_;
};

TEST_F(OpenFilesTest, ATokenThatEverybodyMayReadIsWarnedOfAndNotShown) {
  const std::string token = Make("token", 0644);
  const Outcome open = Run({"--token-file", token});
  EXPECT_EQ(open.code, 1);
  EXPECT_THAT(open.err, AllOf(HasSubstr("warning"), HasSubstr("--token-file"), HasSubstr(token),
                              HasSubstr("chmod"), Not(HasSubstr("SECRET"))));
  EXPECT_EQ(open.out, "");
  EXPECT_THAT(Run({"--token-file", Make("token", 0640)}).err, Not(HasSubstr("warning")));
}

TEST_F(OpenFilesTest, APrivateKeyThatEverybodyMayReadIsWarnedOfAndACertificateIsNot) {
  const std::string cert = Make("device.crt", 0644), key = Make("device.key", 0604);
  EXPECT_THAT(Run({"--cert", cert, "--key", key}).err,
              AllOf(HasSubstr("warning"), HasSubstr(key + " (--key)"), Not(HasSubstr("(--cert)"))));
  EXPECT_THAT(Run({"--cert", cert, "--key", Make("device.key", 0600)}).err,
              Not(HasSubstr("warning")));
}

// Restores the tests' stdin at the end.
class StdinTest : public ::testing::Test {
 protected:
  void SetUp() override { before_ = dup(STDIN_FILENO); }
  void TearDown() override {
    dup2(before_, STDIN_FILENO);
    close(before_);
  }
  static void Pipe(const std::string& bytes) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    ASSERT_EQ(write(ends[1], bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    close(ends[1]);
    dup2(ends[0], STDIN_FILENO);
    close(ends[0]);
  }

  int before_ = -1;
};

TEST_F(StdinTest, AFileThatHasANameIsItself) {
  EXPECT_EQ(*InputFile("rows.csv", /*again=*/true), "rows.csv");
}

TEST_F(StdinTest, APipeCanBeReadOnceOrAgain) {
  Pipe("a,b\n");
  ASSERT_OK_AND_ASSIGN(const std::string once, InputFile("-"));
  EXPECT_EQ(*ReadFile(once), "a,b\n");
  Pipe("c,d\n");
  ASSERT_OK_AND_ASSIGN(const std::string again, InputFile("-", /*again=*/true));
  EXPECT_EQ(*ReadFile(again), "c,d\n");
  EXPECT_EQ(*ReadFile(again), "c,d\n");
}

TEST_F(StdinTest, WithoutRoomForACopyAPipeCannotBeReadAgain) {
  Pipe("a,b\n");
  setenv("TMPDIR", "/no/such/folder", 1);
  EXPECT_THAT(InputFile("-", /*again=*/true),
              testing::StatusIs(StatusCode::kUnavailable,
                                "cannot copy stdin to a temporary file: No such file or directory; "
                                "save it to a file and name that instead of -"));
  unsetenv("TMPDIR");
}

TEST(ListHintTest, AnUnknownIdIsAnsweredWithTheCommandThatListsThem) {
  EXPECT_THAT(WithHint(NotFoundError("there is no job j1 (request id 7)")),
              testing::StatusIs(StatusCode::kNotFound,
                                "there is no job j1 (request id 7); `coppice train list` lists "
                                "those there are"));
  EXPECT_EQ(WithHint(NotFoundError("x.csv: not there")).message(), "x.csv: not there");
  EXPECT_OK(WithHint(OkStatus()));
}

}  // namespace
}  // namespace coppice::cli
