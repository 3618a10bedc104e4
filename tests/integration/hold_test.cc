// A restored store does not spend twice what it has forgotten, by the real daemon and commands.

#include <gmock/gmock.h>

#include <filesystem>
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
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

class HoldTest : public ::testing::Test {
 protected:
  void SetUp() override { Synthesize(rows_, "private=200,public=50,test=1"); }

  Outcome Create(const Daemon& daemon, const std::string& id) const {
    return daemon.Coppice({"dataset", "create", "--dataset", id, "--data", rows_ + "/private.csv",
                           "--schema", rows_ + "/schema.json", "--epsilon-total", "1"});
  }
  static Outcome Spend(const Daemon& daemon, const std::string& dataset, const std::string& epsilon,
                       const std::string& job) {
    return daemon.Coppice({"train", "submit", "--dataset", dataset, "--algorithm", "rdt",
                           "--epsilon", epsilon, "--job", job, "--wait"});
  }
  static std::string HeadOf(const Daemon& daemon, const std::string& dataset) {
    return daemon.CoppiceJson({"dataset", "show", "--dataset", dataset})["ledger_head"]
        .get<std::string>();
  }
  Outcome Offline(const std::vector<std::string>& arguments) const {
    std::vector<std::string> line = {BinaryPath("coppiced")};
    line.insert(line.end(), arguments.begin(), arguments.end());
    return RunProgram(line);
  }

  // d spends 0.25; after a backup d spends the rest, and e is made and spends too. The restored
  // store is in restored_.
  void LoseCharges(const std::vector<std::string>& flags) {
    Daemon daemon(folder_.path());
    daemon.AddFlags(flags);
    daemon.AddFlags({"--backup-dir", backups_});
    ASSERT_TRUE(daemon.Start());
    ASSERT_EQ(Create(daemon, "d").exit_code, 0);
    ASSERT_EQ(Spend(daemon, "d", "0.25", "before").exit_code, 0);
    older_head_ = HeadOf(daemon, "d");
    daemon.CoppiceJson({"admin", "backup"});
    ASSERT_EQ(Spend(daemon, "d", "0.75", "after").exit_code, 0);
    newest_head_ = HeadOf(daemon, "d");
    ASSERT_EQ(Create(daemon, "e").exit_code, 0);
    ASSERT_EQ(Spend(daemon, "e", "1", "all").exit_code, 0);
    ASSERT_EQ(daemon.Stop(), 0);
    const Outcome restored = Offline({"restore", "--from", backups_, "--data-dir", restored_});
    ASSERT_EQ(restored.exit_code, 0) << restored.err;
    EXPECT_THAT(restored.err, HasSubstr("their names are free"));
  }

  TempDir folder_;
  const std::string rows_ = folder_.path() + "/rows";
  const std::string backups_ = folder_.path() + "/backups";
  const std::string restored_ = folder_.path() + "/restored";
  std::string older_head_, newest_head_;
};

TEST_F(HoldTest, NothingThatTheDaemonSaysLiftsAHoldAndAWriteOffLeavesNothingToSpend) {
  LoseCharges({});
  Daemon daemon(folder_.path(), restored_);
  ASSERT_TRUE(daemon.Start());
  const Outcome refused = Spend(daemon, "d", "0.5", "again");
  EXPECT_EQ(refused.exit_code, 1);
  const Outcome shown = daemon.Coppice({"dataset", "show", "--dataset", "d", "--json"});
  EXPECT_THAT(shown.out, HasSubstr("\"hold\":\"unconfirmed\""));
  const Outcome confirmed =
      daemon.Coppice({"dataset", "confirm", "--dataset", "d", "--head", newest_head_});
  EXPECT_EQ(confirmed.exit_code, 1) << "the entries that it stands for are lost";
  for (const std::string& said :
       {refused.err, refused.out, shown.out, shown.err, confirmed.err,
        daemon.Coppice({"dataset", "list", "--json"}).out, daemon.log()}) {
    EXPECT_THAT(said, Not(ContainsRegex("[0-9a-f]{64}")));
    EXPECT_THAT(said, Not(HasSubstr(older_head_)));
  }
  const Outcome written =
      daemon.Coppice({"dataset", "write-off", "--dataset", "d", "--epsilon", "0.75", "--yes"});
  EXPECT_EQ(written.exit_code, 0) << written.err;
  EXPECT_THAT(Spend(daemon, "d", "0.01", "again").err, HasSubstr("0 is left"));
  EXPECT_EQ(daemon.Stop(), 0);
  EXPECT_EQ(Offline({"check", "--data-dir", restored_}).exit_code, 0);
}

TEST_F(HoldTest, TheHeadThatWasNotedLastLiftsAHoldWhereNothingIsLost) {
  Daemon daemon(folder_.path());
  daemon.AddFlags({"--backup-dir", backups_});
  ASSERT_TRUE(daemon.Start());
  ASSERT_EQ(Create(daemon, "d").exit_code, 0);
  const std::string opened = HeadOf(daemon, "d");
  ASSERT_EQ(Spend(daemon, "d", "0.25", "before").exit_code, 0);
  const std::string noted = HeadOf(daemon, "d");
  daemon.CoppiceJson({"admin", "backup"});
  ASSERT_EQ(daemon.Stop(), 0);
  ASSERT_EQ(Offline({"restore", "--from", backups_, "--data-dir", restored_}).exit_code, 0);
  Daemon next(folder_.path(), restored_);
  ASSERT_TRUE(next.Start());
  EXPECT_EQ(next.Coppice({"dataset", "confirm", "--dataset", "d", "--head", opened}).exit_code, 1);
  EXPECT_EQ(next.Coppice({"dataset", "confirm", "--dataset", "d", "--head", noted}).exit_code, 0);
  EXPECT_EQ(HeadOf(next, "d"), noted);
  EXPECT_EQ(Spend(next, "d", "0.75", "after").exit_code, 0);
}

TEST_F(HoldTest, ASpendingJournalKnowsWhatARestoredStoreHasForgotten) {
  const std::string journal = folder_.path() + "/journal";
  LoseCharges({"--spending-journal", journal});
  Daemon daemon(folder_.path(), restored_);
  daemon.AddFlags({"--spending-journal", journal});
  ASSERT_TRUE(daemon.Start());
  EXPECT_THAT(daemon.log(), HasSubstr("ledger lost"));
  EXPECT_THAT(daemon.log(), HasSubstr("ledger on hold"));
  const auto shown = daemon.CoppiceJson({"dataset", "show", "--dataset", "d"});
  EXPECT_EQ(shown["hold_lost"]["epsilon"], 0.75);
  for (const std::string& head : {older_head_, newest_head_}) {
    EXPECT_THAT(daemon.Coppice({"dataset", "confirm", "--dataset", "d", "--head", head}).err,
                HasSubstr("spending journal"));
  }
  EXPECT_THAT(
      daemon.Coppice({"dataset", "write-off", "--dataset", "d", "--epsilon", "0.5", "--yes"}).err,
      HasSubstr("epsilon 0.75"));
  EXPECT_EQ(daemon.CoppiceJson({"dataset", "write-off", "--dataset", "d", "--yes"})["epsilon_left"],
            0.0);
  EXPECT_THAT(Create(daemon, "e").err, HasSubstr("the spending journal knows"));
  EXPECT_EQ(daemon.Coppice({"dataset", "free-name", "--dataset", "e", "--yes"}).exit_code, 0);
  EXPECT_EQ(Create(daemon, "e").exit_code, 0);
  EXPECT_EQ(daemon.Stop(), 0);
  ASSERT_TRUE(daemon.Start());
  EXPECT_FALSE(daemon.CoppiceJson({"dataset", "show", "--dataset", "d"}).contains("hold"));
}

TEST_F(HoldTest, AnOldCopyOfTheDirectoryIsHeldByTheJournalAlone) {
  const std::string journal = folder_.path() + "/journal";
  Daemon daemon(folder_.path());
  daemon.AddFlags({"--spending-journal", journal});
  ASSERT_TRUE(daemon.Start());
  ASSERT_EQ(Create(daemon, "d").exit_code, 0);
  ASSERT_EQ(daemon.Stop(), 0);
  std::filesystem::copy(daemon.data_dir(), restored_, std::filesystem::copy_options::recursive);
  ASSERT_TRUE(daemon.Start());
  ASSERT_EQ(Spend(daemon, "d", "1", "all").exit_code, 0);
  daemon.Kill();
  Daemon copy(folder_.path(), restored_);
  copy.AddFlags({"--spending-journal", journal});
  ASSERT_TRUE(copy.Start());
  EXPECT_THAT(Spend(copy, "d", "1", "again").err, HasSubstr("must write that off"));
}

TEST_F(HoldTest, AJournalThatBeginsAfterChargesIsWarnedOf) {
  Daemon daemon(folder_.path());
  ASSERT_TRUE(daemon.Start());
  ASSERT_EQ(Create(daemon, "d").exit_code, 0);
  ASSERT_EQ(Spend(daemon, "d", "1", "all").exit_code, 0);
  ASSERT_EQ(daemon.Stop(), 0);
  daemon.AddFlags({"--spending-journal", folder_.path() + "/late-journal"});
  ASSERT_TRUE(daemon.Start());
  EXPECT_THAT(daemon.log(), HasSubstr("spending journal is new"));
}

TEST_F(HoldTest, TheJournalIsNotKeptWhereTheStoreIs) {
  const Daemon daemon(folder_.path());
  std::filesystem::create_directories(daemon.data_dir());
  std::filesystem::create_directory_symlink(daemon.data_dir(), folder_.path() + "/link");
  for (const std::string& inside : {daemon.data_dir() + "/journal", daemon.data_dir() + "/x/../j",
                                    folder_.path() + "/link/journal"}) {
    std::vector<std::string> line = daemon.CommandLine("127.0.0.1:0");
    line.insert(line.end(), {"--spending-journal", inside, "--check-config"});
    const Outcome outcome = RunProgram(line);
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_THAT(outcome.err, HasSubstr("is inside --data-dir"));
  }
}

}  // namespace
}  // namespace coppice
