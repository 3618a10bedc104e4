#include "common/base/status.h"
#include "server/serving/reports/report_handlers.h"
#include "tests/server/serving/service/service_fixture.h"

namespace coppice::service {
namespace {

using ::coppice::testing::GrpcStatusIs;
using ::coppice::testing::IsGrpcOk;
using ::coppice::testing::ServiceTest;
using ::coppice::testing::SubmittedBatch;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class ReportStreamTest : public ServiceTest {
 protected:
  // Cancels an open stream, since the server waits for it.
  ~ReportStreamTest() override { context_.TryCancel(); }

  static v1::StreamReportsRequest First(const char* ticket) {
    v1::StreamReportsRequest request = Next(ticket);
    request.set_study("studies/s1");
    request.set_fingerprint(std::string(32, 'f'));
    return request;
  }
  static v1::StreamReportsRequest Next(const char* ticket) {
    v1::StreamReportsRequest request;
    request.add_reports()->set_ticket(ticket);
    return request;
  }
  // The only outcome of the next answer, or 0 at the end of the stream.
  int ReadOutcome() {
    v1::StreamReportsResponse response;
    return stream_->Read(&response) && response.outcomes_size() == 1 ? response.outcomes(0) : 0;
  }

  // Expects that one more request waits until those before it are answered.
  void ExpectNoMoreIsReadThan(size_t requests) {
    studies_.AwaitBatches(requests);
    ASSERT_TRUE(stream_->Write(Next("2")));
    // During a whole other call the request could have been read.
    v1::SubmitReportsRequest request;
    v1::SubmitReportsResponse response;
    grpc::ClientContext context;
    EXPECT_THAT(stub_->SubmitReports(&context, request, &response),
                GrpcStatusIs(grpc::INVALID_ARGUMENT, HasSubstr("study")));
    EXPECT_EQ(studies_.num_batches(), requests);
    studies_.LetBatches();
    EXPECT_THAT(studies_.AwaitBatches(requests + 1).back().tickets, ElementsAre("2"));
  }

  static constexpr size_t kWindow = ReportStream::kWindowRequests;

  std::unique_ptr<v1::ReportService::Stub> stub_ = v1::ReportService::NewStub(channel_);
  std::unique_ptr<grpc::ClientReaderWriter<v1::StreamReportsRequest, v1::StreamReportsResponse>>
      stream_ = stub_->StreamReports(&context_);
};

TEST_F(ReportStreamTest, AnswersComeInTheOrderOfTheRequests) {
  const char* tickets[] = {"7", "1", "6", "2", "5", "3", "4", "1", "2", "7", "1", "6"};
  ASSERT_TRUE(stream_->Write(First(tickets[0])));
  for (size_t i = 1; i < std::size(tickets); ++i) ASSERT_TRUE(stream_->Write(Next(tickets[i])));
  stream_->WritesDone();
  for (const char* ticket : tickets) EXPECT_EQ(ReadOutcome(), ticket[0] - '0');
  EXPECT_EQ(ReadOutcome(), 0);
  EXPECT_THAT(stream_->Finish(), IsGrpcOk());
}

// Short and long answers are handed to gRPC in different ways.
TEST_F(ReportStreamTest, FullBatchesAreAnsweredOneAfterTheOther) {
  v1::StreamReportsRequest full = First("1");
  for (int i = 1; i < 1000; ++i) full.add_reports()->set_ticket("1");
  for (int batch = 0; batch < 3; ++batch) ASSERT_TRUE(stream_->Write(full));
  stream_->WritesDone();
  v1::StreamReportsResponse response;
  for (int batch = 0; batch < 3; ++batch) {
    ASSERT_TRUE(stream_->Read(&response));
    EXPECT_EQ(response.outcomes_size(), 1000);
  }
  EXPECT_THAT(stream_->Finish(), IsGrpcOk());
}

TEST_F(ReportStreamTest, NoFurtherMessageLeavesOnceTheCuratorMayNotAnswer) {
  ASSERT_TRUE(stream_->Write(First("1")));
  EXPECT_EQ(ReadOutcome(), 1);
  may_answer_ = false;
  ASSERT_TRUE(stream_->Write(Next("2")));
  EXPECT_EQ(ReadOutcome(), 0);
  EXPECT_THAT(stream_->Finish(), GrpcStatusIs(grpc::UNAVAILABLE, "may not answer"));
}

TEST_F(ReportStreamTest, NoEndLeavesOnceTheCuratorMayNotAnswer) {
  ASSERT_TRUE(stream_->Write(First("1")));
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

TEST_F(ReportStreamTest, AnEmptyStudyAndFingerprintRepeatTheFormerOnes) {
  v1::StreamReportsRequest other = Next("1");
  other.set_study("studies/s2");
  ASSERT_TRUE(stream_->Write(First("1")));
  ASSERT_TRUE(stream_->Write(Next("1")));
  ASSERT_TRUE(stream_->Write(other));
  ASSERT_TRUE(stream_->Write(Next("1")));
  const std::vector<SubmittedBatch> batches = studies_.AwaitBatches(4);
  EXPECT_EQ(batches[1].study, "s1");
  EXPECT_EQ(batches[2].study, "s2");
  EXPECT_EQ(batches[3].study, "s2");
  EXPECT_EQ(batches[3].fingerprint, std::string(32, 'f'));
}

TEST_F(ReportStreamTest, TheFirstMessageMustSetBoth) {
  ASSERT_TRUE(stream_->Write(Next("1")));
  EXPECT_EQ(ReadOutcome(), 0);
  EXPECT_THAT(stream_->Finish(), GrpcStatusIs(grpc::INVALID_ARGUMENT, HasSubstr("study")));
}

TEST_F(ReportStreamTest, ReadsAheadWhileABatchIsNotAnswered) {
  studies_.HoldBatches();
  ASSERT_TRUE(stream_->Write(First("1")));
  for (size_t i = 1; i < kWindow; ++i) ASSERT_TRUE(stream_->Write(Next("1")));
  EXPECT_THAT(studies_.AwaitBatches(kWindow), SizeIs(kWindow));
  studies_.LetBatches();
  stream_->WritesDone();
  for (size_t i = 0; i < kWindow; ++i) EXPECT_EQ(ReadOutcome(), 1);
  EXPECT_THAT(stream_->Finish(), IsGrpcOk());
}

TEST_F(ReportStreamTest, ReadsNoFurtherThanItsWindowOfRequests) {
  studies_.HoldBatches();
  ASSERT_TRUE(stream_->Write(First("1")));
  for (size_t i = 1; i < kWindow; ++i) ASSERT_TRUE(stream_->Write(Next("1")));
  ExpectNoMoreIsReadThan(kWindow);
}

TEST_F(ReportStreamTest, ReadsNoFurtherThanItsWindowOfBytes) {
  studies_.HoldBatches();
  v1::StreamReportsRequest large = First("1");
  large.mutable_reports(0)->set_payload(std::string(ReportStream::kWindowBytes / 4, 'p'));
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(stream_->Write(large));
  ExpectNoMoreIsReadThan(4);
}

TEST_F(ReportStreamTest, ABatchThatCannotBeJudgedEndsTheStreamAfterTheAnswersBeforeIt) {
  ASSERT_TRUE(stream_->Write(First("1")));
  ASSERT_TRUE(stream_->Write(Next("2")));
  ASSERT_TRUE(stream_->Write(v1::StreamReportsRequest()));
  EXPECT_EQ(ReadOutcome(), 1);
  EXPECT_EQ(ReadOutcome(), 2);
  EXPECT_EQ(ReadOutcome(), 0);
  EXPECT_THAT(stream_->Finish(),
              GrpcStatusIs(grpc::INVALID_ARGUMENT, HasSubstr("reports: must be 1 to 1000")));
}

TEST_F(ReportStreamTest, AStoreThatFailsEndsTheStreamThoughTheClientHasMoreToSend) {
  ASSERT_TRUE(stream_->Write(First("1")));
  EXPECT_EQ(ReadOutcome(), 1);
  studies_.Fail(UnavailableError("the disk does not answer"));
  ASSERT_TRUE(stream_->Write(Next("1")));
  EXPECT_EQ(ReadOutcome(), 0);
  EXPECT_THAT(stream_->Finish(),
              GrpcStatusIs(grpc::UNAVAILABLE, HasSubstr("the same bytes may be sent again")));
}

TEST_F(ReportStreamTest, AClientThatVanishesLeavesItsBatchesToTheCurator) {
  studies_.HoldBatches();
  ASSERT_TRUE(stream_->Write(First("1")));
  ASSERT_TRUE(stream_->Write(Next("2")));
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
    stream->Write(First("1"));
    for (int batch = 0; batch < i % 12; ++batch) stream->Write(Next("1"));
    context.TryCancel();
    EXPECT_THAT(stream->Finish(), GrpcStatusIs(grpc::CANCELLED, HasSubstr("")));
  }
  context_.TryCancel();
  server_->Shutdown();
  studies_.AwaitAnswers();
}

}  // namespace
}  // namespace coppice::service
