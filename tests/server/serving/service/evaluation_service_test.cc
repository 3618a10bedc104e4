#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "server/serving/service/handlers.h"
#include "tests/server/serving/service/central_service_fixture.h"

namespace coppice::service {
namespace {

using namespace ::coppice::testing;  // NOLINT: most names in this file are the fixture's.
using ::testing::HasSubstr;
using ::testing::SizeIs;

// A dataset "d" with a reserve, and a model "m" of it.
class EvaluationServiceTest : public CentralServiceTest {
 protected:
  EvaluationServiceTest() {
    v1::CreateDatasetRequest create = CreateRequest("d");
    create.mutable_cap()->set_reserve_millionths(500'000);
    EXPECT_THAT(Create(create), IsGrpcOk());
    EXPECT_THAT(Upload({Rows("datasets/d", 0, 100, /*complete=*/true)}), IsGrpcOk());
    central::JobRequest job = RequestOf("j");
    job.model = "m";
    EXPECT_OK(central_.jobs->Submit(job).status());
    AwaitEnd(*central_.jobs, "j");
  }

  static v1::EvaluationSpec Spec(uint64_t epsilon_nanos = kEpsilon) {
    v1::EvaluationSpec spec;
    spec.set_model("models/m");
    spec.set_dataset("datasets/d");
    spec.set_epsilon_nanos(epsilon_nanos);
    return spec;
  }
  grpc::Status Evaluate(const v1::EvaluationSpec& spec, const std::string& request_id = "r") {
    grpc::ClientContext context;
    v1::EvaluateModelRequest request;
    request.set_request_id(request_id);
    *request.mutable_spec() = spec;
    v1::EvaluateModelResponse response;
    const grpc::Status status = training_->EvaluateModel(&context, request, &response);
    evaluation_ = response.evaluation();
    return status;
  }
  grpc::Status GetEvaluation(const std::string& name) {
    grpc::ClientContext context;
    v1::GetEvaluationRequest request;
    request.set_name(name);
    v1::GetEvaluationResponse response;
    const grpc::Status status = training_->GetEvaluation(&context, request, &response);
    evaluation_ = response.evaluation();
    return status;
  }
  grpc::Status Preview(const v1::EvaluationSpec& spec, v1::PreviewEvaluationResponse& response) {
    grpc::ClientContext context;
    v1::PreviewEvaluationRequest request;
    *request.mutable_spec() = spec;
    request.set_rows(3000);
    return training_->PreviewEvaluation(&context, request, &response);
  }

  v1::Evaluation evaluation_;  // from the last answer
};

TEST_F(EvaluationServiceTest, TheResultAndItsReleasesShow) {
  ASSERT_THAT(Evaluate(Spec()), IsGrpcOk());
  EXPECT_EQ(evaluation_.state(), v1::EVALUATION_STATE_DONE);
  EXPECT_EQ(evaluation_.account(), v1::ACCOUNT_KIND_RESERVE);
  EXPECT_EQ(evaluation_.cost().epsilon_nanos(), kEpsilon);
  EXPECT_EQ(evaluation_.cost().rho_pico(), 0u) << "epsilons add up";
  EXPECT_TRUE(evaluation_.scores().has_accuracy());
  const v1::Evaluation made = evaluation_;
  ASSERT_THAT(Evaluate(Spec()), IsGrpcOk());
  EXPECT_EQ(evaluation_.SerializeAsString(), made.SerializeAsString()) << "repeated";
  ASSERT_THAT(GetEvaluation(made.name()), IsGrpcOk());
  EXPECT_EQ(evaluation_.SerializeAsString(), made.SerializeAsString());
  ASSERT_THAT(Get("datasets/d"), IsGrpcOk());
  EXPECT_EQ(dataset_.cap().reserve_millionths(), 500'000u);
  EXPECT_EQ(dataset_.reserve_spent().epsilon_nanos(), kEpsilon);
  EXPECT_EQ(dataset_.reserve_epsilon_left_nanos(), 9 * kEpsilon);
  EXPECT_EQ(dataset_.spent().epsilon_nanos(), kEpsilon) << "the job's";
  EXPECT_GT(dataset_.reserve_rows(), 0u);
  const v1::LedgerEntry& release = *dataset_.ledger().rbegin();
  EXPECT_EQ(release.job(), made.name());
  EXPECT_EQ(release.account(), v1::ACCOUNT_KIND_RESERVE);
  EXPECT_THAT(release.releases(), SizeIs(2));
}

TEST_F(EvaluationServiceTest, APreviewChargesNothing) {
  v1::PreviewEvaluationResponse preview;
  ASSERT_THAT(Preview(Spec(), preview), IsGrpcOk());
  EXPECT_TRUE(preview.fits());
  EXPECT_GT(preview.half_width(), 0);
  EXPECT_LT(preview.half_width(), 0.05);
  EXPECT_EQ(preview.account(), v1::ACCOUNT_KIND_RESERVE);
  ASSERT_THAT(Preview(Spec(11 * kEpsilon), preview), IsGrpcOk());
  EXPECT_FALSE(preview.fits());
  EXPECT_THAT(preview.reason(), HasSubstr("10"));
  ASSERT_THAT(Get("datasets/d"), IsGrpcOk());
  EXPECT_EQ(dataset_.reserve_spent().epsilon_nanos(), 0u);
}

TEST_F(EvaluationServiceTest, WrongInputIsRefused) {
  v1::EvaluationSpec spec = Spec();
  spec.set_model("m");
  EXPECT_THAT(Evaluate(spec), GrpcStatusIs(grpc::INVALID_ARGUMENT, HasSubstr("spec.model")));
  spec = Spec();
  spec.set_dataset("models/d");
  EXPECT_THAT(Evaluate(spec), GrpcStatusIs(grpc::INVALID_ARGUMENT, HasSubstr("spec.dataset")));
  spec = Spec();
  spec.set_by("none");
  EXPECT_THAT(Evaluate(spec), GrpcStatusIs(grpc::INVALID_ARGUMENT, HasSubstr("no feature")));
  spec = Spec();
  spec.set_reach(3);
  EXPECT_THAT(Evaluate(spec), GrpcStatusIs(grpc::INVALID_ARGUMENT, HasSubstr("reach")));
  EXPECT_THAT(Evaluate(Spec(0)), GrpcStatusIs(grpc::INVALID_ARGUMENT, HasSubstr("epsilon")));
  EXPECT_THAT(Evaluate(Spec(), ""), GrpcStatusIs(grpc::INVALID_ARGUMENT, HasSubstr("request_id")));
  EXPECT_THAT(Evaluate(Spec(11 * kEpsilon)),
              GrpcStatusIs(grpc::RESOURCE_EXHAUSTED, HasSubstr("10")));
  EXPECT_THAT(GetEvaluation("evaluations/none"), GrpcStatusIs(grpc::NOT_FOUND, HasSubstr("none")));
}

TEST_F(EvaluationServiceTest, ToOthersEvaluationsAreNotThere) {
  ASSERT_THAT(Evaluate(Spec()), IsGrpcOk());
  const std::string name = evaluation_.name();
  CallAs({.name = "other"});
  v1::PreviewEvaluationResponse preview;
  EXPECT_THAT(GetEvaluation(name),
              GrpcStatusIs(grpc::NOT_FOUND, HasSubstr("there is no evaluation")));
  EXPECT_THAT(Evaluate(Spec()), GrpcStatusIs(grpc::NOT_FOUND, "there is no dataset d"));
  EXPECT_THAT(Preview(Spec(), preview), GrpcStatusIs(grpc::NOT_FOUND, "there is no dataset d"));
}

}  // namespace
}  // namespace coppice::service
