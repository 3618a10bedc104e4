#include "client/cli/central/train_watch.h"

#include "common/base/status.h"
#include "tests/client/cli/fake_datasets.h"
#include "tests/support/status_matchers.h"

namespace coppice::cli {
namespace {

using ::coppice::testing::FakeTrainingCurator;
using ::coppice::testing::JobAt;
using ::coppice::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class TrainWatchTest : public ::testing::Test {
 protected:
  void SetUp() override {
    curator_.training->states = {JobAt(v1::JOB_STATE_QUEUED), JobAt(v1::JOB_STATE_RUNNING, 0.25),
                                 JobAt(v1::JOB_STATE_RUNNING, 0.5), JobAt(v1::JOB_STATE_DONE, 1)};
  }

  StatusOr<v1::Job> Follow(const std::string& name = "jobs/j1") {
    return FollowJob(*Remote::Connect(curator_.flags()), name,
                     [&](const v1::Job& job) { seen_.push_back(job.progress()); });
  }

  FakeTrainingCurator curator_;
  std::vector<double> seen_;
};

TEST_F(TrainWatchTest, EveryChangeIsShownOnce) {
  ASSERT_OK_AND_ASSIGN(const v1::Job job, Follow());
  EXPECT_EQ(job.state(), v1::JOB_STATE_DONE);
  EXPECT_THAT(seen_, ElementsAre(0, 0.25, 0.5, 1));
  EXPECT_EQ(curator_.training->watched, "jobs/j1");
}

TEST_F(TrainWatchTest, BrokenStreamsAreReopenedAndNothingIsPrintedTwice) {
  curator_.training->end_of_stream = {2, 2, 3};
  ASSERT_OK_AND_ASSIGN(const v1::Job job, Follow());
  EXPECT_EQ(job.state(), v1::JOB_STATE_DONE);
  EXPECT_THAT(seen_, ElementsAre(0, 0.25, 0.5, 1));
  EXPECT_EQ(curator_.training->streams, 4);
}

TEST_F(TrainWatchTest, AJobThatHasEndedNeedsNoStream) {
  curator_.training->now = 3;
  ASSERT_OK(Follow());
  EXPECT_THAT(seen_, ElementsAre(1));
  EXPECT_EQ(curator_.training->streams, 0);
}

TEST_F(TrainWatchTest, GivesUpAfterSeveralStreamsWithoutNews) {
  curator_.training->end_of_stream = std::vector<size_t>(100, 1);
  EXPECT_THAT(Follow(), StatusIs(StatusCode::kUnavailable, "cut off"));
  EXPECT_EQ(curator_.training->streams, 5);
  curator_.training->watch_failure = grpc::Status::OK;
  EXPECT_THAT(Follow(), StatusIs(StatusCode::kUnavailable, HasSubstr("before the job had ended")));
}

TEST_F(TrainWatchTest, StreamsThatLastedAreNoSignOfTrouble) {
  curator_.training->end_of_stream = std::vector<size_t>(7, 1);
  curator_.training->stream_lasts = absl::Milliseconds(600);
  ASSERT_OK_AND_ASSIGN(const v1::Job job, Follow());
  EXPECT_EQ(job.state(), v1::JOB_STATE_DONE);
  EXPECT_EQ(curator_.training->streams, 8);
}

TEST_F(TrainWatchTest, AnErrorThatWillNotPassIsNotTriedAgain) {
  curator_.training->end_of_stream = {1};
  curator_.training->watch_failure = {grpc::StatusCode::PERMISSION_DENIED, "not yours"};
  EXPECT_THAT(Follow(), StatusIs(StatusCode::kPermissionDenied, "not yours"));
  EXPECT_THAT(Follow("jobs/j2"), StatusIs(StatusCode::kNotFound, "no job"));
}

TEST(OutcomeOfTest, OnlyADoneJobIsGood) {
  EXPECT_OK(OutcomeOf(JobAt(v1::JOB_STATE_DONE)));
  v1::Job failed = JobAt(v1::JOB_STATE_FAILED);
  failed.set_reason("no memory");
  EXPECT_THAT(OutcomeOf(failed), StatusIs(StatusCode::kAborted, "job j1 failed: no memory"));
  EXPECT_THAT(OutcomeOf(JobAt(v1::JOB_STATE_CANCELLED)),
              StatusIs(StatusCode::kCancelled, "job j1 was cancelled"));
}

}  // namespace
}  // namespace coppice::cli
