// What a check says about the audit log, and that no repair or restore mends it in silence.

#include <string>
#include <vector>

#include "common/base/status.h"
#include "server/daemon/maintenance/maintenance.h"
#include "server/daemon/maintenance/restore.h"
#include "server/datasets/ledger/ledger_record.h"
#include "server/store/rocksdb/rocksdb_store.h"
#include "server/store/store_format.h"
#include "tests/server/store/audit_log/audit_fixture.h"
#include "tests/support/temp_dir.h"

namespace coppice::maintenance {
namespace {

using namespace ::coppice::testing;  // NOLINT: most names in this file are the fixtures'.
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const ProgressCallback kQuiet = [](const std::string&) {};
constexpr int64_t kRepairTime = 1'700'100'000;

class AuditRepairTest : public ::testing::Test {
 protected:
  // A ledger with three entries, which a log tells.
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(const auto store, storage::OpenRocksDbStore(data_dir_));
    ASSERT_OK(storage::OpenFormat(*store));
    ASSERT_OK_AND_ASSIGN(const AuditedLedger audited, OpenAudited(*store, now_));
    ASSERT_OK(audited.ledger->OpenAccount("d", BasicCap(kEpsilon), {}));
    ASSERT_OK(audited.ledger->Reserve("d", "a", Releases(5), {}));
    ASSERT_OK(audited.ledger->Reserve("d", "b", Releases(5), {}));
    ASSERT_OK(store->Backup({.folder = backups_}).status());
  }

  void Change(const storage::StoreBatch& batch) const {
    ASSERT_OK_AND_ASSIGN(const auto store, storage::OpenRocksDbStore(data_dir_));
    ASSERT_OK(store->Apply(batch));
  }

  // The problems that a repair acts on; the ledger's dataset and jobs have no records here.
  static std::vector<Problem> ToRepair(const Findings& found) {
    std::vector<Problem> problems = found.problems;
    std::erase_if(problems, [](const Problem& problem) { return problem.remedy == Remedy::kNone; });
    return problems;
  }
  std::vector<Problem> Problems() const {
    const StatusOr<Findings> found = CheckStore(data_dir_, kQuiet);
    EXPECT_OK(found.status());
    return found.ok() ? ToRepair(*found) : std::vector<Problem>();
  }

  RepairResult Repair() const {
    StatusOr<RepairResult> result =
        RepairStore(data_dir_, folder_.path() + "/kept", kRepairTime, kQuiet);
    EXPECT_OK(result.status());
    return result.ok() ? *std::move(result) : RepairResult();
  }

  // What a daemon finds that starts on `data_dir`: the log's actions, and the ledger's hold.
  struct Found {
    std::vector<std::string> actions;
    ledger::HoldReason hold = ledger::HoldReason::kNone;
  };
  Found Start(const std::string& data_dir) const {
    Found found;
    const auto store = storage::OpenRocksDbStore(data_dir);
    EXPECT_OK(store.status());
    const StatusOr<AuditedLedger> audited = OpenAudited(**store, now_);
    EXPECT_OK(audited.status());
    if (!audited.ok()) return found;
    const auto entries = ReadAll(*audited->log);
    EXPECT_OK(entries.status());
    for (const v1::AuditEntry& entry : *entries) found.actions.push_back(entry.action());
    const StatusOr<ledger::Account> account = audited->ledger->Get("d");
    if (account.ok()) found.hold = account->hold.reason;
    return found;
  }

  const int64_t now_ = 1'700'000'000;
  const TempDir folder_;
  const std::string data_dir_ = folder_.path() + "/data";
  const std::string backups_ = folder_.path() + "/backups";
};

TEST_F(AuditRepairTest, ASoundStoreHasNoProblems) {
  EXPECT_THAT(Problems(), IsEmpty());
  ASSERT_OK_AND_ASSIGN(const Findings found, CheckStore(data_dir_, kQuiet));
  EXPECT_EQ(found.counts.at("audit entry"), 4u);
}

TEST_F(AuditRepairTest, AfterAFailoverThatNobodyVouchesForEveryLedgerIsHeldOnce) {
  const auto hold = [this](bool failed_over) {
    const auto store = storage::OpenRocksDbStore(data_dir_);
    EXPECT_OK(store.status());
    if (failed_over) {
      storage::StoreBatch batch;
      batch.Put(std::string(storage::kFailoverKey), "from timeline 1 to 2");
      EXPECT_OK((*store)->Apply(batch));
    }
    const StatusOr<AuditedLedger> audited = OpenAudited(**store, now_);
    EXPECT_OK(audited.status());
    const auto held = HoldAfterFailover(**store, *audited->log, kRepairTime);
    EXPECT_OK(held.status());
    return *held;
  };
  EXPECT_THAT(hold(false), IsEmpty());
  EXPECT_THAT(hold(true), ElementsAre("d"));
  EXPECT_THAT(hold(false), IsEmpty());
  const Found found = Start(data_dir_);
  EXPECT_EQ(found.hold, ledger::HoldReason::kUnconfirmed);
  EXPECT_THAT(found.actions, Contains("store/failover"));
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(AuditRepairTest, AfterABrokenLogTheNextOneSaysSoAndEveryLedgerIsHeld) {
  storage::StoreBatch batch;
  batch.Put(audit::EntryKey(2), "no entry");
  Change(batch);
  const std::vector<Problem> problems = Problems();
  ASSERT_THAT(problems, SizeIs(1));
  EXPECT_EQ(problems[0].key, audit::EntryKey(2));
  EXPECT_EQ(problems[0].remedy, Remedy::kResumeAuditLog);
  const RepairResult result = Repair();
  EXPECT_THAT(ToRepair(result.left), IsEmpty());
  EXPECT_THAT(result.done.back().what, HasSubstr("log/resume"));
  const Found found = Start(data_dir_);
  EXPECT_THAT(found.actions, ElementsAre("log/begin", "ledger/open", "log/resume"));
  EXPECT_EQ(found.hold, ledger::HoldReason::kUnconfirmed);
}

TEST_F(AuditRepairTest, ALedgerThatLacksItsLastEntriesIsClosed) {
  storage::StoreBatch batch;
  batch.Delete(ledger::LedgerKey("d", 2));
  Change(batch);
  const std::vector<Problem> problems = Problems();
  EXPECT_THAT(problems, Contains(::testing::Field(&Problem::remedy, Remedy::kCloseLedger)));
  EXPECT_THAT(ToRepair(Repair().left), IsEmpty());
  const Found found = Start(data_dir_);
  EXPECT_THAT(found.actions, ElementsAre("log/begin", "ledger/open", "ledger/charge",
                                         "ledger/charge", "ledger/close", "store/repair"));
  EXPECT_EQ(found.hold, ledger::HoldReason::kClosed);
}

TEST_F(AuditRepairTest, AHoldThatWasTakenAwayClosesTheLedger) {
  ASSERT_OK(RestoreStore(backups_, 0, folder_.path() + "/restored", kRepairTime, kQuiet).status());
  const Found restored = Start(folder_.path() + "/restored");
  EXPECT_THAT(restored.actions, ElementsAre("log/begin", "ledger/open", "ledger/charge",
                                            "ledger/charge", "store/restore", "ledger/hold"));
  EXPECT_EQ(restored.hold, ledger::HoldReason::kUnconfirmed);
  {
    ASSERT_OK_AND_ASSIGN(const auto store, storage::OpenRocksDbStore(folder_.path() + "/restored"));
    storage::StoreBatch batch;
    batch.Delete(ledger::HoldKey("d"));
    ASSERT_OK(store->Apply(batch));
    EXPECT_THAT(audit::CheckLog(*store),
                StatusIs(StatusCode::kDataLoss, AllOf(HasSubstr(ledger::HoldKey("d")),
                                                      HasSubstr("this hold has not ended"))));
  }
  ASSERT_OK_AND_ASSIGN(
      const RepairResult result,
      RepairStore(folder_.path() + "/restored", folder_.path() + "/kept", kRepairTime, kQuiet));
  EXPECT_THAT(ToRepair(result.left), IsEmpty());
  EXPECT_EQ(Start(folder_.path() + "/restored").hold, ledger::HoldReason::kClosed);
}

TEST_F(AuditRepairTest, AnOfflineCommandIsEnteredHoweverItEnds) {
  {
    ASSERT_OK_AND_ASSIGN(const auto store, storage::OpenRocksDbStore(data_dir_));
    ASSERT_OK(RunAudited(*store, kRepairTime, "store/assign-owner", [] { return OkStatus(); }));
    EXPECT_FALSE(
        RunAudited(*store, kRepairTime, "store/other", [] { return NotFoundError(""); }).ok());
  }
  EXPECT_THAT(Start(data_dir_).actions,
              ElementsAre("log/begin", "ledger/open", "ledger/charge", "ledger/charge",
                          "store/assign-owner", "store/other"));
}

}  // namespace
}  // namespace coppice::maintenance
