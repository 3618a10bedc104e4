// A policy end to end: tokens made by the daemon's own command, shown by the command line, and
// rotated by SIGHUP; and submission tokens, each counted once.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/integration/daemon.h"

namespace coppice {
namespace {

using ::coppice::testing::BinaryPath;
using ::coppice::testing::Daemon;
using ::coppice::testing::Outcome;
using ::coppice::testing::RunProgram;
using ::coppice::testing::Synthesize;
using ::coppice::testing::TempDir;
using ::testing::HasSubstr;
using ::testing::Not;

class PolicyTest : public ::testing::Test {
 protected:
  // Writes a token of the role to a file of its own and returns its entry for the policy.
  std::string MakeToken(const std::string& name, const std::string& role) {
    const Outcome made =
        RunProgram({BinaryPath("coppiced"), "token", "--name", name, "--role", role});
    EXPECT_EQ(made.exit_code, 0) << made.err;
    std::istringstream lines(made.out);
    std::string token, entry;
    std::getline(lines, token);
    std::getline(lines, entry);
    std::ofstream(TokenFile(name)) << token << "\n";
    tokens_.push_back(token);
    return entry;
  }
  std::string TokenFile(const std::string& name) const { return folder_.path() + "/" + name; }
  void WritePolicy(const std::string& text) const { std::ofstream(policy_) << text; }
  void Start(const std::string& policy) {
    WritePolicy(policy);
    daemon_.more_flags = {"--policy", policy_};
    ASSERT_TRUE(daemon_.Start());
  }
  Outcome As(const std::string& name, std::vector<std::string> arguments) const {
    if (!name.empty()) {
      arguments.emplace_back("--token-file");
      arguments.push_back(TokenFile(name));
    }
    return daemon_.Coppice(arguments);
  }

  TempDir folder_;
  const std::string policy_ = folder_.path() + "/policy.json";
  std::vector<std::string> tokens_;
  Daemon daemon_{folder_.path()};
};

TEST_F(PolicyTest, EachTokenMayDoWhatItsRoleMay) {
  const std::string admin = MakeToken("admin", "admin");
  const std::string analyst = MakeToken("analyst", "analyst");
  Start("{\"tokens\":[" + admin + "," + analyst + "]}");
  EXPECT_EQ(As("admin", {"study", "list"}).exit_code, 0);
  EXPECT_EQ(As("analyst", {"study", "list"}).exit_code, 0);
  const Outcome none = As("", {"study", "list"});
  EXPECT_EQ(none.exit_code, 1);
  EXPECT_THAT(none.err, HasSubstr("--token-file"));
  const Outcome wrong = As("analyst", {"study", "seal", "--study", "s"});
  EXPECT_EQ(wrong.exit_code, 1);
  EXPECT_THAT(wrong.err, HasSubstr("needs the role admin, but you have analyst"));
}

TEST_F(PolicyTest, ATokenIsRotatedWithoutARestart) {
  const std::string before = MakeToken("before", "admin");
  const std::string after = MakeToken("after", "admin");
  Start("{\"tokens\":[" + before + "]}");
  EXPECT_EQ(As("before", {"study", "list"}).exit_code, 0);
  EXPECT_EQ(As("after", {"study", "list"}).exit_code, 1);
  WritePolicy("{\"tokens\":[" + before + "," + after + "]}");
  daemon_.ReloadUntil("reloaded");
  EXPECT_EQ(As("before", {"study", "list"}).exit_code, 0);
  EXPECT_EQ(As("after", {"study", "list"}).exit_code, 0);
  WritePolicy("{\"tokens\":[" + after + "]}");
  daemon_.ReloadUntil("reloaded");
  EXPECT_THAT(As("before", {"study", "list"}).err, HasSubstr("not known here"));
  EXPECT_EQ(As("after", {"study", "list"}).exit_code, 0);
  WritePolicy("{");
  daemon_.ReloadUntil("not valid JSON");
  EXPECT_EQ(As("after", {"study", "list"}).exit_code, 0);
  EXPECT_EQ(daemon_.Stop(), 0);
  for (const std::string& token : tokens_) EXPECT_THAT(daemon_.log(), Not(HasSubstr(token)));
}

TEST_F(PolicyTest, ABrokenPolicyIsFoundBeforeTheStart) {
  WritePolicy("{\"token\": []}");
  std::vector<std::string> line = daemon_.CommandLine("0.0.0.0:0");
  line.insert(line.end(), {"--policy", policy_, "--check-config"});
  const Outcome outcome = RunProgram(line);
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("--policy " + policy_ + ": the policy has the member"));
}

TEST_F(PolicyTest, WithoutAPolicyNoOtherMachineIsServed) {
  const Outcome outcome = RunProgram(daemon_.CommandLine("0.0.0.0:0"));
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("needs --policy FILE"));
}

TEST_F(PolicyTest, ATokenIsNotSentWithoutTls) {
  std::ofstream(TokenFile("t")) << "coppice_x\n";
  const Outcome outcome = RunProgram({BinaryPath("coppice"), "study", "list", "--server",
                                      "127.0.0.1:1", "--insecure", "--token-file", TokenFile("t")});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("show the token to whoever listens"));
}

TEST_F(PolicyTest, AnonymousPeopleAreCountedOnceBySubmissionTokens) {
  Start("{\"anonymous\":[\"device\"],\"tokens\":[" + MakeToken("admin", "admin") + "]}");
  Synthesize(folder_.path(), "private=100,public=100,test=10");
  const std::string tokens = folder_.path() + "/tokens.txt";
  const std::vector<std::string> simulate = {
      "collect", "simulate",  "--study", "people", "--data", folder_.path() + "/private.csv",
      "--json",  "--journal", ""};
  const auto collect = [&](const std::string& journal, const std::vector<std::string>& more) {
    std::vector<std::string> arguments = simulate;
    arguments.back() = folder_.path() + "/" + journal;
    arguments.insert(arguments.end(), more.begin(), more.end());
    return As("", arguments);
  };
  const Outcome created =
      As("admin", {"study", "create", "--study", "people", "--public",
                   folder_.path() + "/public.csv", "--schema", folder_.path() + "/schema.json",
                   "--epsilon", "1", "--require-submission-token"});
  ASSERT_EQ(created.exit_code, 0) << created.err;
  ASSERT_EQ(As("admin", {"study", "tokens", "--count", "100", "--output", tokens}).exit_code, 0);
  EXPECT_EQ(As("", {"study", "tokens", "--count", "1", "--output", tokens + "2"}).exit_code, 1);

  EXPECT_THAT(collect("none", {}).err, HasSubstr("asks for one a ticket"));
  const Outcome first = collect("first", {"--submission-tokens", tokens});
  EXPECT_EQ(first.exit_code, 0) << first.err;
  EXPECT_THAT(first.out, HasSubstr("\"accepted\":100,\"duplicate\":0"));
  // Devices that lost their journals are not counted again.
  const Outcome again = collect("second", {"--submission-tokens", tokens});
  EXPECT_THAT(again.out, HasSubstr("\"accepted\":0,\"duplicate\":100"));
  EXPECT_THAT(As("admin", {"study", "show", "--study", "people", "--json"}).out,
              HasSubstr("\"submission_tokens\":\"required\""));
}

TEST_F(PolicyTest, ADatasetIsItsCreatorsAndAdmins) {
  const std::string ops = MakeToken("ops", "admin");
  const std::string lab = MakeToken("lab", "trainer");
  const std::string other = MakeToken("other", "trainer");
  Start("{\"tokens\":[" + ops + "," + lab + "," + other + "]}");
  Synthesize(folder_.path(), "private=100,public=10,test=1");
  const auto create = [&](const std::string& who, const std::string& id) {
    return As(who, {"dataset", "create", "--dataset", id, "--data", folder_.path() + "/private.csv",
                    "--schema", folder_.path() + "/schema.json", "--epsilon-total", "4"});
  };
  ASSERT_EQ(create("lab", "d").exit_code, 0);
  const std::vector<std::string> submit = {"train",       "submit", "--dataset", "d",
                                           "--algorithm", "rdt",    "--epsilon", "1",
                                           "--job",       "j",      "--wait"};
  EXPECT_THAT(As("other", submit).err, HasSubstr("there is no dataset d"));
  ASSERT_EQ(As("lab", submit).exit_code, 0);
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"dataset", "show", "--dataset", "d"},
        {"train", "show", "--job", "j"},
        {"train", "watch", "--job", "j"}}) {
    EXPECT_EQ(As("lab", arguments).exit_code, 0) << arguments[1];
    EXPECT_EQ(As("ops", arguments).exit_code, 0) << arguments[1];
    const Outcome hidden = As("other", arguments);
    EXPECT_EQ(hidden.exit_code, 1) << arguments[1];
    EXPECT_THAT(hidden.err, HasSubstr("there is no"));
  }
  EXPECT_THAT(As("other", {"dataset", "list", "--json"}).out, ::testing::IsEmpty());
  EXPECT_THAT(As("other", {"train", "list", "--json"}).out, ::testing::IsEmpty());
  EXPECT_EQ(create("other", "d").exit_code, 1) << "the name is taken";
  EXPECT_THAT(As("other", {"model", "show", "--model", "j"}).err, HasSubstr("there is no model j"));
  EXPECT_EQ(As("lab", {"model", "show", "--model", "j"}).exit_code, 0);
  // A caller that may see a job is told who submitted it.
  const Outcome shown =
      As("ops", {"dataset", "show", "--dataset", "d", "--entries", "2", "--json"});
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  const auto ledger = nlohmann::json::parse(shown.out);
  EXPECT_EQ(ledger["ledger_entries"], 3);  // opened, reserved, settled
  ASSERT_EQ(ledger["ledger"].size(), 2u);
  EXPECT_EQ(ledger["ledger"][1]["entry"], "settled");
  EXPECT_EQ(ledger["ledger"][1]["submitter"], "lab");
  EXPECT_THAT(As("lab", {"train", "show", "--job", "j", "--json"}).out,
              HasSubstr(R"("submitter":"lab")"));
  for (const char* verb : {"status", "backups", "tokens"}) {
    EXPECT_THAT(As("lab", {"admin", verb}).err, HasSubstr("needs the role admin")) << verb;
  }
  const Outcome status = As("ops", {"admin", "status", "--json"});
  EXPECT_THAT(status.out, HasSubstr("\"has_policy\":true"));
  const Outcome confirm =
      As("lab", {"dataset", "confirm", "--dataset", "d", "--head", std::string(64, '0')});
  EXPECT_THAT(confirm.err, HasSubstr("needs the role admin"));
}

TEST_F(PolicyTest, DatasetsWithoutAnOwnerAreForAdminsUntilTheyAreAssigned) {
  const std::string ops = MakeToken("ops", "admin");
  const std::string lab = MakeToken("lab", "trainer");
  ASSERT_TRUE(daemon_.Start());  // without a policy
  Synthesize(folder_.path(), "private=10,public=10,test=1");
  daemon_.CoppiceJson({"dataset", "create", "--dataset", "old", "--data",
                       folder_.path() + "/private.csv", "--schema", folder_.path() + "/schema.json",
                       "--epsilon-total", "4"});
  ASSERT_EQ(daemon_.Stop(), 0);
  const std::string policy = "{\"tokens\":[" + ops + "," + lab + "]}";
  Start(policy);
  EXPECT_EQ(As("lab", {"dataset", "show", "--dataset", "old"}).exit_code, 1);
  EXPECT_EQ(As("ops", {"dataset", "show", "--dataset", "old"}).exit_code, 0);
  ASSERT_EQ(daemon_.Stop(), 0);
  const Outcome assigned = RunProgram(
      {BinaryPath("coppiced"), "assign-owner", "--data-dir", daemon_.data_dir(), "--owner", "lab"});
  EXPECT_EQ(assigned.exit_code, 0) << assigned.err;
  EXPECT_THAT(assigned.out, HasSubstr("datasets/old: belongs to lab"));
  Start(policy);
  EXPECT_EQ(As("lab", {"dataset", "show", "--dataset", "old"}).exit_code, 0);
}

}  // namespace
}  // namespace coppice
