#include "common/base/text.h"
#include "server/serving/service/handlers.h"
#include "tests/server/serving/service/central_service_fixture.h"
#include "tests/server/serving/service/load.h"

namespace coppice::service {
namespace {

using namespace ::coppice::testing;  // NOLINT: most names in this file are the fixture's.
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

class TrainingServiceTest : public CentralServiceTest {
 protected:
  TrainingServiceTest() { EXPECT_OK(MakeDataset(*central_.datasets, SpecOf("d"))); }

  static v1::JobSpec Spec(uint64_t epsilon_nanos = kEpsilon) {
    v1::JobSpec spec;
    spec.set_dataset("datasets/d");
    spec.set_algorithm("fake");
    spec.set_epsilon_nanos(epsilon_nanos);
    (*spec.mutable_settings())["trees"] = "3";
    return spec;
  }
  grpc::Status Submit(const std::string& id, const v1::JobSpec& spec) {
    grpc::ClientContext context;
    v1::SubmitJobRequest request;
    request.set_request_id(StrCat("request of ", id));
    request.set_job_id(id);
    request.set_model_id(StrCat("model-", id));
    *request.mutable_spec() = spec;
    v1::SubmitJobResponse response;
    const grpc::Status status = training_->SubmitJob(&context, request, &response);
    job_ = response.job();
    return status;
  }
  // Calls `begun` once the job was told of.
  grpc::Status Watch(
      const std::string& name, std::vector<v1::Job>& told,
      const std::function<void()>& begun = [] {}) {
    grpc::ClientContext context;
    v1::WatchJobRequest request;
    request.set_name(name);
    const auto reader = training_->WatchJob(&context, request);
    v1::WatchJobResponse response;
    while (reader->Read(&response)) {
      told.push_back(response.job());
      if (told.size() == 1) begun();
    }
    return reader->Finish();
  }

  v1::Job job_;  // from the last answer
};

TEST_F(TrainingServiceTest, ListAlgorithmsDescribesThemWithTheirParameters) {
  grpc::ClientContext context;
  v1::ListAlgorithmsResponse response;
  ASSERT_THAT(training_->ListAlgorithms(&context, {}, &response), IsGrpcOk());
  ASSERT_THAT(response.algorithms(), SizeIs(1));
  const v1::Algorithm& algorithm = response.algorithms(0);
  EXPECT_EQ(algorithm.name(), "fake");
  EXPECT_EQ(algorithm.neighbours(), v1::NEIGHBOURS_ADD_OR_REMOVE_ROW);
  EXPECT_TRUE(algorithm.classification());
  ASSERT_THAT(algorithm.parameters(), SizeIs(1));
  EXPECT_EQ(algorithm.parameters(0).name(), "trees");
  EXPECT_EQ(algorithm.parameters(0).type(), v1::PARAMETER_TYPE_INTEGER);
  EXPECT_EQ(algorithm.parameters(0).max(), 9);
  EXPECT_EQ(algorithm.parameters(0).default_value(), "1");
}

TEST_F(TrainingServiceTest, AJobSaysWhichPublicRowsItStartsFromAndSendsNoneBack) {
  v1::JobSpec spec = Spec();
  *spec.mutable_public_rows() = Block(25);
  ASSERT_THAT(Submit("own", spec), IsGrpcOk());
  EXPECT_EQ(job_.public_rows(), 25u);
  EXPECT_THAT(job_.public_rows_sha256(), SizeIs(64));
  EXPECT_FALSE(job_.spec().has_public_rows());
  std::vector<v1::Job> told;
  ASSERT_THAT(Watch("jobs/own", told), IsGrpcOk());
  EXPECT_EQ(trainer_.public_rows_seen(), 25u);
  trainer_.info().public_rows = false;
  EXPECT_THAT(Submit("no", spec), GrpcStatusIs(grpc::INVALID_ARGUMENT,
                                               HasSubstr("fake cannot start from public rows")));
}

// A job keeps its settings, and a large message may be all settings.
TEST_F(TrainingServiceTest, SettingsHaveABoundOfTheirOwn) {
  v1::JobSpec spec = Spec();
  (*spec.mutable_settings())["trees"] = std::string(size_t{1} << 20, '1');
  EXPECT_THAT(Submit("j", spec),
              GrpcStatusIs(grpc::INVALID_ARGUMENT, HasSubstr("spec.settings: must take at most")));
}

// Whoever measures curves must not keep others from seeing what a job would cost.
TEST_F(TrainingServiceTest, APreviewDoesNotWaitForCurves) {
  const FullPool full(previews_, /*threads=*/1);
  grpc::ClientContext context;
  v1::PreviewJobRequest request;
  *request.mutable_spec() = Spec();
  v1::PreviewJobResponse response;
  EXPECT_THAT(training_->PreviewJob(&context, request, &response), IsGrpcOk());
}

TEST_F(TrainingServiceTest, PreviewSaysWhetherItFitsAndWhyNot) {
  grpc::ClientContext context, large_context;
  v1::PreviewJobRequest request;
  *request.mutable_spec() = Spec();
  v1::PreviewJobResponse fits, large;
  ASSERT_THAT(training_->PreviewJob(&context, request, &fits), IsGrpcOk());
  EXPECT_TRUE(fits.fits());
  EXPECT_EQ(fits.reason(), "");
  EXPECT_EQ(fits.cost().epsilon_nanos(), kEpsilon);
  ASSERT_THAT(fits.releases(), SizeIs(1));
  EXPECT_EQ(fits.releases(0).what(), "a count");
  *request.mutable_spec() = Spec(11 * kEpsilon);
  ASSERT_THAT(training_->PreviewJob(&large_context, request, &large), IsGrpcOk());
  EXPECT_FALSE(large.fits());
  EXPECT_THAT(large.reason(), Not(HasSubstr("OK")));
  EXPECT_NE(large.reason(), "");
}

TEST_F(TrainingServiceTest, AJobHasARhoWhereThatIsWhatAddsUp) {
  central::DatasetSpec spec = SpecOf("z");
  spec.cap.composition = ledger::Composition::kZeroConcentrated;
  spec.cap.delta_atto = 1'000'000'000'000;
  ASSERT_OK(MakeDataset(*central_.datasets, spec));
  v1::JobSpec job = Spec();
  job.set_dataset("datasets/z");
  ASSERT_THAT(Submit("j", job), IsGrpcOk());
  EXPECT_GT(job_.cost().rho_pico(), 0);
}

TEST_F(TrainingServiceTest, SubmitAnswersWithTheJobAndTheLedgerNamesIt) {
  trainer_.Hold();
  ASSERT_THAT(Submit("j", Spec()), IsGrpcOk());
  EXPECT_EQ(job_.name(), "jobs/j");
  EXPECT_EQ(job_.model(), "models/model-j");
  EXPECT_EQ(job_.spec().dataset(), "datasets/d");
  EXPECT_EQ(job_.spec().settings().at("trees"), "3");
  EXPECT_EQ(job_.cost().epsilon_nanos(), kEpsilon);
  EXPECT_EQ(job_.cost().rho_pico(), 0);  // epsilons add up in this dataset
  ASSERT_THAT(Get("datasets/d"), IsGrpcOk());
  ASSERT_THAT(dataset_.ledger(), SizeIs(2));
  EXPECT_EQ(dataset_.ledger(1).kind(), v1::LEDGER_ENTRY_KIND_RESERVED);
  EXPECT_EQ(dataset_.ledger(1).job(), "jobs/j");
  EXPECT_EQ(dataset_.epsilon_left_nanos(), 9 * kEpsilon);
  EXPECT_THAT(Submit("k", Spec(10 * kEpsilon)),
              GrpcStatusIs(grpc::RESOURCE_EXHAUSTED, HasSubstr("9")));
  v1::JobSpec nameless = Spec();
  nameless.set_dataset("d");
  EXPECT_THAT(Submit("k", nameless),
              GrpcStatusIs(grpc::INVALID_ARGUMENT, HasSubstr("spec.dataset")));
}

TEST_F(TrainingServiceTest, JobsAndTheLedgerTellWhoSubmittedThem) {
  CallAs({.name = "lab", .is_operator = true, .sees_all = true});
  ASSERT_THAT(Submit("j", Spec()), IsGrpcOk());
  EXPECT_EQ(job_.submitter(), "lab");
  CallAs({.name = "other", .is_operator = true, .sees_all = true});
  ASSERT_THAT(Submit("j", Spec()), IsGrpcOk());  // a repeated request returns the same job
  EXPECT_EQ(job_.submitter(), "lab");
  CallAs(owners::Caller::Operator());
  ASSERT_THAT(Submit("k", Spec()), IsGrpcOk());
  EXPECT_EQ(job_.submitter(), "");

  ASSERT_THAT(Get("datasets/d"), IsGrpcOk());
  EXPECT_EQ(dataset_.ledger(0).submitter(), "");
  EXPECT_EQ(dataset_.ledger(1).job(), "jobs/j");
  EXPECT_EQ(dataset_.ledger(1).submitter(), "lab");
  for (const v1::LedgerEntry& entry : dataset_.ledger()) {
    EXPECT_EQ(entry.submitter(), entry.job() == "jobs/j" ? "lab" : "");
  }
}

TEST_F(TrainingServiceTest, TheLedgerIsReadInPages) {
  for (const char* id : {"j1", "j2", "j3"}) ASSERT_THAT(Submit(id, Spec()), IsGrpcOk());
  trainer_.Let();
  for (const char* id : {"j1", "j2", "j3"}) AwaitEnd(*central_.jobs, id);
  ASSERT_THAT(Get("datasets/d"), IsGrpcOk());
  const v1::Dataset whole = dataset_;
  ASSERT_EQ(whole.ledger_size(), 7);
  EXPECT_EQ(whole.ledger_entries(), 7u);
  const auto page = [this](uint64_t first, uint32_t max) {
    v1::GetDatasetRequest request;
    request.set_name("datasets/d");
    request.set_first_entry(first);
    request.set_max_entries(max);
    grpc::ClientContext context;
    v1::GetDatasetResponse response;
    EXPECT_THAT(datasets_->GetDataset(&context, request, &response), IsGrpcOk());
    EXPECT_EQ(response.dataset().ledger_entries(), 7u);
    std::vector<std::string> hashes;
    for (const v1::LedgerEntry& entry : response.dataset().ledger()) {
      hashes.push_back(entry.hash());
    }
    return hashes;
  };
  std::vector<std::string> all;
  for (const v1::LedgerEntry& entry : whole.ledger()) all.push_back(entry.hash());
  const auto part = [&all](size_t begin, size_t end) {
    return std::vector<std::string>(all.begin() + begin, all.begin() + end);
  };
  EXPECT_EQ(page(0, 3), part(0, 3));
  EXPECT_EQ(page(3, 3), part(3, 6));
  EXPECT_EQ(page(6, 3), part(6, 7));
  EXPECT_EQ(page(5, 0), part(5, 7));
  EXPECT_THAT(page(7, 3), SizeIs(0));
  EXPECT_THAT(page(UINT64_MAX, UINT32_MAX), SizeIs(0));
}

TEST_F(TrainingServiceTest, WatchEndsWithTheJob) {
  trainer_.Hold();
  ASSERT_THAT(Submit("j", Spec()), IsGrpcOk());
  trainer_.AwaitRuns(1);
  std::vector<v1::Job> told;
  EXPECT_THAT(Watch("jobs/j", told, [this] { trainer_.Let(); }), IsGrpcOk());
  ASSERT_FALSE(told.empty());
  EXPECT_EQ(told.front().state(), v1::JOB_STATE_RUNNING);
  EXPECT_EQ(told.back().state(), v1::JOB_STATE_DONE);
  std::vector<v1::Job> again;
  EXPECT_THAT(Watch("jobs/j", again), IsGrpcOk());
  ASSERT_THAT(again, SizeIs(1));
  EXPECT_EQ(again[0].state(), v1::JOB_STATE_DONE);
  EXPECT_THAT(Watch("jobs/k", told), GrpcStatusIs(grpc::NOT_FOUND, HasSubstr("no job k")));
  EXPECT_THAT(Watch("k", told), GrpcStatusIs(grpc::INVALID_ARGUMENT, HasSubstr("jobs/ID")));
}

TEST_F(TrainingServiceTest, AWatcherMayLeaveAndTheDaemonMayStop) {
  trainer_.Hold();
  ASSERT_THAT(Submit("j", Spec()), IsGrpcOk());
  v1::WatchJobRequest request;
  request.set_name("jobs/j");
  v1::WatchJobResponse response;
  {
    grpc::ClientContext context;
    const auto reader = training_->WatchJob(&context, request);
    ASSERT_TRUE(reader->Read(&response));
    context.TryCancel();
    while (reader->Read(&response)) {
    }
    EXPECT_THAT(reader->Finish(), GrpcStatusIs(grpc::CANCELLED, HasSubstr("")));
  }
  grpc::ClientContext context;
  const auto reader = training_->WatchJob(&context, request);
  ASSERT_TRUE(reader->Read(&response));
  central_.jobs->Drain(absl::Now());
  while (reader->Read(&response)) {
  }
  EXPECT_THAT(reader->Finish(), GrpcStatusIs(grpc::UNAVAILABLE, HasSubstr("stopping")));
}

TEST_F(TrainingServiceTest, GetListAndCancelShowTheJob) {
  trainer_.Hold();
  for (const char* id : {"a", "b"}) ASSERT_THAT(Submit(id, Spec()), IsGrpcOk());
  trainer_.AwaitRuns(1);
  grpc::ClientContext cancel_context, get_context, list_context;
  v1::CancelJobRequest cancel;
  cancel.set_name("jobs/b");
  v1::CancelJobResponse cancelled;
  ASSERT_THAT(training_->CancelJob(&cancel_context, cancel, &cancelled), IsGrpcOk());
  EXPECT_EQ(cancelled.job().state(), v1::JOB_STATE_CANCELLED);
  v1::GetJobRequest get;
  get.set_name("jobs/b");
  v1::GetJobResponse got;
  ASSERT_THAT(training_->GetJob(&get_context, get, &got), IsGrpcOk());
  EXPECT_THAT(got.job().reason(), HasSubstr("refunded"));
  v1::ListJobsRequest list;
  list.set_dataset("datasets/d");
  list.set_page_size(1);
  v1::ListJobsResponse listed;
  ASSERT_THAT(training_->ListJobs(&list_context, list, &listed), IsGrpcOk());
  ASSERT_THAT(listed.jobs(), SizeIs(1));
  EXPECT_EQ(listed.jobs(0).name(), "jobs/a");
  EXPECT_EQ(listed.next_page_token(), "a");
}

TEST_F(TrainingServiceTest, ToOtherTrainersADatasetsJobsAreNotThere) {
  ASSERT_THAT(Submit("j", Spec()), IsGrpcOk());
  CallAs({.name = "other"});
  const auto preview = [this](const std::string& dataset) {
    grpc::ClientContext context;
    v1::PreviewJobRequest request;
    *request.mutable_spec() = Spec();
    request.mutable_spec()->set_dataset(dataset);
    v1::PreviewJobResponse response;
    return training_->PreviewJob(&context, request, &response);
  };
  EXPECT_THAT(preview("datasets/d"), GrpcStatusIs(grpc::NOT_FOUND, "there is no dataset d"));
  EXPECT_THAT(preview("datasets/none"), GrpcStatusIs(grpc::NOT_FOUND, "there is no dataset none"));
  EXPECT_THAT(Submit("k", Spec()), GrpcStatusIs(grpc::NOT_FOUND, "there is no dataset d"));
  // Repeating the request that made the job does not show it either.
  EXPECT_THAT(Submit("j", Spec()), GrpcStatusIs(grpc::NOT_FOUND, "there is no dataset d"));
  std::vector<v1::Job> told;
  EXPECT_THAT(Watch("jobs/j", told), GrpcStatusIs(grpc::NOT_FOUND, "there is no job j"));
  EXPECT_THAT(told, SizeIs(0));
  grpc::ClientContext get_context, cancel_context, list_context;
  v1::GetJobRequest get;
  get.set_name("jobs/j");
  v1::GetJobResponse got;
  EXPECT_THAT(training_->GetJob(&get_context, get, &got),
              GrpcStatusIs(grpc::NOT_FOUND, "there is no job j"));
  v1::CancelJobRequest cancel;
  cancel.set_name("jobs/j");
  v1::CancelJobResponse cancelled;
  EXPECT_THAT(training_->CancelJob(&cancel_context, cancel, &cancelled),
              GrpcStatusIs(grpc::NOT_FOUND, "there is no job j"));
  v1::ListJobsResponse listed;
  EXPECT_THAT(training_->ListJobs(&list_context, {}, &listed), IsGrpcOk());
  EXPECT_THAT(listed.jobs(), SizeIs(0));
}

}  // namespace
}  // namespace coppice::service
