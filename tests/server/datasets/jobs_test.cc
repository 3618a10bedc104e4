#include "server/datasets/jobs.h"

#include <atomic>
#include <chrono>
#include <cmath>
#include <future>
#include <string_view>
#include <thread>

#include "common/base/status.h"
#include "common/base/text.h"
#include "server/datasets/central_keys.h"
#include "server/datasets/ledger/ledger_record.h"
#include "tests/server/datasets/central_fixture.h"
#include "tests/support/eventually.h"
#include "tests/support/memory_store.h"

namespace coppice::central {
namespace {

using namespace ::coppice::testing;  // NOLINT: most names in this file are the fixture's.
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::SizeIs;

constexpr auto kExists = StatusCode::kAlreadyExists;

class JobsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    reference_.info().is_private = false;
    Reopen();
    ASSERT_OK(MakeDataset(*central_.datasets, SpecOf("d")));
  }
  void TearDown() override {
    trainer_.LetPlans();
    trainer_.Let();
  }
  void Reopen(size_t threads = 1) {
    central_ = Central();
    ASSERT_OK_AND_ASSIGN(
        central_, OpenCentral(store_, {&trainer_, &labels_, &reference_}, QuickOptions(threads)));
  }
  Jobs& jobs() { return *central_.jobs; }
  ledger::Account Ledger() { return *central_.ledger->Get("d"); }
  std::vector<ledger::EntryKind> Entries() {
    std::vector<ledger::EntryKind> kinds;
    for (const ledger::LedgerEntry& entry : Ledger().entries) kinds.push_back(entry.kind);
    return kinds;
  }

  FakeTrainer trainer_;
  FakeTrainer labels_{"labels", Neighbours::kChangeLabel};
  FakeTrainer reference_{"reference"};
  MemoryStore store_;
  Central central_;
};

TEST_F(JobsTest, AJobMakesItsModelAndTheLedgerListsWhatItReleased) {
  ASSERT_OK_AND_ASSIGN(const JobInfo made, jobs().Submit(RequestOf("j")));
  EXPECT_EQ(made.cost.epsilon_nanos, kEpsilon);
  EXPECT_EQ(made.model, "j");
  const JobInfo done = AwaitEnd(jobs(), "j");
  EXPECT_EQ(done.state, JobState::kDone);
  EXPECT_EQ(done.reason, "");
  EXPECT_EQ(done.ended_unix_seconds, 1000);
  EXPECT_EQ(trainer_.rows_seen(), 10u);
  for (int i = 0; i < 2; ++i) {
    ASSERT_OK_AND_ASSIGN(const models::ModelInfo model, central_.models->Get("j"));
    EXPECT_EQ(model.source, "jobs/j");
    EXPECT_EQ(model.created_unix_seconds, 0) << "the day alone: analysts see it";
    EXPECT_EQ(model.model->certificate().epsilon_nanos, kEpsilon);
    EXPECT_EQ(Ledger().spent.epsilon_nanos, kEpsilon);
    EXPECT_THAT(Entries(), ElementsAre(ledger::EntryKind::kOpen, ledger::EntryKind::kReserve,
                                       ledger::EntryKind::kSettle));
    EXPECT_EQ(Ledger().entries[2].releases, model.model->certificate().releases);
    EXPECT_EQ(jobs().Get("j")->state, JobState::kDone);
    Reopen();
  }
  EXPECT_EQ(trainer_.runs(), 1);
}

TEST_F(JobsTest, PreviewSaysWhatItWouldCostAndSpendsNothing) {
  ASSERT_OK_AND_ASSIGN(const JobPreview fits, jobs().Preview(RequestOf("j").spec));
  EXPECT_EQ(fits.cost.epsilon_nanos, kEpsilon);
  EXPECT_THAT(fits.releases, SizeIs(1));
  EXPECT_OK(fits.fits);
  ASSERT_OK_AND_ASSIGN(const JobPreview large, jobs().Preview(RequestOf("j", 11 * kEpsilon).spec));
  EXPECT_THAT(large.fits, StatusIs(StatusCode::kResourceExhausted, HasSubstr("10")));
  EXPECT_EQ(Ledger().spent, ledger::Cost());
  ASSERT_OK(central_.datasets->Create(SpecOf("open")));
  ASSERT_OK_AND_ASSIGN(const JobPreview early,
                       jobs().Preview(RequestOf("j", kEpsilon, "open").spec));
  EXPECT_THAT(early.fits, StatusIs(kPrecondition, HasSubstr("still takes rows")));
}

// A model that nobody can fetch is refused while it has cost nothing.
TEST_F(JobsTest, APlanOfTooLargeAModelIsRefusedBeforeItIsCharged) {
  trainer_.PlanModelBytes(models::kMaxModelBytes + 1);
  const auto too_large = StatusIs(StatusCode::kInvalidArgument,
                                  AllOf(HasSubstr("spec.settings"), HasSubstr("take fewer fakes")));
  EXPECT_THAT(jobs().Preview(RequestOf("j").spec).status(), too_large);
  EXPECT_THAT(jobs().Submit(RequestOf("j")), too_large);
  trainer_.PlanModelBytes(1000);
  JobRequest request = RequestOf("j");
  request.spec.max_model_bytes = 999;
  EXPECT_THAT(jobs().Submit(request),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("or raise max_model_bytes")));
  request.spec.max_model_bytes = models::kMaxModelBytes + 1;
  EXPECT_THAT(jobs().Submit(request), StatusIs(StatusCode::kInvalidArgument,
                                               HasSubstr("spec.max_model_bytes: must be at most")));
  EXPECT_EQ(Ledger().spent, ledger::Cost());
  request.spec.max_model_bytes = 1000;
  EXPECT_EQ(jobs().Preview(request.spec)->model_bytes, 1000u);
  ASSERT_OK_AND_ASSIGN(const JobInfo job, jobs().Submit(request));
  EXPECT_EQ(job.model_bytes, 1000u);
  AwaitEnd(jobs(), "j");
  Reopen();
  EXPECT_EQ(jobs().Get("j")->model_bytes, 1000u);
  EXPECT_EQ(jobs().Get("j")->spec.max_model_bytes, 1000u);
  EXPECT_EQ(jobs().Submit(request)->id, "j") << "the same request again";
}

// Ten rows of a mebibyte each, besides 32 that a job takes however few rows there are.
TEST_F(JobsTest, AJobThatMightTakeTooMuchMemoryIsRefusedBeforeItIsCharged) {
  constexpr uint64_t kMebibyte = uint64_t{1} << 20;
  trainer_.PlanBytesOfRow(kMebibyte);
  const auto reopen = [&](uint64_t memory) {
    central_ = Central();
    JobOptions options = QuickOptions();
    options.training_memory = memory;
    ASSERT_OK_AND_ASSIGN(central_, OpenCentral(store_, {&trainer_}, options));
  };
  reopen(42 * kMebibyte - 1);
  const auto too_much =
      StatusIs(kPrecondition, AllOf(HasSubstr("42 MiB"), HasSubstr("1048576 bytes each"),
                                    HasSubstr("may take 41"), HasSubstr("--training-memory")));
  EXPECT_THAT(jobs().Preview(RequestOf("j").spec).status(), too_much);
  EXPECT_THAT(jobs().Submit(RequestOf("j")), too_much);
  EXPECT_EQ(Ledger().spent, ledger::Cost());
  reopen(42 * kMebibyte);
  trainer_.Hold();
  for (const char* id : {"running", "queued"}) ASSERT_OK(jobs().Submit(RequestOf(id)));
  trainer_.AwaitRuns(1);
  // A daemon that has less when it starts again refunds nothing: the budget would tell of the rows.
  central_ = Central();
  trainer_.Let();
  reopen(kMebibyte);
  const JobInfo ended = AwaitEnd(jobs(), "queued");
  EXPECT_EQ(ended.state, JobState::kDone);
  EXPECT_EQ(Ledger().spent.epsilon_nanos, 2 * kEpsilon);
  EXPECT_EQ(trainer_.runs(), 2);
}

TEST_F(JobsTest, ModelsThatAreThereAndToComeCountForTheOwnersQuota) {
  trainer_.PlanModelBytes(1000);
  trainer_.Hold();
  const auto submit = [&](const std::string& id, uint64_t models, uint64_t bytes) {
    JobRequest request = RequestOf(id);
    request.most_models = models;
    request.most_model_bytes = bytes;
    return jobs().Submit(request).status();
  };
  ASSERT_OK(submit("a", 1, 1000));
  EXPECT_THAT(submit("b", 1, 0),
              StatusIs(StatusCode::kResourceExhausted, HasSubstr("jobs under way included")));
  EXPECT_THAT(submit("b", 0, 1999),
              StatusIs(StatusCode::kResourceExhausted, HasSubstr("its quota is 1999")));
  trainer_.Let();
  AwaitEnd(jobs(), "a");
  EXPECT_THAT(submit("b", 1, 0), StatusIs(StatusCode::kResourceExhausted, HasSubstr("model")))
      << "the model is there now";
  EXPECT_OK(submit("b", 2, 1999)) << "and is smaller than it might have been";
  AwaitEnd(jobs(), "b");
  ASSERT_OK(central_.models->Delete(store_, "a"));
  {
    const auto built = central_.models->Reserve("", {.models = 1, .bytes = 1}, {});
    EXPECT_EQ(submit("c", 2, 0).code(), StatusCode::kResourceExhausted)
        << "a study's model is being built";
  }
  EXPECT_OK(submit("c", 2, 0));
}

TEST_F(JobsTest, WhatAnAlgorithmWarnsOfIsToldBeforeAndAfterItIsAskedFor) {
  constexpr char kOwn[] = "the fake is of no use";
  EXPECT_THAT(jobs().Preview(RequestOf("j").spec)->warnings, ElementsAre(kOwn));
  ASSERT_OK_AND_ASSIGN(const JobInfo job, jobs().Submit(RequestOf("j")));
  EXPECT_THAT(job.warnings, ElementsAre(kOwn));
}

TEST_F(JobsTest, OnlyPrivateAlgorithmsAreOffered) {
  std::vector<std::string> names;
  for (const trainers::AlgorithmInfo* info : jobs().Algorithms()) names.push_back(info->name);
  EXPECT_THAT(names, ElementsAre("fake", "labels"));
  JobRequest request = RequestOf("j");
  request.spec.algorithm = "reference";
  EXPECT_THAT(jobs().Submit(request), StatusIs(kInvalid, HasSubstr("there are fake, labels")));
}

TEST_F(JobsTest, RequestsThatCannotBeMetNameTheFieldAndCostNothing) {
  const auto refused = [this](const std::function<void(JobRequest&)>& change, StatusCode code,
                              const std::string& why) {
    JobRequest request = RequestOf("j");
    change(request);
    EXPECT_THAT(jobs().Submit(request), StatusIs(code, HasSubstr(why)));
  };
  refused([](JobRequest& r) { r.request_id = ""; }, kInvalid, "request_id");
  refused([](JobRequest& r) { r.id = "No"; }, kInvalid, "job_id");
  refused([](JobRequest& r) { r.model = "No"; }, kInvalid, "model_id");
  refused([](JobRequest& r) { r.spec.algorithm = "labels"; }, kInvalid, "change_label");
  refused([](JobRequest& r) { r.spec.epsilon_nanos = 0; }, kInvalid, "spec.epsilon_nanos");
  refused([](JobRequest& r) { r.spec.delta_atto = 1; }, kInvalid, "spec.delta_atto");
  refused([](JobRequest& r) { r.spec.settings = {{"leaves", "2"}}; }, kInvalid, "leaves");
  refused([](JobRequest& r) { r.spec.dataset = "e"; }, StatusCode::kNotFound, "e");
  refused([](JobRequest& r) { r.spec.epsilon_nanos = 11 * kEpsilon; },
          StatusCode::kResourceExhausted, "10");
  EXPECT_EQ(Ledger().spent, ledger::Cost());
  EXPECT_THAT(jobs().List("", {}), IsEmpty());
  EXPECT_THAT(jobs().Get("j"), StatusIs(StatusCode::kNotFound, HasSubstr("j")));
  EXPECT_THAT(jobs().Cancel("j"), StatusIs(StatusCode::kNotFound, HasSubstr("j")));
  EXPECT_OK(jobs().Submit(RequestOf("j"))) << "a refused job takes neither its id nor its model's";
}

TEST_F(JobsTest, ARepeatedRequestReturnsItsJobAndIsChargedOnce) {
  JobRequest request = RequestOf("");
  ASSERT_OK_AND_ASSIGN(const JobInfo made, jobs().Submit(request));
  EXPECT_THAT(made.id, MatchesRegex("[a-z0-9]{12}"));
  AwaitEnd(jobs(), made.id);
  Reopen();
  ASSERT_OK_AND_ASSIGN(const JobInfo again, jobs().Submit(request));
  EXPECT_EQ(again.id, made.id);
  EXPECT_EQ(again.state, JobState::kDone);
  request.spec.settings = {{"trees", "2"}};
  EXPECT_THAT(jobs().Submit(request), StatusIs(kExists, HasSubstr("another request")));
  EXPECT_EQ(Ledger().spent.epsilon_nanos, kEpsilon);
}

TEST_F(JobsTest, IdsOfJobsAndModelsAreTakenOnce) {
  trainer_.Hold();
  ASSERT_OK(jobs().Submit(RequestOf("j")));
  JobRequest same_job = RequestOf("j");
  same_job.request_id = "another";
  EXPECT_THAT(jobs().Submit(same_job), StatusIs(kExists, HasSubstr("job_id")));
  JobRequest same_model = RequestOf("k");
  same_model.model = "j";
  EXPECT_THAT(jobs().Submit(same_model), StatusIs(kExists, HasSubstr("model_id")));
  EXPECT_THAT(central_.models->Claim("j").status(), StatusIs(kExists, HasSubstr("being made")));
  trainer_.Let();
  AwaitEnd(jobs(), "j");
  EXPECT_THAT(jobs().Submit(same_model), StatusIs(kExists, HasSubstr("of jobs/j")));
}

TEST_F(JobsTest, AQueuedJobThatIsCancelledGetsItsBudgetBack) {
  trainer_.Hold();
  ASSERT_OK(jobs().Submit(RequestOf("first")));
  trainer_.AwaitRuns(1);
  ASSERT_OK(jobs().Submit(RequestOf("second", 9 * kEpsilon)));
  EXPECT_EQ(Ledger().spent.epsilon_nanos, 10 * kEpsilon);
  ASSERT_OK_AND_ASSIGN(const JobInfo cancelled, jobs().Cancel("second"));
  EXPECT_EQ(cancelled.state, JobState::kCancelled);
  EXPECT_THAT(cancelled.reason, HasSubstr("refunded"));
  EXPECT_EQ(Ledger().spent.epsilon_nanos, kEpsilon);
  ASSERT_OK_AND_ASSIGN(const JobInfo again, jobs().Cancel("second"));
  EXPECT_EQ(again.state, JobState::kCancelled);
  trainer_.Let();
  AwaitEnd(jobs(), "first");
  Reopen();
  EXPECT_EQ(jobs().Get("second")->state, JobState::kCancelled);
  EXPECT_EQ(trainer_.runs(), 1);
}

TEST_F(JobsTest, ARunningJobThatIsCancelledEndsAndItsBudgetStaysSpent) {
  trainer_.Hold();
  ASSERT_OK(jobs().Submit(RequestOf("j")));
  trainer_.AwaitRuns(1);
  ASSERT_OK_AND_ASSIGN(const JobInfo asked, jobs().Cancel("j"));
  EXPECT_EQ(asked.state, JobState::kRunning);
  const JobInfo ended = AwaitEnd(jobs(), "j");
  EXPECT_EQ(ended.state, JobState::kCancelled);
  EXPECT_THAT(ended.reason, HasSubstr("stays spent"));
  EXPECT_EQ(Ledger().spent.epsilon_nanos, kEpsilon);
  EXPECT_THAT(Entries(), ElementsAre(ledger::EntryKind::kOpen, ledger::EntryKind::kReserve,
                                     ledger::EntryKind::kSettle));
  EXPECT_THAT(Ledger().entries[2].releases, IsEmpty()) << "nothing of it left the daemon";
  EXPECT_THAT(central_.models->List("", {}), IsEmpty());
}

TEST_F(JobsTest, AFailedJobShowsWhyAndItsBudgetStaysSpent) {
  trainer_.Fail(InternalError("out of luck"));
  ASSERT_OK(jobs().Submit(RequestOf("j")));
  const JobInfo ended = AwaitEnd(jobs(), "j");
  EXPECT_EQ(ended.state, JobState::kFailed);
  EXPECT_THAT(ended.reason, AllOf(HasSubstr("out of luck"), HasSubstr("stays spent")));
  EXPECT_EQ(Ledger().spent.epsilon_nanos, kEpsilon);
  EXPECT_OK(central_.models->Claim("j").status()) << "its model's id is free again";
}

TEST_F(JobsTest, AModelThatCostsAnotherAmountThanPlannedIsNotReleased) {
  trainer_.ReleaseTimes(2);
  ASSERT_OK(jobs().Submit(RequestOf("j")));
  const JobInfo ended = AwaitEnd(jobs(), "j");
  EXPECT_EQ(ended.state, JobState::kFailed);
  EXPECT_THAT(ended.reason, HasSubstr("planned were epsilon 1"));
  EXPECT_THAT(central_.models->List("", {}), IsEmpty());
  Reopen();
  EXPECT_THAT(central_.models->List("", {}), IsEmpty());
}

TEST_F(JobsTest, TwentyJobsRacedForABudgetOfSevenAreSeven) {
  ASSERT_OK(MakeDataset(*central_.datasets, SpecOf("race", 7 * kEpsilon + kEpsilon / 2)));
  Reopen(/*threads=*/4);
  std::atomic<int> accepted{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 20; ++i) {
    threads.emplace_back([&, i] {
      const auto job = jobs().Submit(RequestOf(StrCat("job", i), kEpsilon, "race"));
      if (job.ok()) {
        ++accepted;
      } else {
        EXPECT_EQ(job.status().code(), StatusCode::kResourceExhausted);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(accepted, 7);
  for (const JobInfo& job : jobs().List("race", {})) {
    EXPECT_EQ(AwaitEnd(jobs(), job.id).state, JobState::kDone);
  }
  EXPECT_EQ(trainer_.runs(), 7);
  EXPECT_THAT(central_.models->List("", {}), SizeIs(7));
  EXPECT_EQ(central_.ledger->Get("race")->spent.epsilon_nanos, 7 * kEpsilon);
}

TEST_F(JobsTest, NoMoreJobsRunAtATimeThanThereAreThreads) {
  Reopen(/*threads=*/2);
  trainer_.Hold();
  for (const char* id : {"a", "b", "c"}) ASSERT_OK(jobs().Submit(RequestOf(id)));
  trainer_.AwaitRuns(2);
  EXPECT_EQ(jobs().Get("c")->state, JobState::kQueued);
  EXPECT_EQ(trainer_.runs(), 2);
  trainer_.Let();
  EXPECT_EQ(AwaitEnd(jobs(), "c").state, JobState::kDone);
}

// Otherwise an owner would learn from the start of its own job when another's job ended.
TEST_F(JobsTest, OwnersDoNotWaitForEachOthersJobs) {
  for (const char* owner : {"a", "b"}) {
    DatasetSpec spec = SpecOf(StrCat("of-", owner));
    spec.owner = owner;
    ASSERT_OK(MakeDataset(*central_.datasets, spec));
  }
  trainer_.Hold();
  ASSERT_OK(jobs().Submit(RequestOf("a1", kEpsilon, "of-a")));
  ASSERT_OK(jobs().Submit(RequestOf("a2", kEpsilon, "of-a")));
  ASSERT_OK(jobs().Submit(RequestOf("b1", kEpsilon, "of-b")));
  trainer_.AwaitRuns(2);
  EXPECT_EQ(jobs().Get("a1")->state, JobState::kRunning);
  EXPECT_EQ(jobs().Get("a2")->state, JobState::kQueued);
  EXPECT_EQ(jobs().Get("b1")->state, JobState::kRunning);
  trainer_.Let();
  EXPECT_EQ(AwaitEnd(jobs(), "a2").state, JobState::kDone);
}

TEST_F(JobsTest, JobsGoOnWhileAnotherIsPlanned) {
  trainer_.Hold();
  for (const char* id : {"running", "waiting"}) ASSERT_OK(jobs().Submit(RequestOf(id)));
  trainer_.AwaitRuns(1);
  trainer_.HoldPlans();
  auto planned = std::async(std::launch::async, [&] { return jobs().Submit(RequestOf("slow")); });
  trainer_.AwaitHeldPlan();
  auto others = std::async(std::launch::async, [&] {
    EXPECT_EQ(jobs().Cancel("waiting")->state, JobState::kCancelled);
    EXPECT_EQ(jobs().Submit(RequestOf("running"))->id, "running") << "a request that is repeated";
  });
  EXPECT_EQ(others.wait_for(std::chrono::minutes(2)), std::future_status::ready);
  trainer_.LetPlans();
  others.wait();
  EXPECT_OK(planned.get());
}

// Only what is true once the plan is made counts.
TEST_F(JobsTest, TwoJobsThatArePlannedAtOnceAreChargedOneAfterTheOther) {
  ASSERT_OK(MakeDataset(*central_.datasets, SpecOf("tight", kEpsilon + kEpsilon / 2)));
  trainer_.Hold();
  trainer_.HoldPlans();
  std::vector<std::future<StatusOr<JobInfo>>> submitted;
  for (int i = 0; i < 2; ++i) {
    submitted.push_back(std::async(std::launch::async, [&] {
      JobRequest request = RequestOf("same", kEpsilon, "tight");
      request.most_at_once = 1;
      return jobs().Submit(request);
    }));
  }
  trainer_.AwaitHeldPlan();
  EXPECT_THAT(central_.datasets->Delete("tight"), StatusIs(kPrecondition, HasSubstr("queued")));
  trainer_.LetPlans();
  for (auto& job : submitted) EXPECT_EQ(job.get()->id, "same");
  EXPECT_EQ(central_.ledger->Get("tight")->spent.epsilon_nanos, kEpsilon);
}

TEST_F(JobsTest, CancellingAJobThatHasEndedWaitsForNoWrite) {
  ASSERT_OK(jobs().Submit(RequestOf("j")));
  AwaitEnd(jobs(), "j");
  store_.HoldWrites();
  auto other = std::async(std::launch::async, [&] { return jobs().Submit(RequestOf("other")); });
  store_.AwaitHeldWrite();
  auto again = std::async(std::launch::async, [&] { return jobs().Cancel("j"); });
  EXPECT_EQ(again.wait_for(std::chrono::minutes(2)), std::future_status::ready);
  store_.LetWrites();
  EXPECT_EQ(again.get()->state, JobState::kDone);
  EXPECT_OK(other.get());
}

TEST_F(JobsTest, AnOwnerHasNoMoreOpenJobsThanItsQuota) {
  trainer_.Hold();
  JobRequest first = RequestOf("first"), second = RequestOf("second");
  first.most_at_once = second.most_at_once = 1;
  ASSERT_OK(jobs().Submit(first));
  EXPECT_THAT(jobs().Submit(second), StatusIs(StatusCode::kResourceExhausted,
                                              HasSubstr("may have 1 job under way, and has")));
  EXPECT_EQ(jobs().Submit(first)->id, "first") << "a request that is repeated asks for no more";
  trainer_.Let();
  AwaitEnd(jobs(), "first");
  EXPECT_OK(jobs().Submit(second));
}

TEST_F(JobsTest, WatchersSeeEveryStateAndProgress) {
  trainer_.Hold();
  ASSERT_OK(jobs().Submit(RequestOf("first")));
  trainer_.AwaitRuns(1);
  ASSERT_OK(jobs().Submit(RequestOf("j")));
  const auto recorder = std::make_shared<Recorder>();
  ASSERT_OK(jobs().Watch("j", recorder));
  EXPECT_EQ(recorder->told()[0].state, JobState::kQueued);
  ASSERT_OK(jobs().Cancel("first"));
  trainer_.AwaitRuns(2);
  const JobInfo running = recorder->Await([](const JobInfo& job) { return job.progress > 0; });
  EXPECT_EQ(running.state, JobState::kRunning);
  EXPECT_EQ(running.progress, 0.5);
  EXPECT_GE(running.seconds_left, 1);
  EXPECT_EQ(running.seconds_left, std::floor(running.seconds_left)) << "whole seconds";
  trainer_.Let();
  EXPECT_EQ(recorder->AwaitEnd().state, JobState::kDone);
  JobState last = JobState::kQueued;
  for (const JobInfo& told : recorder->told()) {
    EXPECT_GE(told.state, last);
    last = told.state;
  }
  EXPECT_THAT(jobs().Watch("none", recorder), StatusIs(StatusCode::kNotFound, HasSubstr("none")));
}

TEST_F(JobsTest, ProgressIsToldNoMoreOftenThanAsked) {
  JobOptions options = QuickOptions();
  options.between_progress = absl::Hours(1);
  central_ = Central();
  ASSERT_OK_AND_ASSIGN(central_, OpenCentral(store_, {&trainer_}, options));
  trainer_.Hold();
  ASSERT_OK(jobs().Submit(RequestOf("j")));
  const auto recorder = std::make_shared<Recorder>();
  ASSERT_OK(jobs().Watch("j", recorder));
  trainer_.AwaitRuns(1);
  recorder->Await([](const JobInfo& job) { return job.progress > 0; });
  trainer_.AwaitProgress(10);
  trainer_.Let();
  recorder->AwaitEnd();
  EXPECT_LE(recorder->told().size(), 4u);  // queued, running, once progress, done
}

TEST_F(JobsTest, JobsOfADatasetKeepItFromBeingDeleted) {
  trainer_.Hold();
  ASSERT_OK(jobs().Submit(RequestOf("j")));
  trainer_.AwaitRuns(1);
  EXPECT_THAT(central_.datasets->Delete("d"), StatusIs(kPrecondition, HasSubstr("cancel them")));
  trainer_.Let();
  AwaitEnd(jobs(), "j");
  EXPECT_OK(central_.datasets->Delete("d"));
  EXPECT_OK(central_.models->Get("j").status()) << "models stay";
  EXPECT_THAT(jobs().Submit(RequestOf("k")), StatusIs(kPrecondition, HasSubstr("was deleted")));
}

TEST_F(JobsTest, ListGoesPageByPageOfOneDatasetOrAll) {
  ASSERT_OK(MakeDataset(*central_.datasets, SpecOf("e")));
  ASSERT_OK(jobs().Submit(RequestOf("b")));
  ASSERT_OK(jobs().Submit(RequestOf("a", kEpsilon, "e")));
  ASSERT_OK(jobs().Submit(RequestOf("c")));
  const auto ids = [this](std::string_view dataset, const Page& page) {
    std::vector<std::string> found;
    for (const JobInfo& job : jobs().List(dataset, page)) found.push_back(job.id);
    return found;
  };
  EXPECT_THAT(ids("", {}), ElementsAre("a", "b", "c"));
  EXPECT_THAT(ids("d", {}), ElementsAre("b", "c"));
  EXPECT_THAT(ids("", {.size = 1, .after = "a"}), ElementsAre("b"));
}

TEST_F(JobsTest, ADaemonWithoutThreadsTakesNoJobsAndKeepsThoseThereAre) {
  trainer_.Hold();
  ASSERT_OK(jobs().Submit(RequestOf("running")));
  trainer_.AwaitRuns(1);
  ASSERT_OK(jobs().Submit(RequestOf("queued")));
  Reopen(/*threads=*/0);
  EXPECT_THAT(jobs().Submit(RequestOf("j")), StatusIs(kPrecondition, HasSubstr("training-jobs")));
  EXPECT_EQ(jobs().Get("queued")->state, JobState::kQueued);
  EXPECT_OK(jobs().Preview(RequestOf("j").spec));
}

TEST_F(JobsTest, AfterARestartQueuedJobsRunAndTheInterruptedOneHasFailed) {
  trainer_.Hold();
  for (const char* id : {"running", "queued"}) ASSERT_OK(jobs().Submit(RequestOf(id)));
  trainer_.AwaitRuns(1);
  central_ = Central();
  trainer_.Let();
  Reopen();
  EXPECT_EQ(AwaitEnd(jobs(), "queued").state, JobState::kDone);
  const JobInfo interrupted = *jobs().Get("running");
  EXPECT_EQ(interrupted.state, JobState::kFailed);
  EXPECT_THAT(interrupted.reason, HasSubstr("interrupted by a restart"));
  EXPECT_EQ(Ledger().spent.epsilon_nanos, 2 * kEpsilon);
  EXPECT_EQ(trainer_.runs(), 2) << "the interrupted one did not run again";
  EXPECT_THAT(central_.models->List("", {}), SizeIs(1));
}

// The clock of these tests stands still, so all jobs are of one second.
TEST_F(JobsTest, AfterARestartJobsOfOneSecondRunInTheOrderInWhichTheyWereQueued) {
  trainer_.Hold();
  for (const char* id : {"running", "c", "a", "b"}) ASSERT_OK(jobs().Submit(RequestOf(id)));
  trainer_.AwaitRuns(1);
  for (const char* first : {"c", "a", "b"}) {
    central_ = Central();
    const int runs = trainer_.runs();
    Reopen();
    trainer_.AwaitRuns(runs + 1);
    EXPECT_EQ(jobs().Get(first)->state, JobState::kRunning) << first;
  }
}

TEST_F(JobsTest, WhoSubmittedAJobIsKeptThroughItsEndAndARestart) {
  JobRequest request = RequestOf("by-lab");
  request.submitter = "lab";
  EXPECT_EQ(jobs().Submit(request)->submitter, "lab");
  EXPECT_EQ(AwaitEnd(jobs(), "by-lab").submitter, "lab");
  ASSERT_OK(jobs().Submit(RequestOf("by-nobody")));
  AwaitEnd(jobs(), "by-nobody");
  Reopen();
  EXPECT_EQ(jobs().Get("by-lab")->submitter, "lab");
  EXPECT_EQ(jobs().Get("by-nobody")->submitter, "");
  request.submitter = "another";  // another caller may repeat the request; nothing changes
  EXPECT_EQ(jobs().Submit(request)->submitter, "lab");
}

TEST_F(JobsTest, WhatWasQueuedInABackupIsNotRunAgainAndItsCostStaysSpent) {
  trainer_.Hold();
  ASSERT_OK(jobs().Submit(RequestOf("one")));
  ASSERT_OK(jobs().Submit(RequestOf("two")));
  trainer_.AwaitRuns(1);
  const ledger::Account before = Ledger();
  storage::StoreBatch hold;
  hold.Put(ledger::HoldKey("d"),
           ledger::EncodeHold({.reason = ledger::HoldReason::kUnconfirmed, .head = before.head}));
  ASSERT_OK(store_.Apply(hold));
  central_ = Central();
  trainer_.Let();
  Reopen();
  for (const char* id : {"one", "two"}) EXPECT_EQ(jobs().Get(id)->state, JobState::kFailed) << id;
  EXPECT_EQ(Ledger().spent, before.spent);
  EXPECT_THAT(jobs().Submit(RequestOf("three")),
              StatusIs(kPrecondition, HasSubstr("restored from a backup")));
  ASSERT_OK(central_.datasets->ConfirmLedger("d", before.head));
  ASSERT_OK(jobs().Submit(RequestOf("three")));
  EXPECT_EQ(AwaitEnd(jobs(), "three").state, JobState::kDone);
}

TEST_F(JobsTest, AJobThatWouldReleaseSomethingElseAfterAnUpgradeIsGivenBack) {
  trainer_.Hold();
  for (const char* id : {"running", "queued"}) ASSERT_OK(jobs().Submit(RequestOf(id)));
  trainer_.AwaitRuns(1);
  central_ = Central();
  trainer_.Let();
  trainer_.PlanParts(2);
  Reopen();
  const JobInfo ended = AwaitEnd(jobs(), "queued");
  EXPECT_EQ(ended.state, JobState::kCancelled);
  EXPECT_THAT(ended.reason, HasSubstr("submit the job again"));
  EXPECT_EQ(Ledger().spent.epsilon_nanos, kEpsilon);
}

TEST_F(JobsTest, RowsThatCannotBeReadEndTheJobAndGiveItsCostBack) {
  Reopen(/*threads=*/0);
  storage::StoreBatch batch;
  batch.DeletePrefix(ChunkPrefix("d"));
  ASSERT_OK(store_.Apply(batch));
  Reopen();
  ASSERT_OK(jobs().Submit(RequestOf("j")));
  const JobInfo ended = AwaitEnd(jobs(), "j");
  EXPECT_EQ(ended.state, JobState::kCancelled);
  EXPECT_THAT(ended.reason, AllOf(HasSubstr("chunk/d/"), HasSubstr("refunded")));
  EXPECT_EQ(Ledger().spent, ledger::Cost());
  EXPECT_EQ(trainer_.runs(), 0);
}

// A job whose charge is missing: the ledger was damaged.
TEST_F(JobsTest, AJobWhoseRefundIsRefusedEndsAndIsNotTriedForEver) {
  trainer_.Hold();
  for (const char* id : {"running", "queued"}) ASSERT_OK(jobs().Submit(RequestOf(id)));
  trainer_.AwaitRuns(1);
  central_ = Central();
  trainer_.Let();
  storage::StoreBatch damage;
  damage.DeletePrefix(ChunkPrefix("d"));  // so that the job cannot begin
  damage.Delete(ledger::LedgerKey("d", 2));
  ASSERT_OK(store_.Apply(damage));
  Reopen();
  const auto recorder = std::make_shared<Recorder>();
  ASSERT_OK(jobs().Watch("queued", recorder));
  const JobInfo ended = recorder->Await([](const JobInfo& job) { return !job.reason.empty(); });
  EXPECT_EQ(ended.state, JobState::kFailed);
  EXPECT_THAT(ended.reason, AllOf(HasSubstr("chunk/d/"), HasSubstr("has reserved nothing"),
                                  HasSubstr("the ledger refuses its refund")));
  EXPECT_EQ(trainer_.runs(), 1);
}

TEST_F(JobsTest, DrainingLetsARunningJobEndBeginsNoOtherAndStopsWatchers) {
  trainer_.Hold();
  for (const char* id : {"running", "queued"}) ASSERT_OK(jobs().Submit(RequestOf(id)));
  trainer_.AwaitRuns(1);
  const auto ended = std::make_shared<Recorder>();
  const auto stopped = std::make_shared<Recorder>();
  ASSERT_OK(jobs().Watch("running", ended));
  ASSERT_OK(jobs().Watch("queued", stopped));
  std::thread drain([this] { jobs().Drain(absl::InfiniteFuture()); });
  // It is stopping once it takes no job.
  int queued = 0;
  EXPECT_TRUE(Eventually([&] {
    return IsUnavailable(jobs().Submit(RequestOf(StrCat("queued-", ++queued))).status());
  }));
  trainer_.Let();
  drain.join();
  EXPECT_EQ(ended->AwaitEnd().state, JobState::kDone);
  EXPECT_FALSE(ended->stopped());
  EXPECT_TRUE(stopped->stopped());
  EXPECT_EQ(jobs().Get("queued")->state, JobState::kQueued);
  EXPECT_THAT(jobs().Submit(RequestOf("late")),
              StatusIs(StatusCode::kUnavailable, HasSubstr("stopping")));
  EXPECT_EQ(trainer_.runs(), 1);
}

TEST_F(JobsTest, DrainingLeavesAJobThatTakesLonger) {
  trainer_.Hold();
  ASSERT_OK(jobs().Submit(RequestOf("j")));
  trainer_.AwaitRuns(1);
  jobs().Drain(absl::Now() + absl::Milliseconds(10));
  central_ = Central();
  trainer_.Let();
  Reopen();
  EXPECT_EQ(jobs().Get("j")->state, JobState::kFailed);
}

TEST_F(JobsTest, AResultWaitsForTheStoreAndIsNotShownBefore) {
  trainer_.Hold();
  ASSERT_OK(jobs().Submit(RequestOf("j")));
  trainer_.AwaitRuns(1);
  store_.FailWrites(UnavailableError("no disk"));
  const auto recorder = std::make_shared<Recorder>();
  ASSERT_OK(jobs().Watch("j", recorder));
  trainer_.Let();
  const JobInfo waiting = recorder->Await([](const JobInfo& job) { return !job.reason.empty(); });
  EXPECT_EQ(waiting.state, JobState::kRunning);
  EXPECT_THAT(waiting.reason, HasSubstr("no disk"));
  EXPECT_THAT(central_.models->List("", {}), IsEmpty());
  store_.FailWrites(OkStatus());
  EXPECT_EQ(recorder->AwaitEnd().state, JobState::kDone);
  EXPECT_OK(central_.models->Get("j").status());
  EXPECT_EQ(trainer_.runs(), 1);
}

}  // namespace
}  // namespace coppice::central
