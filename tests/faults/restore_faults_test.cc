// A restore whose disk fails at any write leaves no store, and the next restore works.

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "common/base/text.h"
#include "server/daemon/maintenance/restore.h"
#include "server/datasets/ledger/ledger.h"
#include "server/datasets/ledger/ledger_record.h"
#include "server/store/audit_log/audit_log.h"
#include "server/store/audit_log/audit_record.h"
#include "server/store/rocksdb/database_files.h"
#include "server/store/rocksdb/rocksdb_store.h"
#include "tests/faults/faulty_disk.h"
#include "tests/server/curator/curator_fixture.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace coppice {
namespace {

using namespace ::coppice::testing;  // NOLINT: most names in this file are the fixture's.
using ::testing::ElementsAre;

namespace fs = std::filesystem;

constexpr int64_t kNow = 5000;
const maintenance::ProgressCallback kSilent = [](const std::string&) {};

class RestoreFaultsTest : public ::testing::Test {
 protected:
  // Makes two studies with reports, one with a model; and a ledger, which a restore puts on hold.
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(const auto store, storage::OpenRocksDbStore(dir_.path() + "/data"));
    std::optional<models::Models> models;
    ASSERT_OK_AND_ASSIGN(const auto studies, OpenStudies(*store, models));
    for (const char* id : {"one", "two"}) {
      ASSERT_OK_AND_ASSIGN(const curator::StudyInfo study, studies->Create(Spec(id, /*trees=*/2)));
      ASSERT_OK(SendAndWait(*studies, study, HonestReports(*studies, study, 30)));
      ASSERT_OK(store->Backup({.folder = backups_}));  // each writes one more table
    }
    ASSERT_OK(studies->BuildModel("one", "model", {}));
    ASSERT_OK_AND_ASSIGN(const auto ledger, ledger::Ledger::Open(*store, [] { return kNow; }));
    ASSERT_OK(ledger->OpenAccount("d", {.epsilon_nanos = Budget::kNanosPerEpsilon}, {}));
    ASSERT_OK(store->Backup({.folder = backups_}));
    written_ = All(*store);
  }

  static std::map<std::string, std::string> All(const storage::Store& store) {
    std::map<std::string, std::string> pairs;
    EXPECT_OK(store.Scan("", [&](std::string_view key, std::string_view value) {
      pairs[std::string(key)] = std::string(value);
      return OkStatus();
    }));
    return pairs;
  }

  StatusOr<maintenance::RestoreResult> Restore(const std::string& data_dir) {
    auto restored = maintenance::RestoreStore(backups_, 0, data_dir, kNow, kSilent, disk_.env());
    disk_.AwaitIdle();
    return restored;
  }

  // Expects what was backed up and what a restore adds: its note, a hold, and an audit log of both.
  void ExpectWhole(const std::string& data_dir) {
    ASSERT_OK_AND_ASSIGN(const auto store, storage::OpenRocksDbStoreForReading(data_dir));
    std::map<std::string, std::string> there = All(*store);
    EXPECT_EQ(there.erase(std::string(maintenance::kRestoredKey)), 1u);
    EXPECT_EQ(there.erase(ledger::HoldKey("d")), 1u);
    EXPECT_OK(audit::CheckLog(*store));
    EXPECT_EQ(there.erase(std::string(audit::kSaltKey)), 1u);
    EXPECT_GT(
        std::erase_if(there,
                      [](const auto& pair) { return StartsWith(pair.first, audit::kAuditPrefix); }),
        3u);
    EXPECT_EQ(there, written_);
  }

  // Arms the fault at place `n`; WasMet says afterwards whether it was met.
  using Arm = std::function<void(const std::string& data_dir, uint32_t n)>;
  using WasMet = std::function<bool()>;

  // Fails a restore at each place in turn, until none is left.
  void FailEverywhere(const std::string& kind, uint32_t least, const Arm& arm,
                      const WasMet& was_met) {
    for (uint32_t n = 0;; ++n) {
      SCOPED_TRACE(StrCat(kind, " at ", n));
      const std::string data_dir = StrCat(dir_.path(), "/", kind, n);
      arm(data_dir, n);
      const StatusOr<maintenance::RestoreResult> restored = Restore(data_dir);
      const bool met = was_met();
      disk_.Heal();
      if (disk_.stopped()) disk_.Kill();
      disk_.MeetIn(data_dir, 0, nullptr);
      EXPECT_TRUE(met || restored.ok()) << restored.status();
      if (!restored.ok()) {
        ++failed_;
        EXPECT_THAT(storage::OpenRocksDbStoreForReading(data_dir),
                    StatusIs(StatusCode::kNotFound, ::testing::_));
        EXPECT_FALSE(fs::exists(data_dir + "/rocksdb"));
        ASSERT_OK(Restore(data_dir)) << "trying again";
      }
      ExpectWhole(data_dir);
      fs::remove_all(data_dir);
      if (::testing::Test::HasFailure()) return;
      if (!met) {
        EXPECT_GE(failed_, least) << "the fault was hardly met";
        return;
      }
      ASSERT_LT(n, 2'000u);
    }
  }

  const TempDir dir_;
  const std::string backups_ = dir_.path() + "/backups";
  FaultyDisk disk_;
  std::map<std::string, std::string> written_;
  uint32_t failed_ = 0;
};

TEST_F(RestoreFaultsTest, WithoutAFaultTheStoreIsWholeAndItsLedgersWait) {
  const std::string data_dir = dir_.path() + "/restored";
  ASSERT_OK_AND_ASSIGN(const maintenance::RestoreResult restored, Restore(data_dir));
  EXPECT_THAT(restored.on_hold, ElementsAre("d"));
  ExpectWhole(data_dir);
}

// The change at which the process dies, or the disk is gone, is made in part.
TEST_F(RestoreFaultsTest, CutShortAtAnyChangeOfTheDisk) {
  FailEverywhere(
      "stop", 20, [this](const std::string&, uint32_t n) { disk_.StopAfter(n); },
      [this] { return disk_.stopped(); });
}

TEST_F(RestoreFaultsTest, ADiskThatIsFullFromAnyChangeOn) {
  bool full = false;
  FailEverywhere(
      "full", 5,
      [&](const std::string& data_dir, uint32_t n) {
        full = false;
        disk_.MeetIn(data_dir + "/restoring", n, [&] {
          full = true;
          disk_.Fill(true);
        });
      },
      [&] { return full; });
}

TEST_F(RestoreFaultsTest, AShortWriteOrAFailedSyncOfTheLog) {
  for (const LogFault fault : {LogFault::kShortWrite, LogFault::kFailedSync}) {
    failed_ = 0;
    FailEverywhere(
        StrCat("log", static_cast<int>(fault), "-"), 1,
        [&](const std::string&, uint32_t n) { disk_.FailLogWrite(fault, n); },
        [this] { return !disk_.will_fail_log(); });
  }
}

}  // namespace
}  // namespace coppice
