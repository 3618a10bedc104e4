#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "client/cli/commands.h"
#include "tests/client/cli/run_coppice.h"

namespace coppice::cli {
namespace {

using ::coppice::testing::Outcome;
using ::coppice::testing::RunCoppice;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

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

TEST_F(AppTest, ANounsHelpShowsAVerbOfItsOwn) {
  for (const std::string noun :
       {"schema", "data", "study", "collect", "model", "endpoint", "dataset", "train", "admin"}) {
    const Outcome help = RunCoppice({noun, "--help"});
    EXPECT_EQ(help.code, 0);
    EXPECT_THAT(help.out, HasSubstr("Example:\n  coppice " + noun + " ")) << noun;
  }
}

TEST_F(AppTest, WrongUsageNamesTheFlagAndWhatItWants) {
  struct Case {
    std::vector<std::string> arguments;
    const char *flag, *wants;
  };
  const std::vector<Case> cases = {
      {{"study", "show", "--study", "s1"}, "--server", "required"},
      {{"study", "create", "--relay-key", "/no/such"}, "--relay-key", "ed25519:"},
      {{"study", "create", "--relay-key", "ed25519:AA"}, "--relay-key", "ed25519:"},
      {{"study", "create", "--min-batch", "999"}, "--min-batch", "1000"},
      {{"study", "create", "--min-batch", "1000", "--dishonest", "1"}, "--dishonest", "0.999999"},
      {{"study", "create", "--min-batch", "1000", "--relay-delta", "0"}, "--relay-delta", "1e-8"},
      {{"study", "preview", "--dishonest", "0.5", "--public", "p", "--schema", "s", "--server",
        "a:1"},
       "--dishonest",
       "--min-batch"},
      {{"study", "rotate-sealing-key", "--server", "a:1"}, "--study", "required"},
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
       "pooled"},
      {{"model", "predict", "--server", "a:1", "--model", "m", "--data", "d", "--abstain-below",
        "0.4"},
       "--abstain-below",
       "0.5"},
      {{"model", "show", "--model", "m", "--server", "a:1", "--format", "pdf"}, "--format", "svg"},
      {{"collect", "history", "--journal", "/no/such/file"}, "--journal", "/no/such/file"},
      {{"collect", "simulate", "--study", "s1", "--data", "d", "--server", "a:1", "--batch", "0"},
       "--batch",
       "1 to 1000"},
      {{"dataset", "create", "--epsilon-total", "0", "--server", "a:1"}, "--epsilon-total", "0.5"},
      {{"dataset", "create", "--delta-total", "1", "--server", "a:1"}, "--delta-total", "1e-6"},
      {{"dataset", "create", "--data", "d", "--schema", "s", "--epsilon-total", "1",
        "--composition", "zcdp", "--server", "a:1"},
       "--delta-total",
       "above 0"},
      {{"dataset", "create", "--neighbours", "all"}, "--neighbours", "change_label"},
      {{"dataset", "delete", "--dataset", "d1", "--server", "a:1"}, "--yes", "required"},
      {{"train", "submit", "--dataset", "d1", "--epsilon", "1", "--server", "a:1"},
       "--algorithm",
       "required"},
      {{"train", "submit", "--epsilon", "1e3"}, "--epsilon", "0.5 or 2"},
      {{"train", "submit", "--set", "depth"}, "--set", "KEY=VALUE"},
      {{"train", "preview", "--dataset", "d1", "--algorithm", "spe", "--epsilon", "1", "--server",
        "a:1", "--set", "depth=1", "--set", "depth=2"},
       "--set",
       "depth twice"},
      {{"train", "submit", "--request-id", ""}, "--request-id", "1 to 128"},
      {{"train", "watch", "--server", "a:1"}, "--job", "required"},
      {{"study", "show", "--frobnicate"}, "--frobnicate", "unknown flag"},
      {{"model", "export", "--model", "m", "--output", "-", "--json", "--server", "a:1"},
       "--output",
       "--json"},
      {{"collect", "simulate", "--study", "s1", "--data", "d", "--server", "a:1", "--journal", "j",
        "--again"},
       "--again",
       "--journal"},
      {{"model", "verify", "--model", "m"}, "--server", "COPPICE_SERVER"},
      {{"model", "predict", "--model", "m", "--data", "d"}, "--server", "COPPICE_SERVER"},
      {{"study", "create", "--max-payload", "x"}, "--max-payload", "a whole number, not \"x\""},
      {{}, "a noun is required", "study, collect, model"},
      {{"model"}, "a verb is required", "build, list, show"},
  };
  for (const Case& wrong : cases) {
    const Outcome outcome = RunCoppice(wrong.arguments);
    EXPECT_EQ(outcome.code, 2) << outcome.err;
    EXPECT_THAT(outcome.err, AllOf(HasSubstr(wrong.flag), HasSubstr(wrong.wants)));
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    EXPECT_THAT(outcome.out, AnyOf(IsEmpty(), HasSubstr(R"({"error":)")));
  }
}

TEST_F(AppTest, ServerMayComeFromTheEnvironment) {
  setenv("COPPICE_SERVER", "127.0.0.1:1", 1);
  setenv("COPPICE_CA", "/not/used/without/tls", 1);
  const Outcome outcome = RunCoppice({"study", "list", "--insecure", "--json"});
  EXPECT_EQ(outcome.code, 1);
  const std::string message =
      "nobody answers at 127.0.0.1:1: connection refused; check --server, and that coppiced runs "
      "there";
  EXPECT_EQ(outcome.err, "coppice: " + message + "\n");
  EXPECT_EQ(outcome.out, R"({"error":{"code":"UNAVAILABLE","message":")" + message + "\"}}\n");
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
}  // namespace coppice::cli
