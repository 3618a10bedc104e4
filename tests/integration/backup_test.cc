// A backup during ingest, restored and served: nothing that was acknowledged before it is missing.
// The real binaries also check and repair a damaged directory.

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "client/device/privatizer.h"
#include "tests/integration/daemon.h"
#include "tests/integration/randomized_reports.h"
#include "tests/support/collector.h"
#include "tests/support/eventually.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using ::coppice::testing::BinaryPath;
using ::coppice::testing::Daemon;
using ::coppice::testing::Eventually;
using ::coppice::testing::Outcome;
using ::coppice::testing::RandomizedReports;
using ::coppice::testing::RunProgram;
using ::coppice::testing::Synthesize;
using ::coppice::testing::TempDir;
using ::testing::HasSubstr;

constexpr uint32_t kDevices = 3000;
constexpr uint32_t kBatch = 20;

uint64_t Accepted(const Daemon& daemon) {
  return daemon.CoppiceJson({"study", "show", "--study", "s"})["accepted"].get<uint64_t>();
}

TEST(BackupTest, ABackupDuringIngestHoldsWhatWasAcknowledgedAndARestoredStoreCountsOnce) {
  const TempDir folder;
  const std::string backups = folder.path() + "/backups";
  Daemon daemon(folder.path());
  daemon.AddFlags({"--backup-dir", backups, "--backup-keep", "2"});
  ASSERT_TRUE(daemon.Start());
  Synthesize(folder.path() + "/rows", "private=1,public=100,test=1");
  daemon.CoppiceJson({"study", "create", "--study", "s", "--public",
                      folder.path() + "/rows/public.csv", "--schema",
                      folder.path() + "/rows/schema.json", "--epsilon", "1", "--mechanism",
                      "laplace_joint", "--depth", "4"});
  ASSERT_OK_AND_ASSIGN(const Collector collector, Collector::Create(daemon.connection(), {}));
  ASSERT_OK_AND_ASSIGN(const FetchedOffer offer, collector.FetchForest("s", 1));
  const std::vector<PrivateReport> reports = RandomizedReports(collector, offer, kDevices);

  std::atomic<uint64_t> acknowledged{0};
  std::thread sender([&] {
    for (uint32_t i = 0; i < kDevices; i += kBatch) {
      ASSERT_OK(collector.Deliver(absl::MakeConstSpan(&reports[i], kBatch)));
      acknowledged = i + kBatch;
    }
  });
  while (acknowledged < kDevices / 4) std::this_thread::yield();
  const uint64_t before = acknowledged;
  const auto backup = daemon.CoppiceJson({"admin", "backup"});
  sender.join();
  EXPECT_EQ(Accepted(daemon), kDevices);
  const Outcome busy =
      RunProgram({BinaryPath("coppiced"), "check", "--data-dir", daemon.data_dir()});
  EXPECT_EQ(busy.exit_code, 1);
  EXPECT_THAT(busy.err, HasSubstr("another process uses"));
  EXPECT_EQ(daemon.Stop(), 0);

  const std::string restored_dir = folder.path() + "/restored";
  const Outcome restored =
      RunProgram({BinaryPath("coppiced"), "restore", "--from", backups, "--data-dir", restored_dir,
                  "--backup-id", std::to_string(backup["backup"].get<int>())});
  ASSERT_EQ(restored.exit_code, 0) << restored.err;
  EXPECT_THAT(restored.err, HasSubstr("acknowledged after the backup was made is lost"));
  EXPECT_EQ(
      RunProgram({BinaryPath("coppiced"), "restore", "--from", backups, "--data-dir", restored_dir})
          .exit_code,
      1)
      << "a store is there already";
  Daemon second(folder.path(), restored_dir);
  ASSERT_TRUE(second.Start());
  const uint64_t kept = Accepted(second);
  EXPECT_GE(kept, before);
  EXPECT_LE(kept, kDevices);
  // Devices that heard nothing send again: each is counted once.
  ASSERT_OK_AND_ASSIGN(const Collector again, Collector::Create(second.connection(), {}));
  for (uint32_t i = 0; i < kDevices; i += kBatch) {
    ASSERT_OK(again.Deliver(absl::MakeConstSpan(&reports[i], kBatch)));
  }
  EXPECT_EQ(Accepted(second), kDevices);
  EXPECT_EQ(second.Stop(), 0);
  const Outcome check =
      RunProgram({BinaryPath("coppiced"), "check", "--data-dir", restored_dir, "--json"});
  EXPECT_EQ(check.exit_code, 0) << check.out;
  EXPECT_THAT(check.out, HasSubstr("\"problems\":0"));
}

TEST(BackupTest, WithoutAFolderTheDaemonSaysWhatToDo) {
  const TempDir folder;
  Daemon daemon(folder.path());
  ASSERT_TRUE(daemon.Start());
  const Outcome refused = daemon.Coppice({"admin", "backup"});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.err, HasSubstr("--backup-dir"));
  const Outcome unlisted = daemon.Coppice({"admin", "backups"});
  EXPECT_EQ(unlisted.exit_code, 1);
  EXPECT_THAT(unlisted.err, HasSubstr("--backup-dir"));
}

TEST(BackupTest, BackupsAreListedTheNewestFirst) {
  const TempDir folder;
  Daemon daemon(folder.path());
  daemon.AddFlags({"--backup-dir", folder.path() + "/backups"});
  ASSERT_TRUE(daemon.Start());
  const Outcome none = daemon.Coppice({"admin", "backups", "--json"});
  EXPECT_EQ(none.exit_code, 0) << none.err;
  EXPECT_EQ(none.out, "");
  const auto first = daemon.CoppiceJson({"admin", "backup"});
  const auto second = daemon.CoppiceJson({"admin", "backup"});
  const Outcome listed = daemon.Coppice({"admin", "backups", "--json"});
  std::istringstream lines(listed.out);
  std::vector<nlohmann::json> backups;
  for (std::string line; std::getline(lines, line);) {
    backups.push_back(nlohmann::json::parse(line));
  }
  EXPECT_EQ(backups, (std::vector<nlohmann::json>{second, first}));
  EXPECT_TRUE(daemon.CoppiceJson({"admin", "status"})["has_backups"].get<bool>());
}

TEST(BackupTest, ADirectoryThatLostAFileIsRepairedAndServesAgain) {
  const TempDir folder;
  Daemon daemon(folder.path());
  ASSERT_TRUE(daemon.Start());
  Synthesize(folder.path() + "/rows", "private=1,public=100,test=1");
  daemon.CoppiceJson({"study", "create", "--study", "s", "--public",
                      folder.path() + "/rows/public.csv", "--schema",
                      folder.path() + "/rows/schema.json", "--epsilon", "1"});
  EXPECT_EQ(daemon.Stop(), 0);
  std::filesystem::remove(daemon.data_dir() + "/rocksdb/CURRENT");
  const std::vector<std::string> repair = {BinaryPath("coppiced"), "repair", "--data-dir",
                                           daemon.data_dir()};
  std::vector<std::string> plan = repair;
  plan.push_back("--dry-run");
  EXPECT_EQ(RunProgram(plan).exit_code, 1);
  EXPECT_EQ(RunProgram(repair).exit_code, 2) << "--backup is missing";
  std::vector<std::string> really = repair;
  really.insert(really.end(), {"--backup", folder.path() + "/kept"});
  const Outcome repaired = RunProgram(really);
  EXPECT_EQ(repaired.exit_code, 0) << repaired.out << repaired.err;
  ASSERT_TRUE(daemon.Start());
  EXPECT_EQ(Accepted(daemon), 0u);
}

// The database's table files, by number.
std::vector<std::filesystem::path> Tables(const Daemon& daemon) {
  std::vector<std::filesystem::path> tables;
  for (const auto& entry : std::filesystem::directory_iterator(daemon.data_dir() + "/rocksdb")) {
    if (entry.path().extension() == ".sst") tables.push_back(entry.path());
  }
  std::sort(tables.begin(), tables.end());
  return tables;
}

bool BecomesReady(const Daemon& daemon) {
  bool ready = false;
  EXPECT_TRUE(Eventually([&] {
    ready = daemon.Coppice({"health"}).exit_code == 0;
    return ready || daemon.log().find("not ready") != std::string::npos;
  }));
  return ready;
}

TEST(BackupTest, AModelThatOutlivesReportsOfItsStudyDoesNotKeepTheDaemonFromBeingReady) {
  const TempDir folder;
  Daemon daemon(folder.path());
  daemon.AddFlags({"--backup-dir", folder.path() + "/backups"});
  ASSERT_TRUE(daemon.Start());
  Synthesize(folder.path() + "/rows", "private=1,public=100,test=1");
  daemon.CoppiceJson({"study", "create", "--study", "s", "--public",
                      folder.path() + "/rows/public.csv", "--schema",
                      folder.path() + "/rows/schema.json", "--epsilon", "1", "--mechanism",
                      "laplace_joint", "--depth", "4"});
  {
    ASSERT_OK_AND_ASSIGN(const Collector collector, Collector::Create(daemon.connection(), {}));
    ASSERT_OK_AND_ASSIGN(const FetchedOffer offer, collector.FetchForest("s", 1));
    const std::vector<PrivateReport> reports = RandomizedReports(collector, offer, kDevices);
    // Each backup writes what is new into a table of its own.
    ASSERT_OK(collector.Deliver(absl::MakeConstSpan(reports).first(30)));
    daemon.CoppiceJson({"admin", "backup"});
    ASSERT_OK(collector.Deliver(absl::MakeConstSpan(reports).subspan(30, 40)));
    daemon.CoppiceJson({"admin", "backup"});
  }
  const std::filesystem::path of_reports = Tables(daemon).back();
  daemon.CoppiceJson({"model", "build", "--study", "s", "--model", "m"});
  daemon.CoppiceJson({"admin", "backup"});
  EXPECT_EQ(daemon.Stop(), 0);
  ASSERT_THAT(Tables(daemon), ::testing::Contains(of_reports));
  std::filesystem::resize_file(of_reports, 50);

  const auto run = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), BinaryPath("coppiced"));
    arguments.insert(arguments.end(), {"--data-dir", daemon.data_dir()});
    return RunProgram(arguments);
  };
  EXPECT_EQ(run({"check"}).exit_code, 1);
  const Outcome repaired = run({"repair", "--backup", folder.path() + "/kept"});
  EXPECT_EQ(repaired.exit_code, 0) << repaired.out << repaired.err;
  EXPECT_THAT(repaired.out, HasSubstr("rests on 70 reports, and its study has 30"));
  const Outcome check = run({"check"});
  EXPECT_EQ(check.exit_code, 0) << check.out;
  EXPECT_THAT(check.out, HasSubstr("note: outlived/s/m"));
  ASSERT_TRUE(daemon.Start());
  EXPECT_TRUE(BecomesReady(daemon)) << daemon.log();
  EXPECT_EQ(Accepted(daemon), 30u);
  EXPECT_EQ(daemon.CoppiceJson({"model", "show", "--model", "m"}).is_object(), true);
  EXPECT_EQ(daemon.Stop(), 0);
}

}  // namespace
}  // namespace coppice
