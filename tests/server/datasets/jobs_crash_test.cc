// Any write may be the last: what is then on the disk keeps the ledger's promises.

#include <string>
#include <thread>
#include <vector>

#include "common/base/text.h"
#include "server/datasets/central_keys.h"
#include "server/datasets/jobs.h"
#include "tests/server/datasets/central_fixture.h"
#include "tests/support/crashing_store.h"
#include "tests/support/memory_store.h"

namespace coppice::central {
namespace {

using namespace ::coppice::testing;  // NOLINT: most names in this file are the fixture's.
using ::testing::SizeIs;

constexpr size_t kWritesOfADataset = 2;

// Checks what must hold of the disk at any time, with no daemon on it.
void CheckBooks(MemoryStore& disk, const std::string& context) {
  SCOPED_TRACE(context);
  FakeTrainer trainer;
  // Opens without a thread, so no job runs.
  ASSERT_OK_AND_ASSIGN(const Central central, OpenCentral(disk, {&trainer}, QuickOptions(0)));
  if (!central.datasets->Get("d").ok()) return;
  const ledger::Account account = *central.ledger->Get("d");
  ledger::Cost charged;
  for (const JobInfo& job : central.jobs->List("", {})) {
    EXPECT_NE(job.state, JobState::kRunning);
    const bool given_back =
        job.state == JobState::kCancelled && job.reason.find("refunded") != std::string::npos;
    if (!given_back) charged = ledger::Plus(charged, job.cost);
    EXPECT_EQ(central.models->Get(job.model).ok(), job.state == JobState::kDone) << job.id;
  }
  EXPECT_EQ(account.spent, charged);
  // Every model has its releases in the ledger.
  for (const models::ModelSummary& model : central.models->List("", {})) {
    bool settled = false;
    for (const ledger::LedgerEntry& entry : account.entries) {
      settled |= entry.kind == ledger::EntryKind::kSettle && "jobs/" + entry.job == model.source &&
                 entry.releases == model.certificate->releases;
    }
    EXPECT_TRUE(settled) << model.id;
  }
}

// A dead store keeps the job waiting; any other failure is overcome.
void AwaitEndOrDeath(Jobs& jobs, const std::string& id, const CrashingStore& store) {
  const auto recorder = std::make_shared<Recorder>();
  ASSERT_OK(jobs.Watch(id, recorder));
  recorder->Await([&store](const JobInfo& told) {
    return HasEnded(told.state) || (store.dead() && !told.reason.empty());
  });
}

struct Fault {
  size_t write;
  bool kept;
  bool fatal;
};

class JobsCrashTest : public ::testing::TestWithParam<Fault> {
 protected:
  WriteFault fault() const {
    return {.write = kWritesOfADataset + GetParam().write,
            .kept = GetParam().kept,
            .fatal = GetParam().fatal};
  }
};

TEST_P(JobsCrashTest, AJobRunsAtMostOnceAndItsModelComesWithItsCharge) {
  MemoryStore disk;
  FakeTrainer trainer;
  {
    CrashingStore store(disk, fault());
    ASSERT_OK_AND_ASSIGN(const Central central, OpenCentral(store, {&trainer}));
    ASSERT_OK(MakeDataset(*central.datasets, SpecOf("d")));
    auto job = central.jobs->Submit(RequestOf("j"));
    if (!job.ok() && !store.dead()) job = central.jobs->Submit(RequestOf("j"));
    if (!store.dead()) {
      ASSERT_OK(job);
    }
    if (job.ok()) {
      AwaitEndOrDeath(*central.jobs, "j", store);
      if (!store.dead()) {
        EXPECT_EQ(central.jobs->Get("j")->state, JobState::kDone);
        EXPECT_EQ(central.ledger->Get("d")->spent.epsilon_nanos, kEpsilon);
        EXPECT_OK(central.models->Get("j").status());
      }
    }
  }
  const int runs = trainer.runs();
  EXPECT_LE(runs, 1);
  {
    ASSERT_OK_AND_ASSIGN(const Central central, OpenCentral(disk, {&trainer}));
    if (central.jobs->Get("j").ok()) {
      const JobInfo ended = AwaitEnd(*central.jobs, "j");
      EXPECT_TRUE(ended.state == JobState::kDone || ended.state == JobState::kFailed);
      EXPECT_LE(trainer.runs(), 1) << "noise was drawn twice for one charge";
      EXPECT_EQ(central.models->Get("j").ok(), ended.state == JobState::kDone);
    } else {
      EXPECT_EQ(central.ledger->Get("d")->spent, ledger::Cost());
    }
  }
  CheckBooks(disk, "after the restart");
}

TEST_P(JobsCrashTest, ACancelledJobIsGivenBackOnceOrRuns) {
  MemoryStore disk;
  FakeTrainer trainer;
  trainer.Hold();
  {
    // The first writes: the job in front is charged and begins, j is charged, j is cancelled.
    CrashingStore store(disk, fault());
    ASSERT_OK_AND_ASSIGN(const Central central, OpenCentral(store, {&trainer}));
    ASSERT_OK(MakeDataset(*central.datasets, SpecOf("d")));
    for (const char* id : {"front", "j"}) {
      auto job = central.jobs->Submit(RequestOf(id));
      if (!job.ok() && !store.dead()) job = central.jobs->Submit(RequestOf(id));
      while (job.ok() && trainer.runs() == 0 && !store.dead()) std::this_thread::yield();
    }
    auto cancelled = central.jobs->Cancel("j");
    if (!cancelled.ok() && !store.dead()) cancelled = central.jobs->Cancel("j");
    if (!store.dead()) {
      ASSERT_OK(cancelled);
      EXPECT_EQ(cancelled->state, JobState::kCancelled);
    }
    trainer.Let();
    if (!store.dead()) AwaitEndOrDeath(*central.jobs, "front", store);
  }
  CheckBooks(disk, "after the crash");
  {
    ASSERT_OK_AND_ASSIGN(const Central central, OpenCentral(disk, {&trainer}));
    for (const JobInfo& job : central.jobs->List("", {})) AwaitEnd(*central.jobs, job.id);
  }
  EXPECT_LE(trainer.runs(), 2);
  CheckBooks(disk, "after the restart");
}

// The process lives on.
class JobsDoubtTest : public JobsCrashTest {};

TEST_P(JobsDoubtTest, AFailedCancellationStillKeepsTheJobFromStarting) {
  MemoryStore disk;
  FakeTrainer trainer;
  trainer.Hold();
  CrashingStore store(disk, fault());
  ASSERT_OK_AND_ASSIGN(const Central central, OpenCentral(store, {&trainer}));
  ASSERT_OK(MakeDataset(*central.datasets, SpecOf("d")));
  for (const char* id : {"front", "j"}) {
    auto job = central.jobs->Submit(RequestOf(id));
    if (!job.ok()) job = central.jobs->Submit(RequestOf(id));
    ASSERT_OK(job);
    if (id[0] == 'f') trainer.AwaitRuns(1);
  }
  central.jobs->Cancel("j").status().IgnoreError();
  trainer.Let();
  EXPECT_EQ(AwaitEnd(*central.jobs, "front").state, JobState::kDone);
  EXPECT_EQ(AwaitEnd(*central.jobs, "j").state, JobState::kCancelled);
  EXPECT_EQ(trainer.runs(), 1);
  EXPECT_EQ(central.ledger->Get("d")->spent.epsilon_nanos, kEpsilon);
}

std::vector<Fault> Faults(const std::vector<bool>& fatal) {
  std::vector<Fault> faults;
  for (size_t write = 0; write < 6; ++write) {
    for (const bool kept : {false, true}) {
      for (const bool is_fatal : fatal) faults.push_back({write, kept, is_fatal});
    }
  }
  return faults;
}

std::string NameOf(const ::testing::TestParamInfo<Fault>& test) {
  return StrCat("Write", test.param.write, test.param.kept ? "Kept" : "Lost",
                test.param.fatal ? "AndDead" : "");
}

INSTANTIATE_TEST_SUITE_P(Writes, JobsCrashTest, ::testing::ValuesIn(Faults({false, true})), NameOf);
INSTANTIATE_TEST_SUITE_P(Writes, JobsDoubtTest, ::testing::ValuesIn(Faults({false})), NameOf);

}  // namespace
}  // namespace coppice::central
