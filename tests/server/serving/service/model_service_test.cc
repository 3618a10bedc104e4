#include <limits>

#include "common/base/status.h"
#include "server/serving/service/handlers.h"
#include "tests/server/serving/service/service_fixture.h"

namespace coppice::service {
namespace {

using ::coppice::testing::GrpcStatusIs;
using ::coppice::testing::IsGrpcOk;
using ::coppice::testing::MakeModelInfo;
using ::coppice::testing::ServiceTest;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

class ModelServiceTest : public ServiceTest {
 protected:
  ModelServiceTest() {
    studies_.AddModel(MakeModelInfo("m1", "studies/s1"));
    models_.Publish(MakeModelInfo("m1", "studies/s1"));
    build_.set_study("studies/s1");
    build_.set_model_id("m1");
    build_.mutable_prune();
    predict_.set_name("models/m1");
  }
  grpc::Status Build() { return stub_->BuildModel(&context_, build_, &built_); }
  grpc::Status Predict() { return stub_->Predict(&context_, predict_, &predicted_); }

  std::unique_ptr<v1::ModelService::Stub> stub_ = v1::ModelService::NewStub(channel_);
  v1::BuildModelRequest build_;
  v1::BuildModelResponse built_;
  v1::PredictRequest predict_;
  v1::PredictResponse predicted_;
};

TEST_F(ModelServiceTest, BuildReturnsTheWholeModel) {
  ASSERT_THAT(Build(), IsGrpcOk());
  EXPECT_EQ(studies_.built_with().kind, curator::EstimatorKind::kPrune);
  EXPECT_EQ(built_.model().name(), "models/m1");
  EXPECT_EQ(built_.model().study(), "studies/s1");
  EXPECT_EQ(built_.model().created_unix_seconds(), 1'700'000'001);
  EXPECT_THAT(built_.model().predictions(), SizeIs(1));
  EXPECT_EQ(built_.model().certificate().estimator(), "prune");
}

TEST_F(ModelServiceTest, BuildTakesPublicOnlyAsInfinity) {
  build_.mutable_weighted()->set_lambda(std::numeric_limits<double>::infinity());
  ASSERT_THAT(Build(), IsGrpcOk());
  EXPECT_EQ(studies_.built_with().kind, curator::EstimatorKind::kWeighted);
  EXPECT_EQ(studies_.built_with().lambda, std::numeric_limits<double>::infinity());
}

TEST_F(ModelServiceTest, BuildRefusesAnInvalidLambda) {
  for (const double lambda : {-1.0, std::numeric_limits<double>::quiet_NaN()}) {
    build_.mutable_weighted()->set_lambda(lambda);
    grpc::ClientContext context;
    EXPECT_THAT(stub_->BuildModel(&context, build_, &built_),
                GrpcStatusIs(grpc::INVALID_ARGUMENT, HasSubstr("weighted.lambda")));
  }
}

TEST_F(ModelServiceTest, CuratorChoosesAnEstimatorThatIsNotNamed) {
  build_.clear_estimator();
  build_.set_evidence(v1::EVIDENCE_REPORTS);
  ASSERT_THAT(Build(), IsGrpcOk());
  EXPECT_TRUE(studies_.built_with().choose_kind);
  EXPECT_EQ(studies_.built_with().evidence, curator::Evidence::kReports);
}

TEST_F(ModelServiceTest, BuildRefusesEvidenceBesideANamedEstimator) {
  build_.mutable_pooled();
  build_.set_evidence(v1::EVIDENCE_REPORTS);
  EXPECT_THAT(Build(), GrpcStatusIs(grpc::INVALID_ARGUMENT, HasSubstr("evidence: is for the")));
}

TEST_F(ModelServiceTest, CuratorChoosesAWeightThatIsNotGiven) {
  build_.mutable_weighted()->clear_lambda();
  ASSERT_THAT(Build(), IsGrpcOk());
  EXPECT_EQ(studies_.built_with().ToString(), "weighted lambda=1");
}

TEST_F(ModelServiceTest, BuildPassesOnOfWhichValueItIs) {
  build_.mutable_pooled();
  build_.mutable_where()->set_feature("plan");
  build_.mutable_where()->set_category("gold");
  ASSERT_THAT(Build(), IsGrpcOk());
  EXPECT_EQ(studies_.built_with().ToString(), "pooled where plan = gold");
}

TEST_F(ModelServiceTest, BuildRefusesAnInvalidValue) {
  const auto expect_error = [&](const std::string& field) {
    grpc::ClientContext context;
    EXPECT_THAT(stub_->BuildModel(&context, build_, &built_),
                GrpcStatusIs(grpc::INVALID_ARGUMENT, HasSubstr(field)));
  };
  build_.mutable_where()->set_feature("plan");
  expect_error("where: is for the pooled and the smooth estimator");
  build_.mutable_pooled();
  expect_error("where: must have a category, other or missing");
  build_.mutable_where()->set_other(false);
  expect_error("where.other");
  build_.mutable_where()->set_missing(false);
  expect_error("where.missing");
}

TEST_F(ModelServiceTest, BuildRefusesAnInvalidId) {
  build_.set_model_id("M/1");
  EXPECT_THAT(Build(), GrpcStatusIs(grpc::INVALID_ARGUMENT, HasSubstr("model_id")));
}

TEST_F(ModelServiceTest, BuildPassesOnTheCuratorsError) {
  studies_.Fail(AlreadyExistsError("a model m1 exists"));
  EXPECT_THAT(Build(), GrpcStatusIs(grpc::ALREADY_EXISTS, HasSubstr("a model m1 exists")));
}

TEST_F(ModelServiceTest, GetFindsItOrNot) {
  v1::GetModelRequest request;
  request.set_name("models/m1");
  v1::GetModelResponse response;
  ASSERT_THAT(stub_->GetModel(&context_, request, &response), IsGrpcOk());
  EXPECT_EQ(response.model().schema().label(), "edible");
  request.set_name("models/m2");
  grpc::ClientContext context;
  EXPECT_THAT(stub_->GetModel(&context, request, &response),
              GrpcStatusIs(grpc::NOT_FOUND, HasSubstr("no model m2")));
}

TEST_F(ModelServiceTest, ListShowsOneStudysModelsByPageAndBriefly) {
  models_.Publish(MakeModelInfo("m2", "studies/s2"));
  models_.Publish(MakeModelInfo("m3", "studies/s1"));
  v1::ListModelsRequest request;
  request.set_study("studies/s1");
  request.set_page_size(1);
  v1::ListModelsResponse first, second;
  ASSERT_THAT(stub_->ListModels(&context_, request, &first), IsGrpcOk());
  ASSERT_THAT(first.models(), SizeIs(1));
  EXPECT_FALSE(first.models(0).has_forest());
  EXPECT_EQ(first.models(0).certificate().estimator(), "prune");
  request.set_page_token(first.next_page_token());
  grpc::ClientContext context;
  ASSERT_THAT(stub_->ListModels(&context, request, &second), IsGrpcOk());
  ASSERT_THAT(second.models(), SizeIs(1));
  EXPECT_EQ(second.models(0).name(), "models/m3");
  EXPECT_EQ(second.next_page_token(), "");
}

TEST_F(ModelServiceTest, ListRefusesAnInvalidStudyName) {
  v1::ListModelsRequest request;
  request.set_study("s1");
  v1::ListModelsResponse response;
  EXPECT_THAT(stub_->ListModels(&context_, request, &response),
              GrpcStatusIs(grpc::INVALID_ARGUMENT, HasSubstr("studies/ID")));
}

TEST_F(ModelServiceTest, PredictAnswersEveryRow) {
  for (const double value : {1.0, 2.0, 3.0}) predict_.add_rows()->add_values(value);
  ASSERT_THAT(Predict(), IsGrpcOk());
  EXPECT_THAT(predicted_.classes(), ElementsAre("no", "yes"));
  ASSERT_THAT(predicted_.predictions(), SizeIs(3));
  EXPECT_EQ(predicted_.predictions(2).label(), 1u);
  EXPECT_THAT(predicted_.predictions(2).probabilities(), ElementsAre(0.25, 0.75));
  EXPECT_EQ(predicted_.predictions(2).standard_error(), 0.5);
}

TEST_F(ModelServiceTest, PredictAnswersWithANumberIfTheModelIsOfOne) {
  Feature age;
  age.name = "age";
  age.max = 100;
  const Schema schema = *Schema::CreateRegression({age}, "price", {.min = 10, .max = 20});
  models_.Publish(
      {.id = "m1",
       .source = "jobs/j",
       .created_unix_seconds = 1,
       .model = std::make_shared<const Model>(*Model::Create(
           schema, {Tree::SingleLeaf()}, {{{{0.25, 0.75}, 0.5, 1, 0}}}, Certificate()))});
  predict_.add_rows()->add_values(1);
  ASSERT_THAT(Predict(), IsGrpcOk());
  EXPECT_THAT(predicted_.classes(), SizeIs(0));
  EXPECT_EQ(predicted_.predictions(0).value(), 17.5);
  v1::GetModelRequest request;
  request.set_name("models/m1");
  v1::GetModelResponse response;
  grpc::ClientContext context;
  ASSERT_THAT(stub_->GetModel(&context, request, &response), IsGrpcOk());
  EXPECT_EQ(response.model().job(), "jobs/j");
  EXPECT_EQ(response.model().study(), "");
}

TEST_F(ModelServiceTest, PredictNamesTheRowThatDoesNotFitButNotItsValue) {
  predict_.add_rows()->add_values(1);
  predict_.add_rows()->add_values(4711);
  EXPECT_THAT(Predict(), GrpcStatusIs(grpc::INVALID_ARGUMENT,
                                      AllOf(HasSubstr("rows[1]"), Not(HasSubstr("4711")))));
}

TEST_F(ModelServiceTest, PredictTakesOneToTenThousandRows) {
  EXPECT_THAT(Predict(), GrpcStatusIs(grpc::INVALID_ARGUMENT, HasSubstr("rows: must be 1 to")));
  for (int i = 0; i < 10001; ++i) predict_.add_rows()->add_values(1);
  grpc::ClientContext context;
  EXPECT_THAT(stub_->Predict(&context, predict_, &predicted_),
              GrpcStatusIs(grpc::INVALID_ARGUMENT, HasSubstr("are 10001")));
}

}  // namespace
}  // namespace coppice::service
