// Batches over the life of a study and of its curator: crashes at every write, seals, deletions and
// retirements while reports wait.

#include <algorithm>
#include <atomic>
#include <functional>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "common/base/text.h"
#include "server/curator/spool/sealed_reports.h"
#include "tests/server/curator/batch_fixture.h"
#include "tests/support/crashing_store.h"
#include "tests/support/eventually.h"

namespace coppice::curator {
namespace {

using namespace ::coppice::testing;  // NOLINT: most names in this file are the fixture's.
using ::testing::_;
using ::testing::HasSubstr;

using State = BatchState;

constexpr int64_t kDay = 24 * 60 * 60;

// A store that lets nothing be deleted from the spool while it is told to stall.
class StallingStore final : public storage::Store {
 public:
  explicit StallingStore(storage::Store& disk) : disk_(disk) {}

  void Stall(bool stalled) { stalled_ = stalled; }
  // Writes what it refuses all the same, as after a sync whose answer was lost.
  void KeepRefused() { kept_ = true; }
  size_t refused() const { return refused_; }

  // How often a record of the spool was read.
  size_t reads() const { return reads_; }

  StatusOr<std::optional<std::string>> Get(std::string_view key) const override {
    if (StartsWith(key, "spool/")) ++reads_;
    return disk_.Get(key);
  }
  Status Apply(const storage::StoreBatch& batch) override {
    for (const std::string& key : batch.deleted_keys()) {
      if (!stalled_ || !StartsWith(key, "spool/")) continue;
      if (kept_) {
        EXPECT_OK(disk_.Apply(batch));
      }
      ++refused_;
      return UnavailableError("stalled");
    }
    return disk_.Apply(batch);
  }
  Status Scan(std::string_view prefix,
              absl::FunctionRef<Status(std::string_view key, std::string_view value)> visit)
      const override {
    return disk_.Scan(prefix, visit);
  }
  Status Purge(std::string_view prefix) override { return disk_.Purge(prefix); }

 private:
  storage::Store& disk_;
  std::atomic<bool> stalled_{true};
  std::atomic<bool> kept_{false};
  std::atomic<size_t> refused_{0};
  mutable std::atomic<size_t> reads_{0};
};

class BatchLifeTest : public BatchTest {
 protected:
  BatchLifeTest() : BatchTest(kLargeUnit) {}
  void SetUp() override {
    BatchTest::SetUp();
    Reopen(stalling_);
  }
  void TearDown() override { studies_.reset(); }

  void CopyTo(storage::Store& disk) {
    storage::StoreBatch all;
    for (const auto& [key, value] : store_.pairs()) all.Put(key, value);
    ASSERT_OK(disk.Apply(all));
  }

  uint64_t Waiting() { return studies_->Get("one")->relay->batches.waiting; }

  StallingStore stalling_{store_};
};

// Delivers as a relay does, until the curator answers or has failed three times.
void DeliverAsFarAsItGoes(const std::function<StatusOr<BatchProgress>()>& deliver) {
  for (int tries = 0; tries < 3 && !deliver().ok(); ++tries) {
  }
}

TEST_F(BatchLifeTest, ACrashAtAnyWriteLosesNoReportAndCountsNoneTwice) {
  const SealedBatch first = HonestBatch(1, 5);
  SealedBatch second = HonestBatch(2, 4);
  // This ticket is in both batches and must count once.
  second.reports[0] = first.reports[0];
  std::sort(second.reports.begin(), second.reports.end(),
            [](const SealedReport& a, const SealedReport& b) { return a.ticket < b.ticket; });
  SignBatch(second, RelayKey());
  studies_.reset();
  size_t crashes = 0;
  for (bool was_reached = true; was_reached; ++crashes) {
    was_reached = false;
    for (const bool kept : {false, true}) {
      SCOPED_TRACE(StrCat("write ", crashes, kept ? " kept" : " lost"));
      MemoryStore disk;
      CopyTo(disk);
      CrashingStore dying(disk, {.write = crashes, .kept = kept, .fatal = true});
      Reopen(dying);
      DeliverAsFarAsItGoes([&] { return Deliver(first, 2); });
      DeliverAsFarAsItGoes([&] { return Deliver(second, 2); });
      EXPECT_TRUE(Eventually(
          [&] { return dying.dead() || studies_->Get("one")->relay->batches.counted == 2; }));
      was_reached |= dying.dead();
      Reopen(disk);
      for (const SealedBatch* batch : {&first, static_cast<const SealedBatch*>(&second)}) {
        const StatusOr<BatchProgress> progress = Deliver(*batch, 2);
        ASSERT_OK(progress);
        EXPECT_NE(progress->state, State::kBroken);
      }
      const StudyInfo info = AwaitCounted();
      EXPECT_EQ(CountOf(info, ReportOutcome::kAccepted), 9 * unit_ - 1);
      EXPECT_EQ(CountOf(info, ReportOutcome::kDuplicate), 1u);
      EXPECT_EQ(info.in_sums, 9 * unit_ - 1);
      EXPECT_EQ(info.relay->batches.counted, 2u);
      EXPECT_OK(studies_->Reconcile());
      studies_.reset();
      EXPECT_EQ(RecordsUnder(disk, "spool/"), 0u);
    }
  }
  EXPECT_GE(crashes, 12u) << "five parts, two roots, five records of the spool";
}

TEST_F(BatchLifeTest, AFailedWriteThatIsOnDiskAllTheSameCountsNothingTwice) {
  const SealedBatch batch = HonestBatch(1, 5);
  studies_.reset();
  for (size_t write = 0; write < 8; ++write) {
    SCOPED_TRACE(write);
    MemoryStore disk;
    CopyTo(disk);
    CrashingStore failing(disk, {.write = write, .kept = true});
    Reopen(failing);
    DeliverAsFarAsItGoes([&] { return Deliver(batch, 2); });
    const StudyInfo info = AwaitCounted();
    EXPECT_EQ(CountOf(info, ReportOutcome::kAccepted), 5 * unit_);
    EXPECT_EQ(Received(info), 5 * unit_);
    EXPECT_OK(studies_->Reconcile());
    Reopen(disk);
    EXPECT_EQ(CountOf(*studies_->Get("one"), ReportOutcome::kAccepted), 5 * unit_);
    EXPECT_OK(studies_->Reconcile());
    studies_.reset();
  }
}

TEST_F(BatchLifeTest, AStoredBatchCountsAfterTheStudyIsSealed) {
  ASSERT_OK(Deliver(HonestBatch(1, 6)));
  ASSERT_OK(Deliver(HonestBatch(2, 5)));
  EXPECT_EQ(Waiting(), 11 * unit_);
  ASSERT_OK(studies_->Seal("one"));
  EXPECT_THAT(studies_->BuildModel("one", "final", {}),
              StatusIs(StatusCode::kFailedPrecondition,
                       HasSubstr("2750 sealed reports of study one wait to be opened")));
  EXPECT_THAT(studies_->GetCounts("one", {}),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("wait to be opened")));
  ASSERT_OK(studies_->Sweep());
  EXPECT_FALSE(studies_->Get("one")->relay->keys_erased) << "they are needed yet";
  stalling_.Stall(false);
  const StudyInfo info = AwaitCounted();
  EXPECT_EQ(CountOf(info, ReportOutcome::kAccepted), 11 * unit_);
  EXPECT_EQ(info.state, StudyState::kSealed);
  ASSERT_OK(studies_->Sweep());
  EXPECT_TRUE(studies_->Get("one")->relay->keys_erased);
  ASSERT_OK_AND_ASSIGN(const models::ModelInfo model, studies_->BuildModel("one", "final", {}));
  EXPECT_EQ(model.model->certificate().reports, 11 * unit_);
  EXPECT_EQ(studies_->Get("one")->final_model, "final");
  EXPECT_OK(studies_->Reconcile());
}

// The tickets that were spent before are known after a restart, though the study is sealed.
TEST_F(BatchLifeTest, ADuplicateIsFoundAfterSealingAndARestart) {
  stalling_.Stall(false);
  SealedBatch batch = HonestBatch(1, 6);
  ASSERT_OK(Deliver(batch));
  AwaitCounted();
  stalling_.Stall(true);
  batch.header.epoch = {2};
  SignBatch(batch, RelayKey());
  ASSERT_OK(Deliver(batch));
  ASSERT_OK(studies_->Seal("one"));
  Reopen(stalling_);
  EXPECT_EQ(Waiting(), 6 * unit_);
  stalling_.Stall(false);
  EXPECT_EQ(CountOf(AwaitCounted(), ReportOutcome::kDuplicate), 6 * unit_);
  EXPECT_EQ(CountOf(*studies_->Get("one"), ReportOutcome::kAccepted), 6 * unit_);
}

TEST_F(BatchLifeTest, ARestartForgetsNeitherTheLastTicketNorTheDeal) {
  SealedBatch batch = HonestBatch(1, 6);
  ASSERT_OK(DeliverPart(batch, 0, 3));
  Reopen(stalling_);
  EXPECT_EQ(*Ask(batch), (BatchProgress{.received = 3 * unit_}));
  std::swap(batch.reports[0], batch.reports[3 * unit_]);
  EXPECT_THAT(DeliverPart(batch, 3, 3),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("must increase")));
  EXPECT_THAT(Ask(HonestBatch(1, 5)),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("at fault")));
  std::swap(batch.reports[0], batch.reports[3 * unit_]);
  EXPECT_EQ(Deliver(batch)->state, State::kStored);
}

TEST_F(BatchLifeTest, SealingDropsTheReportsOfWhatHasNotComeAsAWhole) {
  const SealedBatch begun = HonestBatch(1, 6);
  ASSERT_OK(DeliverPart(begun, 0, 4));
  ++now_;
  const SealedBatch stored = HonestBatch(2, 5);
  ASSERT_OK(Deliver(stored));
  const SealedBatch late = HonestBatch(3, 5);
  ASSERT_OK(studies_->Seal("one"));
  EXPECT_EQ(Waiting(), 5 * unit_);
  EXPECT_EQ(RecordsUnder("spool/"), 2u);
  const auto refused = StatusIs(StatusCode::kFailedPrecondition, HasSubstr("is sealed"));
  for (const char* when : {"at once", "after a restart"}) {
    SCOPED_TRACE(when);
    EXPECT_EQ(RecordsUnder("batch/"), 2u) << "reports of both were seen";
    const StudyInfo info = *studies_->Get("one");
    ASSERT_EQ(info.relay->batches.newest.size(), 2u);
    EXPECT_EQ(info.relay->batches.newest[0].state, State::kBroken);
    EXPECT_EQ(info.relay->batches.newest[1].state, State::kStored);
    EXPECT_THAT(DeliverPart(begun, 4, 2), refused);
    EXPECT_THAT(Ask(begun), refused);
    EXPECT_THAT(Deliver(late), refused);
    EXPECT_EQ(Ask(stored)->state, State::kStored) << "the relay may still ask";
    Reopen(stalling_);
  }
}

TEST_F(BatchLifeTest, AnExpiredStudyIsSealedInTheSameWay) {
  StudySpec spec = RelayedSpec("two");
  spec.settings.expires_unix_seconds = 2000;
  ASSERT_OK(studies_->Create(spec));
  const SealedBatch begun = HonestBatch(1, 6, "two");
  const SealedBatch stored = HonestBatch(2, 5, "two");
  ASSERT_OK(DeliverPart(begun, 0, 4, "two"));
  ASSERT_OK(Deliver(stored, 4, "two"));
  now_ = 2000;
  EXPECT_THAT(DeliverPart(begun, 4, 2, "two"),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("is sealed")));
  stalling_.Stall(false);
  const StudyInfo info = AwaitCounted("two");
  EXPECT_EQ(CountOf(info, ReportOutcome::kAccepted), 5 * unit_);
  EXPECT_TRUE(info.expired);
}

TEST_F(BatchLifeTest, ADeletedStudyLeavesNothingOfItsBatches) {
  const SealedBatch begun = HonestBatch(1, 6);
  ASSERT_OK(DeliverPart(begun, 0, 4));
  ASSERT_OK(Deliver(HonestBatch(2, 5)));
  ASSERT_OK(studies_->Delete("one"));
  EXPECT_THAT(DeliverPart(begun, 4, 2), StatusIs(StatusCode::kNotFound, _));
  stalling_.Stall(false);
  studies_->Drain();
  EXPECT_EQ(RecordsUnder("batch/") + RecordsUnder("spool/") + RecordsUnder("sums/") +
                RecordsUnder("count/"),
            0u);
}

TEST_F(BatchLifeTest, ARetiredStudyKeepsTotalsOfWhatWasCountedAlone) {
  StudySpec spec = RelayedSpec("two");
  spec.settings.retention_days = 1;
  ASSERT_OK(studies_->Create(spec));
  stalling_.Stall(false);
  const SealedBatch counted = HonestBatch(1, 6, "two");
  ASSERT_OK(Deliver(counted, 4, "two"));
  AwaitCounted("two");
  stalling_.Stall(true);
  const SealedBatch waits = HonestBatch(2, 5, "two");
  ASSERT_OK(Deliver(waits, 4, "two"));
  ASSERT_OK(studies_->Seal("two"));
  now_ += kDay;
  studies_->Sweep().IgnoreError();
  const StudyInfo info = *studies_->Get("two");
  ASSERT_TRUE(info.retired);
  EXPECT_EQ(info.relay->batches.waiting, 0u);
  EXPECT_EQ(info.relay->batches.batches, 1u);
  EXPECT_EQ(info.relay->batches.least_accepted, 6 * unit_);
  EXPECT_EQ(RecordsUnder("spool/"), 0u);
  stalling_.Stall(false);
  Reopen(store_);
  EXPECT_TRUE(studies_->Get("two")->retired);
  EXPECT_OK(studies_->Reconcile());
}

TEST_F(BatchLifeTest, TheOpenerStopsWhileTheStoreDoesNotWork) {
  ASSERT_OK(Deliver(HonestBatch(1, 6)));
  EXPECT_TRUE(Eventually([&] { return stalling_.refused() >= 2; }));
  studies_->Drain();
  EXPECT_EQ(RecordsUnder("spool/"), 2u);
  stalling_.Stall(false);
  Reopen(store_);
  EXPECT_EQ(CountOf(AwaitCounted(), ReportOutcome::kAccepted), 6 * unit_);
}

// Another record written now would take the unknown write's reports out of the sums again.
TEST_F(BatchLifeTest, OnceItStopsTheOpenerWritesNothingAfterAWriteOfUnknownOutcome) {
  stalling_.KeepRefused();
  ASSERT_OK(Deliver(HonestBatch(1, 5), 1));
  EXPECT_TRUE(Eventually([&] { return stalling_.refused() > 0; }));
  const size_t before = stalling_.reads();
  stalling_.Stall(false);
  EXPECT_TRUE(Eventually([&] { return stalling_.reads() > before; })) << "others open records";
  studies_->Drain();
  Reopen(store_);
  EXPECT_EQ(CountOf(AwaitCounted(), ReportOutcome::kAccepted), 5 * unit_);
  EXPECT_OK(studies_->Reconcile());
}

TEST_F(BatchLifeTest, AMissingRecordIsToldAndNoFinalModelIsBuilt) {
  const SealedBatch batch = HonestBatch(1, 5);
  ASSERT_OK(Deliver(batch, 4));
  studies_->Drain();
  storage::StoreBatch damage;
  damage.Delete(SpoolKey("one", Sha256({batch.header_bytes}), 0));
  ASSERT_OK(store_.Apply(damage));
  Reopen(store_);
  Status told;
  while (told.ok()) told = studies_->Sweep();
  EXPECT_THAT(told, StatusIs(StatusCode::kDataLoss, HasSubstr("reports of one of its")));
  EXPECT_EQ(CountOf(*studies_->Get("one"), ReportOutcome::kAccepted), unit_);
  ASSERT_OK(studies_->Seal("one"));
  EXPECT_THAT(studies_->BuildModel("one", "final", {}),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("1000 sealed reports")));
}

// A record that cannot be read is logged, and does not keep another batch from being counted.
TEST_F(BatchLifeTest, ADamagedRecordWaitsAndIsTold) {
  const SealedBatch damaged = HonestBatch(1, 6);
  ASSERT_OK(Deliver(damaged));
  studies_->Drain();
  storage::StoreBatch damage;
  damage.Put(SpoolKey("one", Sha256({damaged.header_bytes}), 0), "no record");
  ASSERT_OK(store_.Apply(damage));
  stalling_.Stall(false);
  Reopen(store_);
  ASSERT_OK(Deliver(HonestBatch(2, 5)));
  EXPECT_TRUE(Eventually([&] { return studies_->Get("one")->relay->batches.counted > 0; }));
  Status told;
  while (told.ok()) told = studies_->Sweep();
  EXPECT_THAT(told, StatusIs(StatusCode::kDataLoss, HasSubstr("spool/one/")));
  EXPECT_EQ(Waiting(), 6 * unit_);
  EXPECT_OK(studies_->Reconcile());
}

}  // namespace
}  // namespace coppice::curator
