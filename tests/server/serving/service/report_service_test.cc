#include <thread>

#include "common/base/status.h"
#include "server/serving/reports/report_handlers.h"
#include "tests/server/serving/service/service_fixture.h"

namespace coppice::service {
namespace {

using ::coppice::testing::GrpcStatusIs;
using ::coppice::testing::IsGrpcOk;
using ::coppice::testing::ServiceTest;
using ::coppice::testing::SubmittedBatch;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

class SubmitReportsTest : public ServiceTest {
 protected:
  SubmitReportsTest() {
    request_.set_study("studies/s1");
    request_.set_fingerprint(std::string(32, 'f'));
    request_.add_reports()->set_ticket("1");
  }
  grpc::Status Submit() { return stub_->SubmitReports(&context_, request_, &response_); }

  std::unique_ptr<v1::ReportService::Stub> stub_ = v1::ReportService::NewStub(channel_);
  v1::SubmitReportsRequest request_;
  v1::SubmitReportsResponse response_;
};

TEST_F(SubmitReportsTest, EachReportMeetsItsOutcomeInOrder) {
  for (const char* ticket : {"2", "3", "4", "5", "6", "7"}) {
    request_.add_reports()->set_ticket(ticket);
  }
  ASSERT_THAT(Submit(), IsGrpcOk());
  EXPECT_THAT(response_.outcomes(),
              ElementsAre(v1::REPORT_OUTCOME_ACCEPTED, v1::REPORT_OUTCOME_DUPLICATE,
                          v1::REPORT_OUTCOME_UNKNOWN_STUDY, v1::REPORT_OUTCOME_STUDY_SEALED,
                          v1::REPORT_OUTCOME_STALE_FINGERPRINT, v1::REPORT_OUTCOME_BAD_TICKET,
                          v1::REPORT_OUTCOME_BAD_PAYLOAD));
}

TEST_F(SubmitReportsTest, StudyAndFingerprintAreThoseOfTheBatch) {
  ASSERT_THAT(Submit(), IsGrpcOk());
  const std::vector<SubmittedBatch> batches = studies_.AwaitBatches(1);
  EXPECT_EQ(batches[0].study, "s1");
  EXPECT_EQ(batches[0].fingerprint, std::string(32, 'f'));
  EXPECT_THAT(batches[0].tickets, ElementsAre("1"));
}

// Neither outcomes nor an error of the request may leave.
TEST_F(SubmitReportsTest, NoAnswerLeavesOnceTheCuratorMayNotAnswer) {
  studies_.HoldBatches();
  std::thread meanwhile([&] {
    studies_.AwaitBatches(1);
    may_answer_ = false;
    studies_.LetBatches();
  });
  EXPECT_THAT(Submit(), GrpcStatusIs(grpc::UNAVAILABLE, "may not answer"));
  EXPECT_EQ(response_.outcomes_size(), 0);
  meanwhile.join();
  request_.clear_reports();
  grpc::ClientContext context;
  EXPECT_THAT(stub_->SubmitReports(&context, request_, &response_),
              GrpcStatusIs(grpc::UNAVAILABLE, "may not answer"));
}

TEST_F(SubmitReportsTest, AnEmptyBatchIsRefused) {
  request_.clear_reports();
  EXPECT_THAT(Submit(),
              GrpcStatusIs(grpc::INVALID_ARGUMENT,
                           HasSubstr("reports: must be 1 to 1000 in one request, are 0")));
}

TEST_F(SubmitReportsTest, AThousandReportsAreTakenAndNotOneMore) {
  for (int i = 1; i < 1000; ++i) request_.add_reports()->set_ticket("1");
  ASSERT_THAT(Submit(), IsGrpcOk());
  EXPECT_THAT(response_.outcomes(), SizeIs(1000));
  request_.add_reports()->set_ticket("1");
  grpc::ClientContext context;
  EXPECT_THAT(stub_->SubmitReports(&context, request_, &response_),
              GrpcStatusIs(grpc::INVALID_ARGUMENT, HasSubstr("are 1001")));
}

TEST_F(SubmitReportsTest, RefusesAnInvalidStudyName) {
  request_.set_study("s1");
  EXPECT_THAT(Submit(), GrpcStatusIs(grpc::INVALID_ARGUMENT, HasSubstr("study: a name here is")));
}

TEST_F(SubmitReportsTest, AFingerprintOfAnotherLengthIsRefused) {
  request_.set_fingerprint("short");
  EXPECT_THAT(Submit(), GrpcStatusIs(grpc::INVALID_ARGUMENT,
                                     HasSubstr("fingerprint: must have 32 bytes, has 5")));
}

TEST_F(SubmitReportsTest, AStoreThatMayWorkAgainInvitesTheSameBytes) {
  studies_.Fail(UnavailableError("the disk does not answer"));
  EXPECT_THAT(Submit(),
              GrpcStatusIs(grpc::UNAVAILABLE,
                           HasSubstr("does not answer; the same bytes may be sent again")));
}

TEST_F(SubmitReportsTest, AFullDiskInvitesTheSameBytesLater) {
  studies_.Fail(ResourceExhaustedError("the disk is full"));
  EXPECT_THAT(Submit(), GrpcStatusIs(grpc::RESOURCE_EXHAUSTED,
                                     HasSubstr("is full; the same bytes may be sent again")));
}

TEST_F(SubmitReportsTest, ACorruptStoreInvitesNothing) {
  studies_.Fail(DataLossError("the store is corrupt"));
  EXPECT_THAT(Submit(), GrpcStatusIs(grpc::DATA_LOSS, AllOf(HasSubstr("the store is corrupt"),
                                                            Not(HasSubstr("again")))));
}

}  // namespace
}  // namespace coppice::service
