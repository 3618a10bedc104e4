#include <deque>

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
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class ReportStreamTest : public ServiceTest {
 protected:
  // Cancels an open stream, since the server waits for it.
  ~ReportStreamTest() override { context_.TryCancel(); }

  static v1::SealedReports Reports(const char* ticket) {
    v1::SealedReports reports;
    reports.set_study("studies/s1");
    reports.set_fingerprint(std::string(32, 'f'));
    reports.add_reports()->set_ticket(ticket);
    return reports;
  }
  bool Write(const v1::SealedReports& reports) {
    calls_.emplace_back(studies_.direct_key(), reports);
    return stream_->Write(calls_.back().request<v1::StreamReportsRequest>());
  }
  bool Write(const char* ticket) { return Write(Reports(ticket)); }
  // The outcomes of the next answer, none at the end of the stream.
  std::vector<int> ReadOutcomes() {
    v1::StreamReportsResponse response;
    if (!stream_->Read(&response)) return {};
    const auto outcomes = calls_.front().Outcomes(response);
    calls_.pop_front();
    EXPECT_TRUE(outcomes.has_value()) << "the answer is of another message";
    return outcomes.value_or(std::vector<int>());
  }
  // The only outcome of the next answer, or 0 at the end of the stream.
  int ReadOutcome() {
    const std::vector<int> outcomes = ReadOutcomes();
    return outcomes.size() == 1 ? outcomes[0] : 0;
  }

  // Expects that one more request waits until those before it are answered.
  void ExpectNoMoreIsReadThan(size_t requests) {
    studies_.AwaitBatches(requests);
    ASSERT_TRUE(Write("2"));
    // During a whole other call the request could have been read.
    v1::SubmitReportsRequest request;
    v1::SubmitReportsResponse response;
    grpc::ClientContext context;
    EXPECT_THAT(stub_->SubmitReports(&context, request, &response),
                GrpcStatusIs(grpc::INVALID_ARGUMENT, HasSubstr("does not open")));
    EXPECT_EQ(studies_.num_batches(), requests);
    studies_.LetBatches();
    EXPECT_THAT(studies_.AwaitBatches(requests + 1).back().tickets, ElementsAre("2"));
  }

  static constexpr size_t kWindow = ReportStream::kWindowRequests;

  std::unique_ptr<v1::ReportService::Stub> stub_ = v1::ReportService::NewStub(channel_);
  std::unique_ptr<grpc::ClientReaderWriter<v1::StreamReportsRequest, v1::StreamReportsResponse>>
      stream_ = stub_->StreamReports(&context_);
  std::deque<SealedReportsCall> calls_;  // that were written and are not answered yet
};

TEST_F(ReportStreamTest, AnswersComeInTheOrderOfTheRequests) {
  const char* tickets[] = {"7", "1", "6", "2", "5", "3", "4", "1", "2", "7", "1", "6"};
  for (const char* ticket : tickets) ASSERT_TRUE(Write(ticket));
  stream_->WritesDone();
  for (const char* ticket : tickets) EXPECT_EQ(ReadOutcome(), ticket[0] - '0');
  EXPECT_EQ(ReadOutcome(), 0);
  EXPECT_THAT(stream_->Finish(), IsGrpcOk());
}

// Short and long answers are handed to gRPC in different ways.
TEST_F(ReportStreamTest, FullBatchesAreAnsweredOneAfterTheOther) {
  v1::SealedReports full = Reports("1");
  for (int i = 1; i < 1000; ++i) full.add_reports()->set_ticket("1");
  for (int batch = 0; batch < 3; ++batch) ASSERT_TRUE(Write(full));
  stream_->WritesDone();
  for (int batch = 0; batch < 3; ++batch) EXPECT_THAT(ReadOutcomes(), SizeIs(1000));
  EXPECT_THAT(stream_->Finish(), IsGrpcOk());
}

TEST_F(ReportStreamTest, NoFurtherMessageLeavesOnceTheCuratorMayNotAnswer) {
  ASSERT_TRUE(Write("1"));
  EXPECT_EQ(ReadOutcome(), 1);
  may_answer_ = false;
  ASSERT_TRUE(Write("2"));
  EXPECT_EQ(ReadOutcome(), 0);
  EXPECT_THAT(stream_->Finish(), GrpcStatusIs(grpc::UNAVAILABLE, "may not answer"));
}

TEST_F(ReportStreamTest, NoEndLeavesOnceTheCuratorMayNotAnswer) {
  ASSERT_TRUE(Write("1"));
  EXPECT_EQ(ReadOutcome(), 1);
  may_answer_ = false;
  stream_->WritesDone();
  EXPECT_THAT(stream_->Finish(), GrpcStatusIs(grpc::UNAVAILABLE, "may not answer"));
}

TEST_F(ReportStreamTest, NothingSentIsNoError) {
  stream_->WritesDone();
  EXPECT_EQ(ReadOutcome(), 0);
  EXPECT_THAT(stream_->Finish(), IsGrpcOk());
}

TEST_F(ReportStreamTest, EachMessageNamesItsOwnStudy) {
  v1::SealedReports other = Reports("1");
  other.set_study("studies/s2");
  ASSERT_TRUE(Write("1"));
  ASSERT_TRUE(Write(other));
  const std::vector<SubmittedBatch> batches = studies_.AwaitBatches(2);
  EXPECT_EQ(batches[0].study, "s1");
  EXPECT_EQ(batches[1].study, "s2");
}

TEST_F(ReportStreamTest, AMessageThatDoesNotOpenEndsTheStream) {
  v1::StreamReportsRequest request;
  request.set_ciphertext(Reports("1").SerializeAsString());
  ASSERT_TRUE(stream_->Write(request));
  EXPECT_EQ(ReadOutcome(), 0);
  EXPECT_THAT(stream_->Finish(), GrpcStatusIs(grpc::INVALID_ARGUMENT, HasSubstr("does not open")));
  EXPECT_EQ(studies_.num_batches(), 0u);
}

TEST_F(ReportStreamTest, ReadsAheadWhileABatchIsNotAnswered) {
  studies_.HoldBatches();
  ASSERT_TRUE(Write("1"));
  for (size_t i = 1; i < kWindow; ++i) ASSERT_TRUE(Write("1"));
  EXPECT_THAT(studies_.AwaitBatches(kWindow), SizeIs(kWindow));
  studies_.LetBatches();
  stream_->WritesDone();
  for (size_t i = 0; i < kWindow; ++i) EXPECT_EQ(ReadOutcome(), 1);
  EXPECT_THAT(stream_->Finish(), IsGrpcOk());
}

TEST_F(ReportStreamTest, ReadsNoFurtherThanItsWindowOfRequests) {
  studies_.HoldBatches();
  ASSERT_TRUE(Write("1"));
  for (size_t i = 1; i < kWindow; ++i) ASSERT_TRUE(Write("1"));
  ExpectNoMoreIsReadThan(kWindow);
}

TEST_F(ReportStreamTest, ReadsNoFurtherThanItsWindowOfBytes) {
  studies_.HoldBatches();
  v1::SealedReports large = Reports("1");
  large.mutable_reports(0)->set_payload(std::string(ReportStream::kWindowBytes / 10, 'p'));
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(Write(large));
  ExpectNoMoreIsReadThan(10);
}

TEST_F(ReportStreamTest, ABatchThatCannotBeJudgedEndsTheStreamAfterTheAnswersBeforeIt) {
  ASSERT_TRUE(Write("1"));
  ASSERT_TRUE(Write("2"));
  v1::SealedReports none = Reports("1");
  none.clear_reports();
  ASSERT_TRUE(Write(none));
  EXPECT_EQ(ReadOutcome(), 1);
  EXPECT_EQ(ReadOutcome(), 2);
  EXPECT_EQ(ReadOutcome(), 0);
  EXPECT_THAT(stream_->Finish(),
              GrpcStatusIs(grpc::INVALID_ARGUMENT, HasSubstr("1 to 1000 reports")));
}

TEST_F(ReportStreamTest, AStoreThatFailsEndsTheStreamThoughTheClientHasMoreToSend) {
  ASSERT_TRUE(Write("1"));
  EXPECT_EQ(ReadOutcome(), 1);
  studies_.Fail(UnavailableError("the disk does not answer"));
  ASSERT_TRUE(Write("1"));
  EXPECT_EQ(ReadOutcome(), 0);
  EXPECT_THAT(stream_->Finish(),
              GrpcStatusIs(grpc::UNAVAILABLE, HasSubstr("the same reports may be sent again")));
}

TEST_F(ReportStreamTest, AClientThatVanishesLeavesItsBatchesToTheCurator) {
  studies_.HoldBatches();
  ASSERT_TRUE(Write("1"));
  ASSERT_TRUE(Write("2"));
  studies_.AwaitBatches(2);
  context_.TryCancel();
  EXPECT_THAT(stream_->Finish(), GrpcStatusIs(grpc::CANCELLED, HasSubstr("")));
  // The server ends the call before the curator answers it.
  server_->Shutdown();
  studies_.LetBatches();
  studies_.AwaitAnswers();
  EXPECT_EQ(studies_.num_batches(), 2u);
}

TEST_F(ReportStreamTest, ManyClientsMayVanishAtAnyMoment) {
  for (int i = 0; i < 100; ++i) {
    grpc::ClientContext context;
    const auto stream = stub_->StreamReports(&context);
    const SealedReportsCall call(studies_.direct_key(), Reports("1"));
    for (int batch = 0; batch <= i % 12; ++batch) {
      stream->Write(call.request<v1::StreamReportsRequest>());
    }
    context.TryCancel();
    EXPECT_THAT(stream->Finish(), GrpcStatusIs(grpc::CANCELLED, HasSubstr("")));
  }
  context_.TryCancel();
  server_->Shutdown();
  studies_.AwaitAnswers();
}

}  // namespace
}  // namespace coppice::service
