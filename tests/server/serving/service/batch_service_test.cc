// SealedReportService over gRPC, before studies that answer what a test wants.

#include "common/base/status.h"
#include "tests/server/serving/service/service_fixture.h"

namespace coppice::service {
namespace {

using ::coppice::testing::GrpcStatusIs;
using ::coppice::testing::IsGrpcOk;
using ::coppice::testing::MakeStudy;
using ::coppice::testing::ServiceTest;
using ::testing::HasSubstr;

class BatchServiceTest : public ServiceTest {
 protected:
  BatchServiceTest() {
    studies_.AddStudy(MakeStudy("s1"));
    request_.set_study("studies/s1");
    request_.set_first_report(5);
    request_.set_tickets(std::string(64, 't'));
  }
  grpc::Status Deliver() { return stub_->DeliverBatch(&context_, request_, &response_); }

  std::unique_ptr<v1::SealedReportService::Stub> stub_ = v1::SealedReportService::NewStub(channel_);
  v1::DeliverBatchRequest request_;
  v1::DeliverBatchResponse response_;
};

TEST_F(BatchServiceTest, TheAnswerSaysHowFarTheBatchHasCome) {
  ASSERT_THAT(Deliver(), IsGrpcOk());
  EXPECT_EQ(response_.state(), v1::BATCH_STATE_STORED);
  EXPECT_EQ(response_.received(), 7u);
}

TEST_F(BatchServiceTest, AStudyIsNamedAsAStudy) {
  request_.set_study("s1");
  EXPECT_THAT(Deliver(), GrpcStatusIs(grpc::INVALID_ARGUMENT, HasSubstr("study: ")));
}

TEST_F(BatchServiceTest, WhatStudiesSayIsAnswered) {
  studies_.Fail(FailedPreconditionError("its deal has another batch already"));
  EXPECT_THAT(Deliver(), GrpcStatusIs(grpc::FAILED_PRECONDITION, HasSubstr("another batch")));
}

// A relay must come again, and not at once.
TEST_F(BatchServiceTest, LoadAsksToWait) {
  studies_.Fail(ResourceExhaustedError("the disk is full"));
  EXPECT_THAT(Deliver(), GrpcStatusIs(grpc::RESOURCE_EXHAUSTED, HasSubstr("the disk is full")));
  EXPECT_EQ(context_.GetServerTrailingMetadata().count("grpc-retry-pushback-ms"), 1u);
}

}  // namespace
}  // namespace coppice::service
