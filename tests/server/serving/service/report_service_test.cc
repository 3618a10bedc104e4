#include <functional>
#include <optional>
#include <set>
#include <thread>

#include "common/base/status.h"
#include "server/serving/reports/report_handlers.h"
#include "tests/server/serving/service/service_fixture.h"

namespace coppice::service {
namespace {

using ::coppice::testing::GrpcStatusIs;
using ::coppice::testing::IsGrpcOk;
using ::coppice::testing::SealedReportsCall;
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
    reports_.set_study("studies/s1");
    reports_.set_fingerprint(std::string(32, 'f'));
    reports_.add_reports()->set_ticket("1");
  }
  grpc::Status Send(const v1::SubmitReportsRequest& request) {
    grpc::ClientContext context;
    return stub_->SubmitReports(&context, request, &response_);
  }
  grpc::Status Submit() {
    call_.emplace(studies_.direct_key(), reports_);
    return Send(call_->request());
  }
  std::vector<int> Outcomes() const {
    return call_->Outcomes(response_).value_or(std::vector<int>());
  }

  std::unique_ptr<v1::ReportService::Stub> stub_ = v1::ReportService::NewStub(channel_);
  v1::SealedReports reports_;
  std::optional<SealedReportsCall> call_;
  v1::SubmitReportsResponse response_;
};

TEST_F(SubmitReportsTest, EachReportMeetsItsOutcomeInOrder) {
  for (const char* ticket : {"2", "3", "4", "5", "6", "7"}) {
    reports_.add_reports()->set_ticket(ticket);
  }
  ASSERT_THAT(Submit(), IsGrpcOk());
  EXPECT_THAT(Outcomes(),
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

// A server that passes messages on sees the same number of bytes, whatever became of the reports.
TEST_F(SubmitReportsTest, AnswersToAsManyReportsHaveOneLength) {
  std::set<size_t> lengths;
  for (const char* ticket : {"1", "2", "3", "4", "5", "6", "7"}) {
    reports_.mutable_reports(0)->set_ticket(ticket);
    ASSERT_THAT(Submit(), IsGrpcOk());
    lengths.insert(response_.ByteSizeLong());
  }
  EXPECT_EQ(lengths.size(), 1u);
}

TEST_F(SubmitReportsTest, TakesNothingThatIsNotSealed) {
  v1::SubmitReportsRequest request = SealedReportsCall(studies_.direct_key(), reports_).request();
  request.set_ciphertext(reports_.SerializeAsString());
  EXPECT_THAT(Send(request), GrpcStatusIs(grpc::INVALID_ARGUMENT, HasSubstr("does not open")));
  EXPECT_THAT(Send(v1::SubmitReportsRequest()),
              GrpcStatusIs(grpc::INVALID_ARGUMENT, HasSubstr("does not open")));
  EXPECT_EQ(studies_.num_batches(), 0u);
}

TEST_F(SubmitReportsTest, AMessageForAnotherCuratorIsRefused) {
  const seal::SealingKey other = *seal::SealingKey::Generate();
  EXPECT_THAT(Send(SealedReportsCall(testing::DirectKeyOf(other), reports_).request()),
              GrpcStatusIs(grpc::INVALID_ARGUMENT, HasSubstr("does not open")));
  EXPECT_EQ(studies_.num_batches(), 0u);
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
  EXPECT_EQ(response_.sealed_outcomes(), "");
  meanwhile.join();
  reports_.clear_reports();
  EXPECT_THAT(Submit(), GrpcStatusIs(grpc::UNAVAILABLE, "may not answer"));
}

TEST_F(SubmitReportsTest, AThousandReportsAreTakenAndNotOneMore) {
  for (int i = 1; i < 1000; ++i) reports_.add_reports()->set_ticket("1");
  ASSERT_THAT(Submit(), IsGrpcOk());
  EXPECT_THAT(Outcomes(), SizeIs(1000));
  reports_.add_reports()->set_ticket("1");
  EXPECT_THAT(Submit(), GrpcStatusIs(grpc::INVALID_ARGUMENT, HasSubstr("1 to 1000 reports")));
}

// What opens and cannot be judged is refused in words that show none of it: whoever passed the
// message on reads them.
TEST_F(SubmitReportsTest, ErrorsAfterOpeningQuoteNothing) {
  const auto bad = [&](const std::function<void(v1::SealedReports&)>& change) {
    v1::SealedReports changed = reports_;
    change(changed);
    return Send(SealedReportsCall(studies_.direct_key(), changed).request());
  };
  for (const grpc::Status& status :
       {bad([](auto& reports) { reports.clear_reports(); }),
        bad([](auto& reports) { reports.set_study("secret-name"); }),
        bad([](auto& reports) { reports.set_study("studies/Secret Name"); }),
        bad([](auto& reports) { reports.set_fingerprint("secret"); }),
        Send(SealedReportsCall(studies_.direct_key(), std::string("\xffsecret")).request())}) {
    EXPECT_THAT(status, GrpcStatusIs(grpc::INVALID_ARGUMENT, HasSubstr("does not hold")));
    EXPECT_THAT(status.error_message(), AllOf(Not(HasSubstr("ecret")), Not(HasSubstr("s1"))));
  }
  for (const Status& failure :
       {UnavailableError("s1: no disk"), ResourceExhaustedError("s1: a full disk"),
        FailedPreconditionError("the study s1 takes reports from its relay alone"),
        InternalError("s1"), DataLossError("the store of s1 is corrupt")}) {
    studies_.Fail(failure);
    const grpc::Status status = Submit();
    EXPECT_EQ(status.error_code(), static_cast<grpc::StatusCode>(failure.code()));
    EXPECT_THAT(status.error_message(), Not(HasSubstr("s1")));
  }
}

TEST_F(SubmitReportsTest, AStoreThatMayWorkAgainInvitesTheSameReports) {
  studies_.Fail(UnavailableError("the disk does not answer"));
  EXPECT_THAT(Submit(),
              GrpcStatusIs(grpc::UNAVAILABLE, HasSubstr("the same reports may be sent again")));
  studies_.Fail(ResourceExhaustedError("the disk is full"));
  EXPECT_THAT(Submit(), GrpcStatusIs(grpc::RESOURCE_EXHAUSTED,
                                     HasSubstr("the same reports may be sent again")));
}

TEST_F(SubmitReportsTest, ACorruptStoreInvitesNothing) {
  studies_.Fail(DataLossError("the store is corrupt"));
  EXPECT_THAT(Submit(), GrpcStatusIs(grpc::DATA_LOSS, Not(HasSubstr("again"))));
}

}  // namespace
}  // namespace coppice::service
