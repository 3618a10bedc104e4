#include "client/cli/app.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

namespace coppice {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct Outcome {
  int code;
  std::string out, err;
};

Outcome RunCoppice(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "coppice");
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  const int code = RunCommandLine(static_cast<int>(arguments.size()), arguments.data());
  return {code, ::testing::internal::GetCapturedStdout(), ::testing::internal::GetCapturedStderr()};
}

class AppTest : public ::testing::Test {
 protected:
  void SetUp() override {
    unsetenv("COPPICE_SERVER");
    unsetenv("COPPICE_CA");
  }
};

TEST_F(AppTest, HelpAndVersionSucceedOnStdout) {
  const Outcome version = RunCoppice({"--version"});
  EXPECT_EQ(version.code, 0);
  EXPECT_THAT(version.out, HasSubstr("coppice " COPPICE_VERSION));
  EXPECT_THAT(version.err, IsEmpty());
  const Outcome help = RunCoppice({"study", "create", "--help"});
  EXPECT_EQ(help.code, 0);
  EXPECT_THAT(help.out, AllOf(HasSubstr("Example:"), HasSubstr("--epsilon")));
}

TEST_F(AppTest, WrongUsageNamesTheFlagAndWhatItWants) {
  struct Case {
    std::vector<const char*> arguments;
    const char *flag, *wants;
  };
  const std::vector<Case> cases = {
      {{"study", "show", "--study", "s1"}, "--server", "required"},
      {{"study", "show", "--study", "S/1", "--server", "a:1"}, "--study", "1 to 63"},
      {{"study", "show", "--study", "s1", "--server", "nowhere"}, "--server", "HOST:PORT"},
      {{"study", "show", "--study", "s1", "--server", "a:1", "--insecure"},
       "--insecure",
       "loopback"},
      {{"study", "show", "--study", "s1", "--server", "a:1", "--cert", "c"}, "--key", "together"},
      {{"study", "delete", "--study", "s1", "--server", "a:1"}, "--yes", "required"},
      {{"study", "create", "--server", "a:1", "--public", "p", "--schema", "s", "--epsilon", "21"},
       "--epsilon",
       "0.01 to 20"},
      {{"study", "create", "--mechanism", "magic"}, "--mechanism", "laplace_split"},
      {{"model", "build", "--server", "a:1", "--study", "s1", "--lambda", "-1"}, "--lambda", "inf"},
      {{"model", "build", "--server", "a:1", "--study", "s1", "--estimator", "prune", "--lambda",
        "1"},
       "--lambda",
       "weighted"},
      {{"model", "build", "--server", "a:1", "--study", "s1", "--lambda", "1", "--evidence",
        "public"},
       "--evidence",
       "smooth"},
      {{"model", "predict", "--server", "a:1", "--model", "m", "--data", "d", "--abstain-below",
        "0.4"},
       "--abstain-below",
       "0.5"},
      {{"model", "show", "--model", "m", "--server", "a:1", "--format", "pdf"}, "--format", "svg"},
      {{"collect", "history", "--journal", "/no/such/file"}, "--journal", "not exist"},
      {{"collect", "simulate", "--study", "s1", "--data", "d", "--server", "a:1", "--batch", "0"},
       "--batch",
       "1 to 1000"},
      {{"study", "show", "--frobnicate"}, "--", "required"},
      {{}, "subcommand", "required"},
  };
  for (const Case& wrong : cases) {
    const Outcome outcome = RunCoppice(wrong.arguments);
    EXPECT_EQ(outcome.code, 2) << outcome.err;
    EXPECT_THAT(outcome.err, AllOf(HasSubstr(wrong.flag), HasSubstr(wrong.wants)));
    EXPECT_THAT(outcome.out, IsEmpty());
  }
}

TEST_F(AppTest, ServerMayComeFromTheEnvironment) {
  setenv("COPPICE_SERVER", "127.0.0.1:1", 1);
  setenv("COPPICE_CA", "/not/used/without/tls", 1);
  const Outcome outcome = RunCoppice({"study", "list", "--insecure", "--json"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("nobody answers at 127.0.0.1:1"));
  EXPECT_THAT(outcome.out, IsEmpty());
}

TEST_F(AppTest, FailureSaysWhyAndPrintsNothing) {
  const Outcome outcome =
      RunCoppice({"study", "create", "--server", "localhost:1", "--insecure", "--public",
                  "/none.csv", "--schema", "/none.json", "--epsilon", "1"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("/none.json"));
  EXPECT_THAT(outcome.out, IsEmpty());
}

}  // namespace
}  // namespace coppice
