// The audit log of a real daemon: what it says about whom, and that a change of it is found.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "nlohmann/json.hpp"
#include "server/store/rocksdb/rocksdb_store.h"
#include "tests/integration/daemon.h"
#include "tests/support/counter.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using ::coppice::testing::BinaryPath;
using ::coppice::testing::Counter;
using ::coppice::testing::Daemon;
using ::coppice::testing::Outcome;
using ::coppice::testing::RunProgram;
using ::coppice::testing::Synthesize;
using ::coppice::testing::TempDir;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;

namespace fs = std::filesystem;

class AuditTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Synthesize(rows_, "private=200,public=50,test=1");
    const std::string ops = MakeToken("ops", "admin");
    const std::string lab = MakeToken("lab", "trainer");
    policy_text_ = R"({"anonymous":["device"],"tokens":[)" + ops + "," + lab + "]}";
    WritePolicy(policy_text_);
    daemon_.AddFlags({"--policy", policy_});
    ASSERT_TRUE(daemon_.Start());
  }

  std::string MakeToken(const std::string& name, const std::string& role) const {
    const Outcome made =
        RunProgram({BinaryPath("coppiced"), "token", "--name", name, "--role", role});
    std::istringstream lines(made.out);
    std::string token, entry;
    std::getline(lines, token);
    std::getline(lines, entry);
    std::ofstream(folder_.path() + "/" + name) << token << "\n";
    return entry;
  }
  void WritePolicy(const std::string& text) const { std::ofstream(policy_) << text; }

  Outcome As(const std::string& name, std::vector<std::string> arguments) const {
    if (!name.empty()) {
      arguments.insert(arguments.end(), {"--token-file", folder_.path() + "/" + name});
    }
    return daemon_.Coppice(arguments);
  }
  void Do(const std::string& name, const std::vector<std::string>& arguments) const {
    const Outcome done = As(name, arguments);
    EXPECT_EQ(done.exit_code, 0) << done.err;
  }
  void CreateStudy(const std::string& id) const {
    Do("ops", {"study", "create", "--study", id, "--public", rows_ + "/public.csv", "--schema",
               rows_ + "/schema.json", "--epsilon", "4", "--depth", "2"});
  }

  std::string Export() const {
    const Outcome printed = As("ops", {"admin", "audit", "--json"});
    EXPECT_EQ(printed.exit_code, 0) << printed.err;
    return printed.out;
  }
  // "actor action resource related outcome" of each entry.
  std::vector<std::string> Log() const {
    std::istringstream lines(Export());
    std::vector<std::string> log;
    for (std::string line; std::getline(lines, line);) {
      const nlohmann::json entry = nlohmann::json::parse(line);
      EXPECT_EQ(entry["sequence"].get<size_t>(), log.size());
      EXPECT_EQ(entry["day"].get<std::string>().size(), 10u);
      std::string text;
      for (const char* field : {"actor", "action", "resource", "related", "outcome"}) {
        text += (text.empty() ? "" : " ") + entry[field].get<std::string>();
      }
      log.push_back(text);
    }
    return log;
  }
  Outcome Verify() const {
    return As("ops", {"admin", "audit", "--verify", "--head", head_, "--json"});
  }

  TempDir folder_;
  const std::string rows_ = folder_.path() + "/rows";
  const std::string policy_ = folder_.path() + "/policy.json";
  const std::string head_ = folder_.path() + "/audit.head";
  std::string policy_text_;
  Daemon daemon_{folder_.path()};
};

TEST_F(AuditTest, TellsWhoDidWhatInOrderAndNothingOfDevices) {
  CreateStudy("s");
  Do("", {"collect", "simulate", "--study", "s", "--data", rows_ + "/private.csv"});
  Do("ops", {"study", "seal", "--study", "s"});
  Do("ops", {"model", "build", "--study", "s", "--model", "m"});
  Do("ops", {"endpoint", "set", "--endpoint", "e", "--model", "m"});
  Do("lab", {"dataset", "create", "--dataset", "d", "--data", rows_ + "/private.csv", "--schema",
             rows_ + "/schema.json", "--epsilon-total", "1"});
  Do("lab", {"train", "submit", "--dataset", "d", "--algorithm", "rdt", "--epsilon", "0.25",
             "--job", "j", "--wait"});
  EXPECT_EQ(As("lab", {"study", "seal", "--study", "s"}).exit_code, 1);
  EXPECT_EQ(As("", {"study", "seal", "--study", "s"}).exit_code, 1);
  EXPECT_EQ(As("ops", {"model", "delete", "--model", "m", "--yes"}).exit_code, 1);
  Do("ops", {"endpoint", "delete", "--endpoint", "e", "--yes"});
  Do("ops", {"study", "delete", "--study", "s", "--yes"});

  std::vector<std::string> log = Log();
  // The refusal by the policy is written beside the call, not before its answer.
  const std::string refused = "lab StudyService/SealStudy   PERMISSION_DENIED";
  EXPECT_EQ(std::erase(log, refused), 1u);
  EXPECT_THAT(log, ::testing::ElementsAre(
                       "coppiced log/begin   OK", "coppiced daemon/start   OK",
                       "ops StudyService/CreateStudy studies/s  OK",
                       "ops StudyService/SealStudy studies/s  OK",
                       "ops ModelService/BuildModel studies/s models/m OK",
                       "ops ModelService/SetServingModel endpoints/e models/m OK",
                       "lab ledger/open datasets/d  OK", "lab ledger/charge datasets/d jobs/j OK",
                       "ops ModelService/DeleteModel models/m  FAILED_PRECONDITION",
                       "ops ModelService/DeleteEndpoint endpoints/e  OK",
                       "ops StudyService/DeleteStudy studies/s  OK"));
  const std::string exported = Export();
  EXPECT_THAT(exported, Not(ContainsRegex("[0-9]:[0-9][0-9]")));
  EXPECT_THAT(exported, HasSubstr("\"epsilon_nanos\":250000000"));
  for (const char* secret : {"coppice_", "Report", "GetOffer", "private.csv"}) {
    EXPECT_THAT(exported, Not(HasSubstr(secret)));
  }
  const Outcome verified = Verify();
  EXPECT_EQ(verified.exit_code, 0) << verified.err;
  EXPECT_THAT(verified.out, HasSubstr("\"verified\":true"));
  EXPECT_EQ(As("lab", {"admin", "audit"}).exit_code, 1) << "it is the operator's";
}

TEST_F(AuditTest, TellsOfReloadsAndOfStarts) {
  daemon_.ReloadUntil("reloaded part=policy");
  WritePolicy("{");
  daemon_.ReloadUntil("kept part=policy");
  WritePolicy(policy_text_);
  EXPECT_EQ(daemon_.Stop(), 0);
  ASSERT_TRUE(daemon_.Start());
  EXPECT_THAT(Log(), IsSupersetOf({"coppiced daemon/reload policy  OK",
                                   "coppiced daemon/reload policy  INVALID_ARGUMENT",
                                   "coppiced daemon/stop   OK", "coppiced daemon/start   OK"}));
}

// Every acknowledged call is in the log, and log and ledger agree, wherever the daemon is cut off.
TEST_F(AuditTest, AKilledDaemonHasToldOfEachAcknowledgedCall) {
  Do("lab", {"dataset", "create", "--dataset", "d", "--data", rows_ + "/private.csv", "--schema",
             rows_ + "/schema.json", "--epsilon-total", "10"});
  std::set<std::string> expected;
  for (int round = 0; round < 4; ++round) {
    std::map<std::string, Outcome> studies;
    Counter answered;
    std::atomic<bool> killed = false;
    const absl::Time began = absl::Now();
    std::thread caller([&] {
      for (int i = 0; !killed; ++i) {
        const std::string id = "s" + std::to_string(round) + "-" + std::to_string(i);
        studies[id] = As(
            "ops", {"study", "create", "--study", id, "--public", rows_ + "/public.csv", "--schema",
                    rows_ + "/schema.json", "--epsilon", "4", "--depth", "2", "--timeout", "10"});
        answered.Raise();
        if (killed) return;
        const std::string job = "j" + std::to_string(round) + "-" + std::to_string(i);
        const Outcome charged =
            As("lab", {"train", "submit", "--dataset", "d", "--algorithm", "rdt", "--epsilon",
                       "0.125", "--job", job, "--timeout", "10"});
        if (charged.exit_code == 0)
          expected.insert("lab ledger/charge datasets/d jobs/" + job + " OK");
        answered.Raise();
      }
    });
    // The call that follows is cut off, each time at another part of its usual length.
    answered.Await(round + 1);
    absl::SleepFor((absl::Now() - began) / (round + 1) * (0.5 + 0.15 * round));
    killed = true;
    daemon_.Kill();
    caller.join();
    ASSERT_TRUE(daemon_.Start());
    for (const auto& [id, made] : studies) {
      if (made.exit_code == 0)
        expected.insert("ops StudyService/CreateStudy studies/" + id + "  OK");
    }
    const Outcome verified = Verify();
    ASSERT_EQ(verified.exit_code, 0) << verified.err;
    EXPECT_THAT(Log(), IsSupersetOf(expected));
  }
  EXPECT_GT(expected.size(), 2u);
  EXPECT_EQ(daemon_.Stop(), 0);
  EXPECT_EQ(
      RunProgram({BinaryPath("coppiced"), "check", "--data-dir", daemon_.data_dir()}).exit_code, 0);
}

TEST_F(AuditTest, AChangedEntryKeepsTheDaemonFromStartingUntilARepairSaysSo) {
  CreateStudy("s");
  Do("ops", {"study", "seal", "--study", "s"});
  ASSERT_EQ(Verify().exit_code, 0);
  EXPECT_EQ(daemon_.Stop(), 0);
  const std::string key = "audit/entry/0000000000000002";
  {
    ASSERT_OK_AND_ASSIGN(const auto store, storage::OpenRocksDbStore(daemon_.data_dir()));
    ASSERT_OK_AND_ASSIGN(std::optional<std::string> entry, store->Get(key));
    entry->replace(entry->find("ops"), 3, "sop");
    storage::StoreBatch batch;
    batch.Put(key, *entry);
    ASSERT_OK(store->Apply(batch));
  }
  const Outcome started = RunProgram(daemon_.CommandLine("127.0.0.1:0"));
  EXPECT_EQ(started.exit_code, 1);
  EXPECT_THAT(started.err,
              AllOf(HasSubstr(key), HasSubstr("entry 2 of the audit log was changed")));
  const Outcome checked =
      RunProgram({BinaryPath("coppiced"), "check", "--data-dir", daemon_.data_dir()});
  EXPECT_EQ(checked.exit_code, 1);
  EXPECT_THAT(checked.out, HasSubstr("problem: " + key));
  const Outcome repaired = RunProgram({BinaryPath("coppiced"), "repair", "--data-dir",
                                       daemon_.data_dir(), "--backup", folder_.path() + "/kept"});
  EXPECT_EQ(repaired.exit_code, 0) << repaired.out << repaired.err;
  EXPECT_THAT(repaired.out, HasSubstr("log/resume"));
  ASSERT_TRUE(daemon_.Start());
  const std::vector<std::string> log = Log();
  ASSERT_EQ(log.size(), 4u);
  EXPECT_EQ(log[2], "offline log/resume   DATA_LOSS");
  const Outcome verified = Verify();
  EXPECT_EQ(verified.exit_code, 1) << "whoever kept a head finds that the log was cut";
  EXPECT_THAT(verified.err, HasSubstr("of the audit log"));
}

TEST_F(AuditTest, AnOlderCopyOfTheStoreIsFoundByTheKeptHead) {
  CreateStudy("s");
  EXPECT_EQ(daemon_.Stop(), 0);
  const std::string older = folder_.path() + "/older";
  fs::copy(daemon_.data_dir(), older, fs::copy_options::recursive);
  ASSERT_TRUE(daemon_.Start());
  for (const char* study : {"t", "u", "v"}) CreateStudy(study);
  ASSERT_EQ(Verify().exit_code, 0);
  EXPECT_EQ(daemon_.Stop(), 0);
  fs::remove_all(daemon_.data_dir());
  fs::rename(older, daemon_.data_dir());
  ASSERT_TRUE(daemon_.Start());
  const Outcome verified = Verify();
  EXPECT_EQ(verified.exit_code, 1);
  EXPECT_THAT(verified.err, ContainsRegex("entry [0-9]+ of the audit log is missing"));
  EXPECT_EQ(As("ops", {"admin", "audit", "--verify"}).exit_code, 0) << "its own chain holds";
}

TEST_F(AuditTest, AHeadOfAnotherKeyIsRefused) {
  const std::string key = folder_.path() + "/curator.pem";
  const Outcome shown = As("ops", {"study", "key", "--pem"});
  ASSERT_EQ(shown.exit_code, 0) << shown.err;
  std::ofstream(key) << shown.out;
  const Outcome pinned = As("ops", {"admin", "audit", "--verify", "--curator-key", key, "--json"});
  EXPECT_EQ(pinned.exit_code, 0) << pinned.err;
  EXPECT_THAT(pinned.out, HasSubstr("\"signature\":\"valid\""));
  const std::string other = folder_.path() + "/other.pem";
  ASSERT_EQ(RunProgram({"/bin/sh", "-c",
                        "openssl genpkey -algorithm ed25519 | openssl pkey -pubout > " + other})
                .exit_code,
            0);
  EXPECT_EQ(As("ops", {"admin", "audit", "--verify", "--curator-key", other}).exit_code, 1);
  EXPECT_EQ(As("ops", {"admin", "audit", "--head", head_}).exit_code, 2);
  EXPECT_EQ(As("ops", {"admin", "audit", "--verify", "--from", "1"}).exit_code, 2);
}

// Verifies printed lines from a file against a pinned key, while no curator runs.
TEST_F(AuditTest, PrintedLinesAreVerifiedWithoutTheCurator) {
  const std::string key = folder_.path() + "/curator.pem";
  std::ofstream(key) << As("ops", {"study", "key", "--pem"}).out;
  CreateStudy("s");
  const Outcome printed = As("ops", {"admin", "audit", "--json", "--with-head"});
  ASSERT_EQ(printed.exit_code, 0) << printed.err;
  Do("ops", {"study", "seal", "--study", "s"});
  const std::string more = Export();  // without a head
  EXPECT_EQ(daemon_.Stop(), 0);

  const std::string file = folder_.path() + "/audit.jsonl";
  const auto verify = [&](const std::string& lines) {
    std::ofstream(file) << lines;
    return RunProgram({BinaryPath("coppice"), "admin", "audit", "--verify", "--file", file,
                       "--curator-key", key, "--head", head_, "--json"});
  };
  const Outcome verified = verify(printed.out);
  EXPECT_EQ(verified.exit_code, 0) << verified.err;
  EXPECT_THAT(verified.out, HasSubstr("\"verified\":true"));
  EXPECT_THAT(verified.out, HasSubstr("\"signature\":\"valid\""));
  EXPECT_TRUE(fs::exists(head_));
  EXPECT_EQ(verify(printed.out).exit_code, 0) << "the head that was kept is the same";

  std::string changed = printed.out;
  changed.replace(changed.find("\"ops\""), 5, "\"spo\"");
  EXPECT_THAT(verify(changed).err, HasSubstr("of the audit log was changed"));
  std::string first_missing = printed.out;
  first_missing.erase(0, first_missing.find('\n') + 1);
  EXPECT_THAT(verify(first_missing).err, HasSubstr("entry 0 of the audit log is missing"));
  EXPECT_THAT(verify(more).err, HasSubstr("no signed head"));
  EXPECT_THAT(verify(printed.out + more.substr(more.rfind('\n', more.size() - 2) + 1)).err,
              HasSubstr("stands after the end of the log"));
  EXPECT_THAT(verify("{}\n").err, HasSubstr("audit.jsonl:1: is not a line"));
  EXPECT_THAT(verify(R"({"sequence":"0"})").err, HasSubstr("is not a line"));
  EXPECT_THAT(
      verify("{\"head\":" + std::string(1 << 19, '[') + std::string(1 << 19, ']') + "}").err,
      HasSubstr("is not a line"));
  EXPECT_THAT(verify("").err, HasSubstr("no signed head"));
  EXPECT_EQ(
      RunProgram({BinaryPath("coppice"), "admin", "audit", "--file", file, "--json"}).exit_code, 2);
}

}  // namespace
}  // namespace coppice
