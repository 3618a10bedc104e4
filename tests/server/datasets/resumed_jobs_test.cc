// Jobs that go on after a crash: any write may be the last, and what others may have heard of is
// what the next run has.

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "common/base/text.h"
#include "coppice/v1/storage.pb.h"
#include "server/datasets/central_keys.h"
#include "server/datasets/checkpoints.h"
#include "server/datasets/job_record.h"
#include "server/datasets/jobs.h"
#include "server/datasets/ledger/ledger_record.h"
#include "tests/server/datasets/central_fixture.h"
#include "tests/server/datasets/step_trainer.h"
#include "tests/support/crashing_store.h"
#include "tests/support/memory_store.h"

namespace coppice::central {
namespace {

using namespace ::coppice::testing;  // NOLINT: most names in this file are the fixture's.
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr size_t kWritesToMakeIt = 2;
constexpr size_t kWritesBeforeASteps = kWritesToMakeIt + 2;  // it is charged, and begins
constexpr size_t kWritesOfAJob = 2 + StepTrainer::kSteps + 1;

// Checkpoints after each step.
JobOptions EachStep(size_t threads = 1) {
  JobOptions options = QuickOptions(threads);
  options.between_checkpoints = absl::ZeroDuration();
  return options;
}

size_t CheckpointsIn(const storage::MemoryStore& disk) {
  const auto pairs = disk.pairs();
  return static_cast<size_t>(std::count_if(
      pairs.begin(), pairs.end(), [](const auto& pair) { return IsCheckpointKey(pair.first); }));
}

// Whether the later run has all that others may have heard of from the earlier one, and its coins.
bool Follows(const StepTrainer::Run& later, const StepTrainer::Run& earlier) {
  const size_t known = earlier.passed * StepTrainer::kDraws;
  return later.coins == earlier.coins && later.values.size() >= known &&
         std::equal(earlier.values.begin(), earlier.values.begin() + static_cast<ptrdiff_t>(known),
                    later.values.begin());
}

// Waits until the job has ended, or the store is dead and it waits.
void AwaitEndOrDeadStore(Jobs& jobs, const CrashingStore& store) {
  const auto recorder = std::make_shared<Recorder>();
  ASSERT_OK(jobs.Watch("j", recorder));
  recorder->Await([&store](const JobInfo& told) {
    return HasEnded(told.state) || (store.dead() && !told.reason.empty());
  });
}

// Runs a daemon on the disk whose write fails; false: it did not get so far.
void RunUntil(storage::Store& disk, const StepTrainer& trainer, const WriteFault& fault) {
  CrashingStore store(disk, fault);
  const StatusOr<Central> central = OpenCentral(store, {&trainer}, EachStep());
  // A job goes on while the daemon still starts, and may be the first whose write fails.
  if (!central.ok() && store.dead()) return;
  ASSERT_OK(central.status());
  if (!central->datasets->Get("d").ok()) {
    ASSERT_OK(MakeDataset(*central->datasets, SpecOf("d")));
  }
  if (!central->jobs->Get("j").ok() && !central->jobs->Submit(RequestOf("j")).ok()) return;
  AwaitEndOrDeadStore(*central->jobs, store);
}

// Runs a daemon on the disk until the job has ended.
JobInfo RunToTheEnd(storage::Store& disk, const StepTrainer& trainer, ledger::Account& account) {
  Central central = *OpenCentral(disk, {&trainer}, EachStep());
  JobInfo ended = AwaitEnd(*central.jobs, "j");
  account = *central.ledger->Get("d");
  EXPECT_EQ(central.models->Get("j").ok(), ended.state == JobState::kDone);
  return ended;
}

int CountEntries(const ledger::Account& account, ledger::EntryKind kind) {
  return static_cast<int>(
      std::count_if(account.entries.begin(), account.entries.end(),
                    [kind](const ledger::LedgerEntry& entry) { return entry.kind == kind; }));
}

// A disk whose daemon died at the end of step 1, before anything of it was written.
class CutShortTest : public ::testing::Test {
 protected:
  void SetUp() override {
    RunUntil(disk_, trainer_, {.write = kWritesBeforeASteps + 1, .fatal = true});
    ASSERT_THAT(trainer_.runs(), SizeIs(1));
    ASSERT_EQ(trainer_.runs().front().passed, 1U);
  }

  JobInfo GoOn(storage::Store& disk) { return RunToTheEnd(disk, trainer_, account_); }
  // The job ends with this reason, charged, and nothing runs.
  void ExpectEnds(storage::Store& disk, const std::string& reason) {
    const JobInfo ended = GoOn(disk);
    EXPECT_EQ(ended.state, JobState::kFailed);
    EXPECT_THAT(ended.reason, AllOf(HasSubstr(reason), HasSubstr("its cost stays spent")));
    EXPECT_EQ(account_.spent.epsilon_nanos, kEpsilon);
    EXPECT_EQ(CountEntries(account_, ledger::EntryKind::kSettle), 1);
    EXPECT_THAT(trainer_.runs(), SizeIs(1));
  }
  // Changes the job's start, and all hashes that depend on it.
  template <typename Change>
  void RewriteStart(Change change) {
    JobEntry entry = *DecodeJob(JobKey("j"), *disk_.Get(JobKey("j")).value());
    v1::JobStartRecord start;
    start.ParseFromString(*disk_.Get(CheckpointKey("d", "j", 0)).value());
    change(start);
    const KeptRun kept = *ReadKeptRun(disk_, "d", "j", *entry.resume);
    const std::string bytes = start.SerializeAsString();
    const Sha256Digest digest = Sha256({bytes});
    storage::StoreBatch batch;
    batch.Put(CheckpointKey("d", "j", 0), bytes);
    entry.resume = PutCheckpoint("d", "j", {.last_sha256 = std::string(AsBytes(digest))},
                                 kept.released, batch);
    batch.Put(JobKey("j"), EncodeJob(entry));
    ASSERT_OK(disk_.Apply(batch));
  }

  MemoryStore disk_;
  StepTrainer trainer_;
  ledger::Account account_;
};

TEST_F(CutShortTest, ItGoesOnWithItsValuesAndItsCoins) {
  EXPECT_EQ(CheckpointsIn(disk_), 2U);  // the start, and step 0
  EXPECT_EQ(GoOn(disk_).state, JobState::kDone);
  ASSERT_THAT(trainer_.runs(), SizeIs(2));
  EXPECT_TRUE(Follows(trainer_.runs()[1], trainer_.runs()[0]));
  EXPECT_EQ(account_.spent.epsilon_nanos, kEpsilon);
  EXPECT_EQ(CountEntries(account_, ledger::EntryKind::kReserve), 1);
  EXPECT_EQ(CountEntries(account_, ledger::EntryKind::kSettle), 1);
  EXPECT_EQ(CheckpointsIn(disk_), 0U);
}

// What it drew in its last step nobody has heard of. That two draws are equal has a probability
// below 10^-6, that both are below 10^-11.
TEST_F(CutShortTest, ItDrawsAfreshWhatWasNotStored) {
  GoOn(disk_);
  const std::vector<StepTrainer::Run> runs = trainer_.runs();
  const std::vector<int64_t> first(runs[0].values.begin() + 2, runs[0].values.begin() + 4);
  const std::vector<int64_t> second(runs[1].values.begin() + 2, runs[1].values.begin() + 4);
  EXPECT_NE(first, second);
}

TEST_F(CutShortTest, ThreeEndsWithinOneStepFailIt) {
  for (int end = 0; end < 2; ++end) {
    RunUntil(disk_, trainer_, {.write = 1, .fatal = true});  // write 0 counts the run
  }
  ASSERT_THAT(trainer_.runs(), SizeIs(3));
  const JobInfo ended = GoOn(disk_);
  EXPECT_EQ(ended.state, JobState::kFailed);
  EXPECT_THAT(ended.reason,
              AllOf(HasSubstr("three times within one step"), HasSubstr("its cost stays spent")));
  EXPECT_EQ(account_.spent.epsilon_nanos, kEpsilon);
  EXPECT_THAT(trainer_.runs(), SizeIs(3));
  EXPECT_EQ(CheckpointsIn(disk_), 0U);
}

TEST_F(CutShortTest, AStepForwardForgivesEarlierEnds) {
  for (size_t step = 1; step < StepTrainer::kSteps; ++step) {
    // Once within the step, and once after it.
    RunUntil(disk_, trainer_, {.write = 1, .fatal = true});
    RunUntil(disk_, trainer_, {.write = 1, .kept = true, .fatal = true});
  }
  EXPECT_EQ(GoOn(disk_).state, JobState::kDone);
}

TEST_F(CutShortTest, ItDoesNotGoOnWhereTheLedgerIsOnHold) {
  storage::StoreBatch restored;
  restored.Put(ledger::HoldKey("d"),
               ledger::EncodeHold({.reason = ledger::HoldReason::kUnconfirmed, .head = {}}));
  ASSERT_OK(disk_.Apply(restored));
  ExpectEnds(disk_, "restored or repaired");
  EXPECT_EQ(CheckpointsIn(disk_), 0U);
}

// A planted bug: a store that was restored goes on.
TEST_F(CutShortTest, AResumeFromARestoredStoreWouldBeSeen) {
  MemoryStore restored;
  storage::StoreBatch batch;
  for (const auto& [key, value] : disk_.pairs()) batch.Put(key, value);
  ASSERT_OK(restored.Apply(batch));
  EXPECT_EQ(GoOn(disk_).state, JobState::kDone);
  EXPECT_EQ(GoOn(restored).state, JobState::kDone);
  const std::vector<StepTrainer::Run> runs = trainer_.runs();
  ASSERT_THAT(runs, SizeIs(3)) << "two models of one charge: the hold prevents that, as above";
  EXPECT_NE(runs[1].values, runs[2].values);
}

TEST_F(CutShortTest, ItDoesNotGoOnInACopyThatHasNoCheckpoints) {
  storage::StoreBatch copied;
  DeleteCheckpoints("d", "j", copied);
  ASSERT_OK(disk_.Apply(copied));
  ExpectEnds(disk_, "its checkpoints are not in this store");
}

TEST_F(CutShortTest, ItDoesNotGoOnFromACheckpointOfAnotherTime) {
  storage::StoreBatch older;
  older.Put(CheckpointKey("d", "j", 1), *disk_.Get(CheckpointKey("d", "j", 0)).value());
  ASSERT_OK(disk_.Apply(older));
  ExpectEnds(disk_, "is not the checkpoint that its job names");
}

TEST_F(CutShortTest, ItDoesNotGoOnWithoutAnOpenCharge) {
  storage::StoreBatch damaged;
  damaged.Delete(ledger::LedgerKey("d", 1));
  ASSERT_OK(disk_.Apply(damaged));
  EXPECT_FALSE(OpenCentral(disk_, {&trainer_}, EachStep()).ok());
  EXPECT_THAT(trainer_.runs(), SizeIs(1));
}

TEST_F(CutShortTest, ItDoesNotGoOnWithOtherRows) {
  MemoryStore other;
  const Central central = *OpenCentral(other, {&trainer_}, EachStep());
  ASSERT_OK(central.datasets->Create(SpecOf("d")));
  v1::RowBlock rows = Block(10);
  rows.mutable_columns(0)->set_values(3, 99);
  ASSERT_OK(UploadBlock(*central.datasets, "d", 0, rows, /*complete=*/true));
  storage::StoreBatch changed;
  changed.Put(ChunkKey("d", 0), *other.Get(ChunkKey("d", 0)).value());
  ASSERT_OK(disk_.Apply(changed));
  ExpectEnds(disk_, "the rows are not those that it began with");
}

TEST_F(CutShortTest, ItDoesNotGoOnUnderAnotherVersion) {
  RewriteStart([](v1::JobStartRecord& start) { start.set_code_version("0.0.1"); });
  ExpectEnds(disk_, "version 0.0.1 began it");
}

// A planted bug: the groups are drawn anew. The digest of the rows is under the seed.
TEST_F(CutShortTest, OtherCoinsAreNoticed) {
  RewriteStart([](v1::JobStartRecord& start) { start.set_coin_seed(std::string(32, 'x')); });
  ExpectEnds(disk_, "the rows are not those that it began with");
}

// Any write of the job's life may fail, be kept all the same, and be the process's last.
struct LastWrite {
  size_t write;
  bool kept;
};
class ResumedJobsTest : public ::testing::TestWithParam<LastWrite> {};

// Goes on twice: the second daemon dies as well, one write later.
TEST_P(ResumedJobsTest, EachRunHasWhatOthersMayHaveHeardOf) {
  MemoryStore disk;
  StepTrainer trainer;
  const size_t write = kWritesToMakeIt + GetParam().write;
  RunUntil(disk, trainer, {.write = write, .kept = GetParam().kept, .fatal = true});
  RunUntil(disk, trainer, {.write = 2, .kept = GetParam().kept, .fatal = true});
  ledger::Account account;
  if (!disk.Get(JobKey("j")).value().has_value()) {
    RunUntil(disk, trainer, {.write = SIZE_MAX});
  }
  const JobInfo ended = RunToTheEnd(disk, trainer, account);
  EXPECT_EQ(ended.state, JobState::kDone) << ended.reason;
  EXPECT_EQ(account.spent.epsilon_nanos, kEpsilon);
  EXPECT_EQ(CountEntries(account, ledger::EntryKind::kReserve), 1);
  EXPECT_EQ(CountEntries(account, ledger::EntryKind::kSettle), 1);
  EXPECT_EQ(CheckpointsIn(disk), 0U);
  const std::vector<StepTrainer::Run> runs = trainer.runs();
  for (size_t run = 1; run < runs.size(); ++run) EXPECT_TRUE(Follows(runs[run], runs[run - 1]));
}

// The process lives on, and so does the run.
TEST_P(ResumedJobsTest, AWriteThatFailsOnceIsRepeated) {
  MemoryStore disk;
  StepTrainer trainer;
  CrashingStore store(disk, {.write = kWritesToMakeIt + 1 + GetParam().write % (kWritesOfAJob - 1),
                             .kept = GetParam().kept});
  const Central central = *OpenCentral(store, {&trainer}, EachStep());
  ASSERT_OK(MakeDataset(*central.datasets, SpecOf("d")));
  ASSERT_OK(central.jobs->Submit(RequestOf("j")));
  EXPECT_EQ(AwaitEnd(*central.jobs, "j").state, JobState::kDone);
  EXPECT_THAT(trainer.runs(), SizeIs(1));
  EXPECT_EQ(CheckpointsIn(disk), 0U);
}

std::vector<LastWrite> EachWrite() {
  std::vector<LastWrite> faults;
  for (size_t write = 0; write < kWritesOfAJob; ++write) {
    for (const bool kept : {false, true}) faults.push_back({write, kept});
  }
  return faults;
}
INSTANTIATE_TEST_SUITE_P(Writes, ResumedJobsTest, ::testing::ValuesIn(EachWrite()),
                         [](const auto& test) {
                           return StrCat("Write", test.param.write,
                                         test.param.kept ? "Kept" : "Lost");
                         });

// A planted bug: the store says OK, and writes with the next batch.
class EarlyAnswers final : public storage::Store {
 public:
  explicit EarlyAnswers(storage::Store& store) : store_(store) {}

  StatusOr<std::optional<std::string>> Get(std::string_view key) const override {
    return store_.Get(key);
  }
  Status Apply(const storage::StoreBatch& batch) override {
    if (!is_late_) return store_.Apply(batch);
    const storage::StoreBatch before = std::exchange(late_, batch);
    return store_.Apply(before);
  }
  Status Scan(std::string_view prefix,
              absl::FunctionRef<Status(std::string_view key, std::string_view value)> visit)
      const override {
    return store_.Scan(prefix, visit);
  }
  Status Purge(std::string_view prefix) override { return store_.Purge(prefix); }

  void BeLate() { is_late_ = true; }

 private:
  storage::Store& store_;
  std::atomic<bool> is_late_{false};
  storage::StoreBatch late_;
};

TEST(ResumedJobsTwinTest, AValueThatIsUsedBeforeItIsDurableIsFound) {
  MemoryStore disk, at_crash;
  StepTrainer trainer;
  EarlyAnswers store(disk);
  trainer.AtStep([&](size_t step) {
    if (step == 0) store.BeLate();
    if (step != 2) return;
    storage::StoreBatch batch;
    for (const auto& [key, value] : disk.pairs()) batch.Put(key, value);
    ASSERT_OK(at_crash.Apply(batch));
  });
  size_t passed = 0;
  {
    const Central central = *OpenCentral(store, {&trainer}, EachStep());
    ASSERT_OK(MakeDataset(*central.datasets, SpecOf("d")));
    ASSERT_OK(central.jobs->Submit(RequestOf("j")));
    EXPECT_EQ(AwaitEnd(*central.jobs, "j").state, JobState::kDone);
  }
  passed = 2;
  trainer.AtStep(nullptr);
  ledger::Account account;
  RunToTheEnd(at_crash, trainer, account);
  std::vector<StepTrainer::Run> runs = trainer.runs();
  ASSERT_THAT(runs, SizeIs(2));
  runs[0].passed = passed;  // when the disk was copied
  EXPECT_FALSE(Follows(runs[1], runs[0]));
}

TEST(ResumedJobTest, AStopIsNoCrashAndLosesNothing) {
  MemoryStore disk;
  StepTrainer trainer;
  for (int stop = 0; stop < 5; ++stop) {
    const Central central = *OpenCentral(disk, {&trainer}, EachStep());
    trainer.AtStep([&](size_t step) {
      if (step == 1) central.jobs->Drain(absl::InfinitePast());
    });
    if (stop == 0) {
      ASSERT_OK(MakeDataset(*central.datasets, SpecOf("d")));
      ASSERT_OK(central.jobs->Submit(RequestOf("j")));
    }
    while (trainer.runs().size() <= static_cast<size_t>(stop))
      absl::SleepFor(absl::Milliseconds(1));
    while (trainer.runs().back().values.size() < 4) absl::SleepFor(absl::Milliseconds(1));
  }
  trainer.AtStep(nullptr);
  ledger::Account account;
  EXPECT_EQ(RunToTheEnd(disk, trainer, account).state, JobState::kDone);
  std::vector<StepTrainer::Run> runs = trainer.runs();
  for (size_t run = 1; run < runs.size(); ++run) {
    runs[run - 1].passed = 2;  // what it had drawn when it was stopped
    EXPECT_TRUE(Follows(runs[run], runs[run - 1]));
  }
}

TEST(ResumedJobTest, ACancellationIsDurableBeforeItIsAnswered) {
  MemoryStore disk, at_answer;
  StepTrainer trainer;
  {
    const Central central = *OpenCentral(disk, {&trainer}, EachStep());
    trainer.AtStep([&](size_t step) {
      if (step != 1) return;
      ASSERT_OK(central.jobs->Cancel("j"));
      storage::StoreBatch batch;
      for (const auto& [key, value] : disk.pairs()) batch.Put(key, value);
      ASSERT_OK(at_answer.Apply(batch));
    });
    ASSERT_OK(MakeDataset(*central.datasets, SpecOf("d")));
    ASSERT_OK(central.jobs->Submit(RequestOf("j")));
    EXPECT_EQ(AwaitEnd(*central.jobs, "j").state, JobState::kCancelled);
  }
  ledger::Account account;
  EXPECT_EQ(RunToTheEnd(at_answer, trainer, account).state, JobState::kCancelled);
  EXPECT_EQ(account.spent.epsilon_nanos, kEpsilon);
  EXPECT_THAT(trainer.runs(), SizeIs(1));
  EXPECT_EQ(CheckpointsIn(at_answer), 0U);
}

TEST_F(CutShortTest, OneThatWaitsToGoOnIsCancelledAtOnce) {
  const Central central = *OpenCentral(disk_, {&trainer_}, EachStep(/*threads=*/0));
  EXPECT_EQ(central.jobs->Get("j")->state, JobState::kRunning);
  ASSERT_OK_AND_ASSIGN(const JobInfo cancelled, central.jobs->Cancel("j"));
  EXPECT_EQ(cancelled.state, JobState::kCancelled);
  EXPECT_EQ(central.ledger->Get("d")->spent.epsilon_nanos, kEpsilon);
  EXPECT_EQ(CheckpointsIn(disk_), 0U);
}

TEST(ResumedJobTest, ItsOwnPublicRowsAreKept) {
  MemoryStore disk;
  StepTrainer trainer;
  {
    CrashingStore store(disk, {.write = kWritesBeforeASteps + 1, .fatal = true});
    const Central central = *OpenCentral(store, {&trainer}, EachStep());
    ASSERT_OK(MakeDataset(*central.datasets, SpecOf("d")));
    JobRequest request = RequestOf("j");
    v1::RowBlock rows = Block(3);
    for (int row = 0; row < 3; ++row) rows.set_labels(row, 0);
    request.spec.public_rows = std::make_shared<const v1::RowBlock>(std::move(rows));
    ASSERT_OK(central.jobs->Submit(request));
    AwaitEndOrDeadStore(*central.jobs, store);
  }
  ledger::Account account;
  EXPECT_EQ(RunToTheEnd(disk, trainer, account).state, JobState::kDone);
  ASSERT_THAT(trainer.runs(), SizeIs(2));
  EXPECT_EQ(trainer.runs()[0].public_rows, 3U);
  EXPECT_EQ(trainer.runs()[1].public_rows, 3U);
}

}  // namespace
}  // namespace coppice::central
