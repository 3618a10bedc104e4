#include "server/curator/intake/intake.h"

#include <algorithm>
#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "server/curator/intake/submission.h"
#include "server/curator/keys/ticket_authority.h"
#include "server/curator/studies/catalog.h"
#include "tests/server/curator/curator_fixture.h"
#include "tests/support/memory_store.h"

namespace coppice::curator {
namespace {

using namespace ::coppice::testing;  // NOLINT: most names in this file are the fixture's.
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr ReportOutcome kAccepted = ReportOutcome::kAccepted;
constexpr ReportOutcome kDuplicate = ReportOutcome::kDuplicate;

class IntakeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(studies_, OpenStudies(store_, models_));
    ASSERT_OK_AND_ASSIGN(info_, studies_->Create(Spec("one", /*trees=*/3)));
    reports_ = HonestReports(*studies_, info_, 20);
    Catalog catalog;
    ASSERT_OK(catalog.Load(store_));
    study_ = catalog.Find("one");
  }

  void SubmitThen(Intake& intake, const std::vector<SubmittedReport>& reports, SubmitDone done) {
    Submission batch =
        JudgeReports(study_, Bytes(info_.fingerprint), BatchOf(reports),
                     *TicketAuthority::Open(store_), store_, /*now_unix_seconds=*/1000);
    batch.done = std::move(done);
    intake.Submit(std::move(batch));
  }

  std::future<Answer> Submit(Intake& intake, const std::vector<SubmittedReport>& reports) {
    auto promise = std::make_shared<std::promise<Answer>>();
    SubmitThen(intake, reports,
               [promise](Answer answer) { promise->set_value(std::move(answer)); });
    return promise->get_future();
  }

  MemoryStore store_;
  std::optional<models::Models> models_;
  std::unique_ptr<Studies> studies_;
  StudyInfo info_;
  std::vector<SubmittedReport> reports_;
  std::shared_ptr<Study> study_;
};

TEST_F(IntakeTest, WhatWaitsIsCommittedInOneBatch) {
  Intake intake(store_, {});
  const size_t writes = store_.writes();
  store_.HoldWrites();
  std::vector<std::future<Answer>> answers;
  answers.push_back(Submit(intake, {reports_[0]}));
  store_.AwaitHeldWrite();
  for (size_t i = 1; i < 10; ++i) answers.push_back(Submit(intake, {reports_[i]}));
  store_.LetWrites();
  for (auto& answer : answers) EXPECT_THAT(*answer.get(), ElementsAre(kAccepted));
  EXPECT_EQ(store_.writes(), writes + 2);
}

TEST_F(IntakeTest, TheNextGroupIsCommittedWhileTheFormerIsAnswered) {
  Intake intake(store_, {});
  std::promise<void> answering, committed;
  // Uses a thread of its own, since Submit may answer on the caller's.
  std::thread submitting([&] {
    SubmitThen(intake, {reports_[0]}, [&](const Answer&) {
      answering.set_value();
      EXPECT_EQ(committed.get_future().wait_for(std::chrono::minutes(5)),
                std::future_status::ready);
    });
  });
  answering.get_future().wait();
  auto second = Submit(intake, {reports_[1]});
  EXPECT_OK(intake.RunOnCommitter([this] {
    EXPECT_EQ(CountOf(study_->Info(), kAccepted), 2u);
    return OkStatus();
  }));
  committed.set_value();
  submitting.join();
  EXPECT_THAT(*second.get(), ElementsAre(kAccepted));
}

TEST_F(IntakeTest, DuplicateInAnotherBatchOfTheSameGroupIsCountedOnce) {
  Intake intake(store_, {});
  store_.HoldWrites();
  auto first = Submit(intake, {reports_[0]});
  store_.AwaitHeldWrite();
  auto second = Submit(intake, {reports_[1]});
  auto third = Submit(intake, {reports_[1], reports_[0]});
  store_.LetWrites();
  EXPECT_THAT(*first.get(), ElementsAre(kAccepted));
  EXPECT_THAT(*second.get(), ElementsAre(kAccepted));
  EXPECT_THAT(*third.get(), ElementsAre(kDuplicate, kDuplicate));
}

TEST_F(IntakeTest, GroupIsNoLargerThanItsLimit) {
  Intake intake(store_, {.group_reports = 4});
  const size_t writes = store_.writes();
  store_.HoldWrites();
  std::vector<std::future<Answer>> answers;
  answers.push_back(Submit(intake, {reports_[0]}));
  store_.AwaitHeldWrite();
  for (size_t i = 1; i < 9; ++i) answers.push_back(Submit(intake, {reports_[i]}));
  store_.LetWrites();
  for (auto& answer : answers) ASSERT_OK(answer.get());
  EXPECT_EQ(store_.writes(), writes + 3);
}

TEST_F(IntakeTest, FailedWriteCountsNothingAndARetryCountsOnce) {
  Intake intake(store_, {});
  store_.FailWrites(ResourceExhaustedError("the disk is full"));
  auto broken = reports_;
  broken[3].payload.clear();
  EXPECT_THAT(Submit(intake, broken).get(),
              StatusIs(StatusCode::kResourceExhausted, HasSubstr("full")));
  EXPECT_EQ(Received(study_->Info()), 0u);
  store_.FailWrites(OkStatus());
  ASSERT_OK(Submit(intake, broken).get());
  EXPECT_EQ(CountOf(study_->Info(), kAccepted), 19u);
  EXPECT_EQ(CountOf(study_->Info(), ReportOutcome::kBadPayload), 1u);
}

TEST_F(IntakeTest, FailedWriteFailsEveryBatchOfItsGroup) {
  Intake intake(store_, {});
  store_.HoldWrites();
  auto first = Submit(intake, {reports_[0]});
  store_.AwaitHeldWrite();
  auto second = Submit(intake, {reports_[1]});
  auto third = Submit(intake, {reports_[2]});
  store_.FailWrites(UnavailableError("no disk"));
  store_.LetWrites();
  for (auto* answer : {&first, &second, &third}) {
    EXPECT_THAT(answer->get(), StatusIs(StatusCode::kUnavailable, HasSubstr("no disk")));
  }
  EXPECT_EQ(Received(study_->Info()), 0u);
}

// Applies a batch and then reports an error, as when a sync fails after the log was written.
class ForgetfulStore final : public storage::Store {
 public:
  explicit ForgetfulStore(storage::Store& store) : store_(store) {}

  StatusOr<std::optional<std::string>> Get(std::string_view key) const override {
    return store_.Get(key);
  }
  Status Apply(const storage::StoreBatch& batch) override {
    EXPECT_OK(store_.Apply(batch));
    return forgets ? UnavailableError("sync failed") : OkStatus();
  }
  Status Scan(std::string_view prefix,
              absl::FunctionRef<Status(std::string_view, std::string_view)> visit) const override {
    return store_.Scan(prefix, visit);
  }
  Status Purge(std::string_view prefix) override { return store_.Purge(prefix); }

  bool forgets = false;

 private:
  storage::Store& store_;
};

TEST_F(IntakeTest, WhatAFailedWriteLeftBehindIsWrittenOver) {
  ForgetfulStore forgetful(store_);
  {
    Intake intake(forgetful, {});
    forgetful.forgets = true;
    EXPECT_FALSE(Submit(intake, reports_).get().ok());  // reports of all three trees
    forgetful.forgets = false;
    ASSERT_OK(Submit(intake, {reports_[0]}).get());  // a report of one of them
    EXPECT_EQ(CountOf(study_->Info(), kAccepted), 1u);
  }
  // The store adds up and holds only that report; the others count when they come again.
  std::optional<models::Models> models;
  ASSERT_OK_AND_ASSIGN(const auto reopened, OpenStudies(store_, models));
  EXPECT_EQ(CountOf(*reopened->Get("one"), kAccepted), 1u);
  const Answer again = Send(*reopened, "one", Bytes(info_.fingerprint), reports_).get();
  ASSERT_OK(again);
  EXPECT_EQ(std::count(again->begin(), again->end(), kAccepted), 19);
}

TEST_F(IntakeTest, WhatAFailedWriteLeftBehindCountsAfterACrash) {
  ForgetfulStore forgetful(store_);
  {
    Intake intake(forgetful, {});
    forgetful.forgets = true;
    EXPECT_FALSE(Submit(intake, reports_).get().ok());
  }
  std::optional<models::Models> models;
  ASSERT_OK_AND_ASSIGN(const auto reopened, OpenStudies(store_, models));
  EXPECT_EQ(CountOf(*reopened->Get("one"), kAccepted), 20u);
  EXPECT_THAT(*Send(*reopened, "one", Bytes(info_.fingerprint), reports_).get(), Each(kDuplicate));
}

TEST_F(IntakeTest, FullQueueRefusesInTurn) {
  Intake intake(store_, {.queued_bytes = 2048});
  store_.HoldWrites();
  auto first = Submit(intake, {reports_[0]});
  store_.AwaitHeldWrite();
  auto large = Submit(intake, {reports_.begin() + 1, reports_.end()});
  auto small = Submit(intake, {reports_[1]});
  store_.LetWrites();
  EXPECT_THAT(*first.get(), ElementsAre(kAccepted));
  EXPECT_THAT(large.get(), StatusIs(StatusCode::kResourceExhausted, HasSubstr("2048")));
  EXPECT_THAT(*small.get(), ElementsAre(kAccepted));
  EXPECT_EQ(Received(study_->Info()), 2u);
  EXPECT_EQ(study_->sums().received(), 2u);  // the refused batch was not received
}

TEST_F(IntakeTest, ABatchLargerThanTheQueueIsTakenWhenNothingWaits) {
  Intake intake(store_, {.queued_bytes = 100});
  EXPECT_THAT(*Submit(intake, reports_).get(), Each(kAccepted));
}

TEST_F(IntakeTest, BatchThatCouldNotBeJudgedCountsNothing) {
  Intake intake(store_, {});
  std::promise<Answer> promise;
  Submission batch;
  batch.study = study_;
  batch.reports = BatchOf(reports_);
  batch.outcomes.assign(reports_.size(), kAccepted);
  batch.refused = UnavailableError("no random numbers");
  batch.done = [&](Answer answer) { promise.set_value(std::move(answer)); };
  intake.Submit(std::move(batch));
  EXPECT_FALSE(promise.get_future().get().ok());
  EXPECT_EQ(Received(study_->Info()), 0u);
  EXPECT_EQ(study_->sums().received(), 0u);
}

TEST_F(IntakeTest, ReportsAreReceivedWhenTheyAreTakenInAndWaitUntilAnswered) {
  Intake intake(store_, {});
  ASSERT_OK(Submit(intake, {reports_[0], reports_[0]}).get());
  std::future<Answer> later;
  ASSERT_OK(intake.RunOnCommitter([&] {
    later = Submit(intake, {reports_[1], reports_[2], reports_[3]});
    const Intake::IntakeCounts taken = intake.CountsFor({study_})[0];
    EXPECT_EQ(taken.received, 5u);
    EXPECT_EQ(taken.waiting, 3u);
    EXPECT_EQ(study_->sums().counts().answered, 2u);
    return OkStatus();
  }));
  ASSERT_OK(later.get());
  EXPECT_EQ(intake.CountsFor({study_})[0].waiting, 0u);
  EXPECT_EQ(study_->sums().counts().answered, 5u);
}

TEST_F(IntakeTest, QueueHasRoomAgainOnceBatchesAreAnswered) {
  Intake intake(store_, {.queued_bytes = 1024});
  for (const SubmittedReport& report : reports_) {
    EXPECT_THAT(*Submit(intake, {report}).get(), ElementsAre(kAccepted));
    // Lowering QueuedBytes() is the last thing that the answering thread does.
    while (intake.QueuedBytes() > 0) std::this_thread::yield();
  }
}

TEST_F(IntakeTest, ChangeRunsAfterWhatCameBeforeItAndReturnsItsStatus) {
  Intake intake(store_, {});
  auto before = Submit(intake, reports_);
  EXPECT_THAT(intake.RunOnCommitter([&] {
    EXPECT_EQ(CountOf(study_->Info(), kAccepted), 20u);
    study_->Advance(Sealed(study_->life().Get(), 1000));
    return InternalError("as returned");
  }),
              StatusIs(StatusCode::kInternal, HasSubstr("as returned")));
  EXPECT_THAT(*before.get(), Each(kAccepted));
}

TEST_F(IntakeTest, BatchJudgedBeforeSealingIsRefusedAfterIt) {
  Intake intake(store_, {});
  Submission judged =
      JudgeReports(study_, Bytes(info_.fingerprint), BatchOf(reports_),
                   *TicketAuthority::Open(store_), store_, /*now_unix_seconds=*/1000);
  std::promise<Answer> promise;
  judged.done = [&](Answer answer) { promise.set_value(std::move(answer)); };
  ASSERT_OK(intake.RunOnCommitter([&] {
    study_->Advance(Sealed(study_->life().Get(), 1000));
    return OkStatus();
  }));
  intake.Submit(std::move(judged));
  EXPECT_THAT(*promise.get_future().get(), Each(ReportOutcome::kStudySealed));
  EXPECT_EQ(CountOf(study_->Info(), ReportOutcome::kStudySealed), 20u);
  EXPECT_EQ(Received(study_->Info()), 20u);
}

TEST_F(IntakeTest, ARepeatedTicketTakesTheMemoryOfOneReport) {
  const auto judge = [&](const std::vector<SubmittedReport>& reports) {
    return JudgeReports(study_, Bytes(info_.fingerprint), BatchOf(reports),
                        *TicketAuthority::Open(store_), store_, /*now_unix_seconds=*/1000);
  };
  const Submission repeated = judge(std::vector<SubmittedReport>(1000, reports_[0]));
  EXPECT_EQ(repeated.candidates.size(), 1u);
  EXPECT_EQ(repeated.repeats.size(), 999u);
  EXPECT_EQ(judge(reports_).candidates.size(), 20u);
}

// A bad report does not spend its ticket, but two in a call are enough.
TEST_F(IntakeTest, ARepeatedTicketHasTheOutcomeOfTheReportThatWasRead) {
  constexpr ReportOutcome kBad = ReportOutcome::kBadPayload;
  Intake intake(store_, {});
  std::vector<SubmittedReport> bad = reports_;
  for (SubmittedReport& report : bad) report.payload = "bad";
  EXPECT_THAT(*Submit(intake, {reports_[0], reports_[0], bad[1], reports_[1], bad[1]}).get(),
              ElementsAre(kAccepted, kDuplicate, kBad, kAccepted, kDuplicate));
  EXPECT_THAT(*Submit(intake, {reports_[0], bad[0], bad[3], bad[3], reports_[3]}).get(),
              ElementsAre(kDuplicate, kDuplicate, kBad, kBad, kBad));
  EXPECT_THAT(*Submit(intake, {reports_[3]}).get(), ElementsAre(kAccepted));
  Submission judged =
      JudgeReports(study_, Bytes(info_.fingerprint), BatchOf({reports_[2], reports_[2]}),
                   *TicketAuthority::Open(store_), store_, /*now_unix_seconds=*/1000);
  std::promise<Answer> promise;
  judged.done = [&](Answer answer) { promise.set_value(std::move(answer)); };
  ASSERT_OK(intake.RunOnCommitter([&] {
    study_->Advance(Sealed(study_->life().Get(), 1000));
    return OkStatus();
  }));
  intake.Submit(std::move(judged));
  EXPECT_THAT(*promise.get_future().get(), Each(ReportOutcome::kStudySealed));
}

TEST_F(IntakeTest, DestructorAnswersWhatIsQueued) {
  std::vector<std::future<Answer>> answers;
  {
    Intake intake(store_, {});
    for (const SubmittedReport& report : reports_) answers.push_back(Submit(intake, {report}));
  }
  for (auto& answer : answers) EXPECT_THAT(*answer.get(), ElementsAre(kAccepted));
}

}  // namespace
}  // namespace coppice::curator
