// What a study admits, and its one way through its states: minimum, expiry, sealing.

#include "server/curator/study/study_life.h"

#include <functional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "server/curator/studies/study_request.h"
#include "server/curator/study/study.h"
#include "tests/server/curator/curator_fixture.h"
#include "tests/support/crashing_store.h"
#include "tests/support/memory_store.h"

namespace coppice::curator {
namespace {

using namespace ::coppice::testing;  // NOLINT: most names in this file are the fixture's.
using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;

constexpr int64_t kStart = 1000;
constexpr int64_t kEnd = 2000;

TEST(StudyLifeStepTest, StepsGoForwardAndEachOnce) {
  const StudyLife open;
  EXPECT_EQ(Built(open, "m"), open);
  const StudyLife sealed = Sealed(open, 5);
  EXPECT_EQ(sealed.state, StudyState::kSealed);
  EXPECT_EQ(sealed.sealed_unix_seconds, 5);
  EXPECT_EQ(Sealed(sealed, 9), sealed);
  EXPECT_EQ(Expired(sealed, 9), sealed);
  EXPECT_TRUE(Expired(open, 9).expired);
  const StudyLife built = Built(sealed, "m");
  EXPECT_EQ(built.state, StudyState::kBuilt);
  EXPECT_EQ(built.final_model, "m");
  EXPECT_EQ(Built(built, "other"), built);
  EXPECT_EQ(Sealed(built, 9), built);
  EXPECT_EQ(Expired(built, 9), built);
  EXPECT_FALSE(open.seen_early);
  EXPECT_TRUE(Built(Sealed(SeenEarly(open), 5), "m").seen_early);
  EXPECT_TRUE(Retired(Expired(SeenEarly(open), 5)).seen_early);
}

// Ten million tickets take over a gigabyte for as long as the daemon runs.
TEST(StudyLifeStepTest, ASealedStudyKeepsNoSpentTickets) {
  StatusOr<StudyDefinition> definition = MakeStudyDefinition(Spec("one"), "one", 1000);
  ASSERT_OK(definition);
  StudyProgress progress = NoProgress(*definition);
  Study study(*std::move(definition), std::move(progress));
  study.committer().spent.Insert(1);
  study.Advance(Sealed(study.life().Get(), 5));
  EXPECT_EQ(study.committer().spent.size(), 0u);
  EXPECT_EQ(study.committer().spent.capacity(), 0u);
}

class StudyLifeTest : public ::testing::Test {
 protected:
  void SetUp() override { Reopen(store_); }

  void Reopen(storage::Store& store) {
    studies_.reset();
    ASSERT_OK_AND_ASSIGN(studies_, OpenStudies(store, models_, [this] { return now_; }));
  }

  StudyInfo Create(uint64_t min_reports, int64_t expires) {
    StudySpec spec = Spec("one");
    spec.settings.min_reports = min_reports;
    spec.settings.expires_unix_seconds = expires;
    const auto made = studies_->Create(spec);
    EXPECT_OK(made);
    return made.value_or(StudyInfo());
  }

  StudyInfo Now() const { return *studies_->Get("one"); }

  // The state in the store, as a curator that starts now would read it.
  StudyState Stored() {
    std::optional<models::Models> models;
    const auto reopened = OpenStudies(store_, models, [] { return kStart; });
    EXPECT_OK(reopened);
    return (*reopened)->List({})[0].state;
  }

  int64_t now_ = kStart;
  MemoryStore store_;
  std::optional<models::Models> models_;
  std::unique_ptr<Studies> studies_;
};

TEST_F(StudyLifeTest, ModelBelowTheMinimumIsRefusedAndTheMessageCounts) {
  const StudyInfo study = Create(/*min_reports=*/10, /*expires=*/0);
  ASSERT_OK(SendAndWait(*studies_, study, HonestReports(*studies_, study, 9)));
  EXPECT_THAT(studies_->BuildModel("one", "model", {}),
              StatusIs(StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("9 accepted"), HasSubstr("below 10"), HasSubstr("wait"))));
  EXPECT_FALSE(models_->Get("model").ok());
  ASSERT_OK(SendAndWait(*studies_, study, HonestReports(*studies_, study, 1)));
  EXPECT_OK(studies_->BuildModel("one", "model", {}));
}

TEST_F(StudyLifeTest, DuplicatesAndRejectionsDoNotReachTheMinimum) {
  const StudyInfo study = Create(/*min_reports=*/2, /*expires=*/0);
  auto reports = HonestReports(*studies_, study, 2);
  reports[1].payload.clear();
  for (int i = 0; i < 3; ++i) ASSERT_OK(SendAndWait(*studies_, study, reports));
  EXPECT_THAT(studies_->BuildModel("one", "model", {}),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("1 accepted")));
}

TEST_F(StudyLifeTest, MinimumHoldsAfterReopeningAndSealing) {
  Create(/*min_reports=*/1, /*expires=*/0);
  ASSERT_OK(studies_->Seal("one"));
  Reopen(store_);
  EXPECT_EQ(Now().settings.min_reports, 1u);
  EXPECT_THAT(studies_->BuildModel("one", "model", {}),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("there will be none")));
  EXPECT_EQ(Now().state, StudyState::kSealed);
}

TEST_F(StudyLifeTest, StudyWithoutAMinimumGivesAModelOfPublicRowsAlone) {
  Create(/*min_reports=*/0, /*expires=*/0);
  EXPECT_OK(studies_->BuildModel("one", "model", {}));
}

TEST_F(StudyLifeTest, ExpiryMustLieAheadButARepeatedRequestMayComeLater) {
  StudySpec spec = Spec("one");
  spec.settings.expires_unix_seconds = kStart;
  EXPECT_THAT(studies_->Create(spec),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("expires_unix_seconds")));
  spec.settings.expires_unix_seconds = kEnd;
  ASSERT_OK(studies_->Create(spec));
  now_ = kEnd + 1;
  EXPECT_OK(studies_->Create(spec));
}

TEST_F(StudyLifeTest, ReportsBeforeTheEndCountAndLaterOnesAreTooLate) {
  const StudyInfo study = Create(0, kEnd);
  const auto early = HonestReports(*studies_, study, 2);
  const auto late = HonestReports(*studies_, study, 2);
  now_ = kEnd - 1;
  EXPECT_THAT(*SendAndWait(*studies_, study, early), Each(ReportOutcome::kAccepted));
  now_ = kEnd;
  EXPECT_THAT(*SendAndWait(*studies_, study, late), Each(ReportOutcome::kStudyExpired));
  EXPECT_EQ(CountOf(Now(), ReportOutcome::kAccepted), 2u);
  EXPECT_EQ(CountOf(Now(), ReportOutcome::kStudyExpired), 2u);
  EXPECT_EQ(Now().state, StudyState::kSealed);
  EXPECT_TRUE(Now().expired);
  EXPECT_EQ(Now().sealed_unix_seconds, kEnd);
}

// Whichever call notices first, the study stays sealed if the clock is set back, also in the store.
TEST_F(StudyLifeTest, ExpiryThatWasSeenOnceIsForGood) {
  using Notice = std::function<void(const StudyInfo&, const std::vector<SubmittedReport>&)>;
  const std::vector<std::pair<const char*, Notice>> notices = {
      {"report",
       [&](const StudyInfo& study, const auto& reports) {
         EXPECT_THAT(*SendAndWait(*studies_, study, {reports[0]}),
                     Each(ReportOutcome::kStudyExpired));
       }},
      {"offer",
       [&](const StudyInfo&, const auto&) {
         EXPECT_THAT(studies_->MakeOffer("one", 1),
                     StatusIs(StatusCode::kFailedPrecondition, HasSubstr("time is over")));
       }},
      {"sweep", [&](const StudyInfo&, const auto&) { EXPECT_OK(studies_->Sweep()); }},
      {"look", [&](const StudyInfo&, const auto&) { EXPECT_TRUE(studies_->Get("one")->expired); }},
      {"seal", [&](const StudyInfo&, const auto&) { EXPECT_TRUE(studies_->Seal("one")->expired); }},
      {"build",
       [&](const StudyInfo&, const auto&) { EXPECT_OK(studies_->BuildModel("one", "", {})); }}};
  for (const auto& [name, notice] : notices) {
    SCOPED_TRACE(name);
    storage::StoreBatch nothing;
    nothing.DeletePrefix("");
    studies_.reset();
    ASSERT_OK(store_.Apply(nothing));
    now_ = kStart;
    Reopen(store_);
    const StudyInfo study = Create(0, kEnd);
    const auto reports = HonestReports(*studies_, study, 2);
    now_ = kEnd;
    notice(study, reports);
    now_ = kStart;
    EXPECT_NE(Stored(), StudyState::kOpen);
    for (int life = 0; life < 2; ++life) {
      EXPECT_THAT(*SendAndWait(*studies_, study, reports), Each(ReportOutcome::kStudyExpired));
      EXPECT_FALSE(studies_->MakeOffer("one", 1).ok());
      Reopen(store_);
    }
  }
}

TEST_F(StudyLifeTest, ExpiryThatCannotBeStoredIsNotTold) {
  const StudyInfo study = Create(0, kEnd);
  const auto reports = HonestReports(*studies_, study, 1);
  now_ = kEnd;
  store_.FailWrites(UnavailableError("no disk"));
  EXPECT_THAT(SendAndWait(*studies_, study, reports),
              StatusIs(StatusCode::kUnavailable, HasSubstr("no disk")));
  EXPECT_THAT(studies_->Sweep(), StatusIs(StatusCode::kUnavailable, HasSubstr("no disk")));
  EXPECT_EQ(CountOf(studies_->List({})[0], ReportOutcome::kStudyExpired), 0u);
  store_.FailWrites(OkStatus());
  EXPECT_OK(studies_->Sweep());
  EXPECT_EQ(Stored(), StudyState::kSealed);
}

TEST_F(StudyLifeTest, ModelOfAnOpenStudyChangesNoState) {
  Create(0, 0);
  ASSERT_OK(studies_->BuildModel("one", "early", {}));
  EXPECT_EQ(Now().state, StudyState::kOpen);
  // After sealing this is the same model, so it is not the final one.
  ASSERT_OK(studies_->Seal("one"));
  ASSERT_OK(studies_->BuildModel("one", "early", {}));
  EXPECT_EQ(Now().state, StudyState::kSealed);
}

TEST_F(StudyLifeTest, FirstModelAfterSealingIsTheFinalOne) {
  const StudyInfo study = Create(0, 0);
  ASSERT_OK(SendAndWait(*studies_, study, HonestReports(*studies_, study, 3)));
  ASSERT_OK(studies_->Seal("one"));
  ASSERT_OK(studies_->BuildModel("one", "last", {}));
  ASSERT_OK(studies_->BuildModel("one", "other", {.lambda = 2}));
  for (int life = 0; life < 2; ++life) {
    EXPECT_EQ(Now().state, StudyState::kBuilt);
    EXPECT_EQ(Now().final_model, "last");
    EXPECT_EQ(Now().sealed_unix_seconds, kStart);
    EXPECT_EQ(models_->Get("last")->model->certificate().reports, 3u);
    Reopen(store_);
  }
}

TEST_F(StudyLifeTest, NoCallGoesBack) {
  const StudyInfo study = Create(0, kEnd);
  const auto reports = HonestReports(*studies_, study, 1);
  const std::vector<std::function<void()>> calls = {
      [&] { (void)studies_->Seal("one"); },
      [&] { (void)studies_->BuildModel("one", "", {}); },
      [&] { (void)studies_->MakeOffer("one", 1); },
      [&] { (void)SendAndWait(*studies_, study, reports); },
      [&] { (void)studies_->Sweep(); },
      [&] { (void)Create(0, kEnd); },
      [&] { Reopen(store_); },
      [&] { now_ = kEnd; },
      [&] { now_ = kStart; },
  };
  // Every call follows every other one, in each of the three states.
  StudyState furthest = StudyState::kOpen;
  for (const auto& enter : {calls[3], calls[0], calls[1]}) {
    enter();
    for (const auto& first : calls) {
      for (const auto& second : calls) {
        first();
        second();
        ASSERT_GE(Stored(), furthest);
        ASSERT_GE(Now().state, furthest);
        furthest = Now().state;
      }
    }
  }
  EXPECT_EQ(furthest, StudyState::kBuilt);
}

// The model and the state that it leads to are one step, whichever write fails and however.
TEST_F(StudyLifeTest, CrashLeavesAFinalModelAndItsStateTogether) {
  for (const bool kept : {false, true}) {
    SCOPED_TRACE(kept);
    MemoryStore disk;
    {
      std::optional<models::Models> models;
      ASSERT_OK_AND_ASSIGN(const auto studies, OpenStudies(disk, models));
      ASSERT_OK(studies->Create(Spec("one")));
      ASSERT_OK(studies->Seal("one"));
    }
    CrashingStore crashing(disk, {.write = 0, .kept = kept, .fatal = true});
    {
      std::optional<models::Models> models;
      ASSERT_OK_AND_ASSIGN(const auto studies, OpenStudies(crashing, models));
      EXPECT_FALSE(studies->BuildModel("one", "last", {}).ok());
    }
    std::optional<models::Models> models;
    ASSERT_OK_AND_ASSIGN(const auto studies, OpenStudies(disk, models));
    EXPECT_EQ(models->Get("last").ok(), kept);
    EXPECT_EQ(studies->Get("one")->state, kept ? StudyState::kBuilt : StudyState::kSealed);
    EXPECT_OK(studies->BuildModel("one", "last", {}));
    EXPECT_EQ(studies->Get("one")->final_model, "last");
  }
}

}  // namespace
}  // namespace coppice::curator
