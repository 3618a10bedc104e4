#include <string>
#include <utility>

#include "common/describe/verdict.h"
#include "common/export/formats.h"
#include "common/pages/pages.h"
#include "common/wire/proto/model_file.h"
#include "common/wire/proto/model_signature.h"
#include "server/serving/service/handlers.h"
#include "server/store/models/model_record.h"
#include "tests/server/serving/service/service_fixture.h"
#include "tests/support/full_tree.h"

namespace coppice::service {
namespace {

using ::coppice::testing::FullTree;
using ::coppice::testing::GrpcStatusIs;
using ::coppice::testing::IsGrpcOk;
using ::coppice::testing::MakeServiceSchema;
using ::coppice::testing::ServiceTest;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

SigningKey KeyOf(uint8_t byte) {
  SigningKey::Seed seed{};
  seed.fill(byte);
  return *SigningKey::FromSeed(seed);
}

Certificate OneRelease() {
  Certificate certificate;
  certificate.estimator = "prune";
  certificate.mechanism = "laplace_joint";
  certificate.neighbouring = "any value of one device's row for any other";
  certificate.epsilon_nanos = 1'500'000'000;
  certificate.releases = {{.what = "leaf and label of a report",
                           .mechanism = "laplace_joint",
                           .epsilon_nanos = 1'500'000'000}};
  certificate.code_version = "0.2.0";
  return certificate;
}

// A model of one split, on age.
models::ModelInfo SplitModel(const std::string& id, const Certificate& certificate) {
  const Tree tree = FullTree(1, *MakeServiceSchema());
  models::ModelInfo info{
      .id = id, .source = "studies/s1", .created_unix_seconds = 1'700'000'001, .model = nullptr};
  info.model = std::make_shared<const Model>(
      *Model::Create(*MakeServiceSchema(), {tree},
                     {{{{0.25, 0.75}, 0.5, 1, 0}, {{0.75, 0.25}, 0.5, 1, 0}}}, certificate));
  return info;
}

models::ModelInfo Signed(models::ModelInfo info, const SigningKey& key) {
  info.signature =
      ModelSignature{.signature = *key.Sign(kModelDomain, *SignedModelBytes(ToProto(info))),
                     .key = key.public_key()};
  return info;
}

class ModelDocumentsTest : public ServiceTest {
 protected:
  ModelDocumentsTest() { studies_.SetKey(KeyOf(1).public_key()); }

  v1::DescribeModelResponse Describe(const std::string& id) {
    v1::DescribeModelRequest request;
    request.set_name("models/" + id);
    v1::DescribeModelResponse response;
    grpc::ClientContext context;
    EXPECT_THAT(stub_->DescribeModel(&context, request, &response), IsGrpcOk());
    return response;
  }
  grpc::Status Export(const std::string& id, const std::string& format) {
    v1::ExportModelRequest request;
    request.set_name("models/" + id);
    request.set_format(format);
    grpc::ClientContext context;
    file_.Clear();
    return stub_->ExportModel(&context, request, &file_);
  }

  std::unique_ptr<v1::ModelService::Stub> stub_ = v1::ModelService::NewStub(channel_);
  v1::ExportModelResponse file_;
};

TEST_F(ModelDocumentsTest, DescribeSaysHowLargeItIsAndWhatDecides) {
  models_.Publish(SplitModel("m1", OneRelease()));
  const v1::DescribeModelResponse described = Describe("m1");
  EXPECT_EQ(described.trees(), 1u);
  EXPECT_EQ(described.leaves(), 2u);
  EXPECT_EQ(described.min_depth(), 1u);
  EXPECT_EQ(described.max_depth(), 1u);
  ASSERT_THAT(described.importances(), SizeIs(1));
  EXPECT_EQ(described.importances(0).feature(), "age");
  EXPECT_EQ(described.importances(0).importance(), 1.0);
}

TEST_F(ModelDocumentsTest, TheCertificateIsThatOfTheCommandLineWithThisCuratorsKey) {
  const models::ModelInfo info = Signed(SplitModel("m1", OneRelease()), KeyOf(1));
  models_.Publish(info);
  const Verdict verdict = VerifyModel(ToProto(info), KeyOf(1).public_key());
  ASSERT_TRUE(verdict.status.ok()) << verdict.status;
  const v1::DescribeModelResponse described = Describe("m1");
  EXPECT_EQ(described.certificate_page(), report::CertificatePage(verdict.json));
  EXPECT_THAT(described.certificate_page(), HasSubstr("Signed by the curator</dt><dd><b>yes"));
  ASSERT_EQ(static_cast<size_t>(described.certificate_size()), verdict.words.sections.size());
  for (int i = 0; i < described.certificate_size(); ++i) {
    EXPECT_EQ(described.certificate(i).title(), verdict.words.sections[i].title);
    EXPECT_EQ(std::vector<std::string>(described.certificate(i).sentences().begin(),
                                       described.certificate(i).sentences().end()),
              verdict.words.sections[i].sentences);
  }
}

TEST_F(ModelDocumentsTest, AModelFromBeforeSignaturesSaysThatNobodySignedIt) {
  models_.Publish(SplitModel("m1", OneRelease()));
  EXPECT_THAT(Describe("m1").certificate_page(), HasSubstr("Nobody signed this model"));
}

TEST_F(ModelDocumentsTest, AnotherCuratorsModelIsRefusedInWords) {
  models_.Publish(Signed(SplitModel("m1", OneRelease()), KeyOf(2)));
  const v1::DescribeModelResponse described = Describe("m1");
  ASSERT_THAT(described.certificate(), SizeIs(1));
  EXPECT_EQ(described.certificate(0).title(), "What is wrong with it");
  EXPECT_THAT(described.certificate(0).sentences(0), HasSubstr("do not use this model"));
  EXPECT_THAT(described.certificate_page(), HasSubstr("do not use this model"));
}

TEST_F(ModelDocumentsTest, ExportWritesWhatTheCommandLineWrites) {
  const models::ModelInfo info = SplitModel("m1", OneRelease());
  models_.Publish(info);
  ASSERT_THAT(Export("m1", "coppice"), IsGrpcOk());
  EXPECT_EQ(file_.content(), *ModelFileText(ToProto(info)));
  EXPECT_EQ(file_.file_name(), "m1.coppice.json");
  for (const auto& [format, name] :
       {std::pair("json", "m1.json"), std::pair("onnx", "m1.onnx"), std::pair("c", "m1.h")}) {
    ASSERT_THAT(Export("m1", format), IsGrpcOk());
    EXPECT_EQ(file_.content(), *formats::ExportModel(*info.model, "m1", format));
    EXPECT_EQ(file_.file_name(), name);
  }
}

TEST_F(ModelDocumentsTest, ExportSaysWhichFormatsThereAre) {
  models_.Publish(SplitModel("m1", OneRelease()));
  for (const char* unknown : {"", "pickle", "JSON", "message"}) {
    EXPECT_THAT(
        Export("m1", unknown),
        GrpcStatusIs(grpc::INVALID_ARGUMENT,
                     HasSubstr("format: must be one of coppice, json, onnx, xgboost, c, sql")));
  }
}

TEST_F(ModelDocumentsTest, AModelThatTheFormatCannotExpressIsNotApproximated) {
  models_.Publish(SplitModel("m1", OneRelease()));
  EXPECT_THAT(Export("m1", "xgboost"), GrpcStatusIs(grpc::FAILED_PRECONDITION, Not(IsEmpty())));
}

TEST_F(ModelDocumentsTest, AFileTooLargeToSendNamesTheCommandThatWritesIt) {
  Certificate certificate = OneRelease();
  certificate.diagnosis = std::string(size_t{64} << 20, 'x');
  models_.Publish(SplitModel("m1", certificate));
  EXPECT_THAT(Export("m1", "json"),
              GrpcStatusIs(grpc::FAILED_PRECONDITION,
                           AllOf(HasSubstr("larger as json"),
                                 HasSubstr("coppice model export --model m1 --format json"))));
}

TEST_F(ModelDocumentsTest, AModelThatIsNotThereIsNotFound) {
  EXPECT_THAT(Export("m1", "json"), GrpcStatusIs(grpc::NOT_FOUND, HasSubstr("no model m1")));
  v1::DescribeModelRequest request;
  request.set_name("models/m1");
  v1::DescribeModelResponse response;
  EXPECT_THAT(stub_->DescribeModel(&context_, request, &response),
              GrpcStatusIs(grpc::NOT_FOUND, HasSubstr("no model m1")));
}

}  // namespace
}  // namespace coppice::service
