// The commands that describe a program which parses its own command line.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "common/base/text.h"
#include "common/command_line/reference.h"

namespace coppice {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

struct Answer {
  std::optional<int> code;
  std::string out, err;
};

// Runs RunReference() for a program with the flag --path and the command `token`.
Answer Ask(const std::vector<const char*>& words) {
  std::vector<const char*> argv = {"gate"};
  argv.insert(argv.end(), words.begin(), words.end());
  std::string path;
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  const std::optional<int> code =
      RunReference("gate", static_cast<int>(argv.size()), argv.data(), [&](CLI::App& app) {
        app.footer("gate --path /tmp");
        app.add_option("--path", path, "Where");
        app.add_subcommand("token", "Makes a token");
        app.add_subcommand("key", "Makes a key")->footer("gate key --new");
      });
  return {code, ::testing::internal::GetCapturedStdout(), ::testing::internal::GetCapturedStderr()};
}

TEST(RunReferenceTest, LeavesLinesOfFlagsToTheProgram) {
  EXPECT_EQ(Ask({}).code, std::nullopt);
  EXPECT_EQ(Ask({"--path", "manual"}).code, std::nullopt);
}

TEST(RunReferenceTest, PrintsTheManualAndCompletions) {
  const Answer manual = Ask({"manual"});
  EXPECT_EQ(manual.code, 0);
  EXPECT_THAT(manual.out, AllOf(HasSubstr(".TH GATE 1"), HasSubstr("gate " COPPICE_VERSION),
                                HasSubstr("Makes a token"), HasSubstr("path")));
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const Answer script = Ask({"completion", shell});
    EXPECT_EQ(script.code, 0);
    EXPECT_THAT(script.out, AllOf(HasSubstr("token"), HasSubstr("manual"), HasSubstr("path")));
  }
}

// CLI11 hands every command the program's.
TEST(RunReferenceTest, TheManualShowsTheProgramsExamplesOnce) {
  const std::vector<std::string> parts = StrSplit(Ask({"manual"}).out, "gate \\-\\-path /tmp");
  ASSERT_EQ(parts.size(), 2);
  EXPECT_THAT(parts[1], HasSubstr("gate key \\-\\-new"));
}

TEST(RunReferenceTest, AnswersAnyOtherWordWithWhatThereIs) {
  const auto complaint = [](const std::vector<const char*>& words) {
    const Answer answer = Ask(words);
    EXPECT_EQ(answer.code, 2);
    EXPECT_EQ(answer.out, "");
    return answer.err;
  };
  EXPECT_EQ(complaint({"tokne"}),
            "gate: unknown command \"tokne\"; did you mean \"token\"? See `gate --help`.\n");
  EXPECT_EQ(complaint({"frobnicate"}),
            "gate: unknown command \"frobnicate\"; there are token, key, completion, manual. See "
            "`gate --help`.\n");
  const std::string both =
      "gate: give `gate manual` alone, and `gate completion` one of bash, zsh, fish. See `gate "
      "--help`.\n";
  EXPECT_EQ(complaint({"completion"}), both);
  EXPECT_EQ(complaint({"completion", "csh"}), both);
  EXPECT_EQ(complaint({"manual", "bash"}), both);
}

}  // namespace
}  // namespace coppice
