// What a study is expected to achieve: before it is made (PreviewStudy) and after (ForecastStudy).

#include <iterator>
#include <string>

#include "common/base/public_random.h"
#include "common/base/status.h"
#include "common/ldp/amplification.h"
#include "common/wire/proto/convert.h"
#include "server/curator/estimation/planning/study_defaults.h"
#include "server/serving/service/handlers.h"
#include "tests/server/serving/service/service_fixture.h"

namespace coppice::service {
namespace {

using ::coppice::testing::GrpcStatusIs;
using ::coppice::testing::IsGrpcOk;
using ::coppice::testing::MakeServiceSchema;
using ::coppice::testing::MakeStudy;
using ::coppice::testing::ServiceTest;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

// Rows older than 50 say yes, with few exceptions.
Table Ages(std::shared_ptr<const Schema> schema, size_t count) {
  Table table(std::move(schema));
  PublicRandom random(7);
  for (size_t i = 0; i < count; ++i) {
    const double age = 100 * random.Unit();
    const bool drawn = random.Below(10) == 0;
    table.Append(Row{age}, drawn ? static_cast<uint32_t>(random.Below(2)) : age > 50 ? 1u : 0u);
  }
  return table;
}

class ForecastTest : public ServiceTest {
 protected:
  ForecastTest() {
    studies_.AddStudy(MakeStudy("s1"));
    side_.terms = MakeStudy("s1").terms;
    side_.rows = std::make_shared<const Table>(Ages(side_.terms->schema, 120));
    side_.partition = {.rule = curator::SplitRule::kMaxEdge, .max_depth = 2};
    side_.forest =
        std::make_shared<const Forest>(*curator::GrowPartition(*side_.rows, side_.partition));
    studies_.SetPublicSide(side_);
    request_.set_name("studies/s1");
    request_.add_devices(1000);
    request_.add_devices(100'000);
  }

  grpc::Status Forecast() {
    grpc::ClientContext context;
    response_.Clear();
    return stub_->ForecastStudy(&context, request_, &response_);
  }

  v1::PreviewStudyRequest PreviewOf(const Table& rows) const {
    v1::PreviewStudyRequest preview;
    v1::CreateStudyRequest& study = *preview.mutable_study();
    *study.mutable_schema() = ToProto(rows.schema());
    for (size_t i = 0; i < rows.num_rows(); ++i) {
      study.add_public_rows()->add_values(rows.row(i)[0]);
      study.add_public_labels(rows.label(i));
    }
    study.mutable_choose_mechanism();
    preview.add_epsilon_nanos(1'000'000'000);
    preview.add_devices(1000);
    return preview;
  }

  std::unique_ptr<v1::StudyService::Stub> stub_ = v1::StudyService::NewStub(channel_);
  curator::PublicSide side_;
  v1::ForecastStudyRequest request_;
  v1::ForecastStudyResponse response_;
};

TEST_F(ForecastTest, ItIsOfTheStudysOwnEpsilonMechanismAndPartition) {
  ASSERT_THAT(Forecast(), IsGrpcOk());
  const v1::PreviewStudyResponse& forecast = response_.forecast();
  ASSERT_THAT(forecast.outlooks(), SizeIs(2));
  for (const v1::Outlook& outlook : forecast.outlooks()) {
    EXPECT_EQ(outlook.epsilon_nanos(), 1'000'000'000u);
    EXPECT_EQ(outlook.mechanism(), v1::MECHANISM_LAPLACE_JOINT);
  }
  EXPECT_EQ(forecast.outlooks(0).devices(), 1000u);
  EXPECT_GT(forecast.outlooks(1).equivalent_rows(), forecast.outlooks(0).equivalent_rows());
  EXPECT_GT(forecast.public_only().mean(), 0.7);
  EXPECT_EQ(forecast.public_rows(), 120u);
  EXPECT_LE(forecast.effective_cells(), 4.01) << "of a tree of depth 2";
  EXPECT_THAT(forecast.advice(), Not(IsEmpty()));
}

TEST_F(ForecastTest, OnePartitionForecastsAsThePartitionThatItIs) {
  ASSERT_THAT(Forecast(), IsGrpcOk());
  const double deep = response_.forecast().public_only().mean();
  side_.partition.max_depth = 0;
  side_.forest = std::make_shared<const Forest>(Forest{Tree::SingleLeaf()});
  studies_.SetPublicSide(side_);
  ASSERT_THAT(Forecast(), IsGrpcOk());
  EXPECT_LT(response_.forecast().public_only().mean(), deep - 0.1) << "one leaf tells nothing";
}

TEST_F(ForecastTest, APageIsThereIfItIsAskedFor) {
  ASSERT_THAT(Forecast(), IsGrpcOk());
  EXPECT_THAT(response_.forecast().page(), IsEmpty());
  const std::string without = response_.SerializeAsString();
  request_.set_with_page(true);
  ASSERT_THAT(Forecast(), IsGrpcOk());
  const std::string page = response_.forecast().page();
  EXPECT_THAT(page, HasSubstr("What accuracy to expect"));
  EXPECT_THAT(page, HasSubstr("laplace_joint"));
  EXPECT_THAT(page, HasSubstr("<svg"));
  EXPECT_THAT(page, HasSubstr("neighbours"));
  response_.mutable_forecast()->clear_page();
  EXPECT_EQ(response_.SerializeAsString(), without);
}

TEST_F(ForecastTest, BadNumbersOfDevicesAreNamed) {
  request_.set_devices(1, 0);
  EXPECT_THAT(Forecast(), GrpcStatusIs(grpc::INVALID_ARGUMENT, HasSubstr("devices[1]")));
  request_.clear_devices();
  for (int i = 0; i < 9; ++i) request_.add_devices(1000);
  EXPECT_THAT(Forecast(), GrpcStatusIs(grpc::INVALID_ARGUMENT, HasSubstr("has 9")));
}

TEST_F(ForecastTest, CuratorChoosesNumbersOfDevicesThatAreNotGiven) {
  request_.clear_devices();
  ASSERT_THAT(Forecast(), IsGrpcOk());
  const auto& outlooks = response_.forecast().outlooks();
  ASSERT_EQ(static_cast<size_t>(outlooks.size()), std::size(curator::kForecastDevices));
  for (int i = 0; i < outlooks.size(); ++i) {
    EXPECT_EQ(outlooks[i].devices(), curator::kForecastDevices[i]);
  }
}

TEST_F(ForecastTest, WhatTheCuratorSaysIsPassedOn) {
  request_.set_name("studies/s2");
  EXPECT_THAT(Forecast(), GrpcStatusIs(grpc::NOT_FOUND, Not(IsEmpty())));
  request_.set_name("models/s1");
  EXPECT_THAT(Forecast(), GrpcStatusIs(grpc::INVALID_ARGUMENT, HasSubstr("studies/ID")));
  request_.set_name("studies/s1");
  studies_.Fail(FailedPreconditionError("there are no public rows"));
  EXPECT_THAT(Forecast(), GrpcStatusIs(grpc::FAILED_PRECONDITION, HasSubstr("no public rows")));
}

TEST_F(ForecastTest, APreviewSaysWhatABatchOfARelayIsPromised) {
  v1::PreviewStudyRequest preview = PreviewOf(*side_.rows);
  preview.clear_devices();
  preview.add_devices(1999);
  preview.add_devices(100'000);
  v1::RelaySettings& relay = *preview.mutable_study()->mutable_settings()->mutable_relay();
  relay.set_min_batch(2000);
  v1::PreviewStudyResponse response;
  ASSERT_THAT(stub_->PreviewStudy(&context_, preview, &response), IsGrpcOk());
  ASSERT_EQ(response.outlooks_size(), 2);
  EXPECT_EQ(response.outlooks(0).relay_epsilon_nanos(), 0u) << "no batch comes of so few";
  EXPECT_EQ(response.outlooks(0).relay_delta_atto(), 0u);
  EXPECT_EQ(response.relay().min_batch(), 2000u);
  EXPECT_EQ(response.relay().dishonest_millionths(), curator::kDefaultDishonestMillionths);
  EXPECT_EQ(response.relay().delta_atto(), curator::kDefaultRelayDeltaAtto);
  // A batch has 1,800 honest reports, however many answer; no mechanism's bound is above this one.
  const Budget one = *Budget::FromEpsilon(1);
  const Budget most = *EpsilonBound({1800, one, MaxTwoSidedMass(one)}, 10'000'000'000);
  EXPECT_LE(response.outlooks(1).relay_epsilon_nanos(), most.nanos());
  const Budget fewer_devices = *EpsilonBound({90'000, one, MaxTwoSidedMass(one)}, 10'000'000'000);
  EXPECT_GT(response.outlooks(1).relay_epsilon_nanos(), fewer_devices.nanos());
  EXPECT_EQ(response.outlooks(1).relay_delta_atto(), 10'000'000'000u);
  EXPECT_THAT(response.page(), IsEmpty());
  preview.set_with_page(true);
  grpc::ClientContext for_page;
  ASSERT_THAT(stub_->PreviewStudy(&for_page, preview, &response), IsGrpcOk());
  EXPECT_THAT(response.page(),
              ::testing::AllOf(HasSubstr("Through a relay"), HasSubstr("1800 of them of honest")));
  relay.set_min_batch(1);
  grpc::ClientContext context;
  EXPECT_THAT(stub_->PreviewStudy(&context, preview, &response),
              GrpcStatusIs(grpc::INVALID_ARGUMENT, HasSubstr("study: settings.relay.min_batch")));
}

TEST_F(ForecastTest, AForecastOfARelayedStudySaysItToo) {
  ASSERT_THAT(Forecast(), IsGrpcOk());
  EXPECT_EQ(response_.forecast().outlooks(1).relay_epsilon_nanos(), 0u) << "it has no relay";
  side_.relay = curator::RelaySettings{
      .min_batch = 2000, .dishonest_millionths = 100'000, .delta_atto = 10'000'000'000};
  studies_.SetPublicSide(side_);
  request_.set_with_page(true);
  ASSERT_THAT(Forecast(), IsGrpcOk());
  const v1::PreviewStudyResponse& forecast = response_.forecast();
  EXPECT_EQ(forecast.outlooks(0).relay_epsilon_nanos(), 0u) << "no batch comes of so few";
  const Budget one = *Budget::FromEpsilon(1);
  const Budget most = *EpsilonBound({1800, one, MaxTwoSidedMass(one)}, 10'000'000'000);
  EXPECT_GT(forecast.outlooks(1).relay_epsilon_nanos(), 0u);
  EXPECT_LE(forecast.outlooks(1).relay_epsilon_nanos(), most.nanos());
  EXPECT_EQ(forecast.outlooks(1).relay_delta_atto(), 10'000'000'000u);
  EXPECT_THAT(forecast.page(), HasSubstr("Through a relay"));
}

TEST_F(ForecastTest, APreviewHasItsPageToo) {
  v1::PreviewStudyRequest preview = PreviewOf(*side_.rows);
  v1::PreviewStudyResponse plain, with_page;
  ASSERT_THAT(stub_->PreviewStudy(&context_, preview, &plain), IsGrpcOk());
  EXPECT_THAT(plain.page(), IsEmpty());
  preview.set_with_page(true);
  grpc::ClientContext context;
  ASSERT_THAT(stub_->PreviewStudy(&context, preview, &with_page), IsGrpcOk());
  EXPECT_THAT(with_page.page(), HasSubstr(plain.advice()));
  EXPECT_THAT(with_page.page(), HasSubstr("<dt>Public rows</dt><dd><b>120</b>"));
  EXPECT_THAT(with_page.page(), HasSubstr("<dt>Always “"));
}

}  // namespace
}  // namespace coppice::service
