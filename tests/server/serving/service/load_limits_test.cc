// Too many streams, bytes or calls at once are refused with a hint, and no other client suffers.

#include "server/serving/reports/load_limits.h"

#include <grpcpp/generic/generic_stub.h>
#include <malloc.h>

#include <memory>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "tests/server/serving/service/load.h"
#include "tests/server/serving/service/service_fixture.h"
#include "tests/support/eventually.h"

namespace coppice::service {
namespace {

using ::coppice::testing::GrpcStatusIs;
using ::coppice::testing::IsGrpcOk;
using ::coppice::testing::PushbackOf;
using ::coppice::testing::SealedReportsCall;
using ::coppice::testing::ServiceTest;
using ::testing::HasSubstr;

SealedReportsCall ReportsCall(const DirectKey& key, size_t payload_bytes = 1) {
  v1::SealedReports reports;
  reports.set_study("studies/s1");
  reports.set_fingerprint(std::string(32, 'f'));
  reports.add_reports()->set_payload(std::string(payload_bytes, 'p'));
  return SealedReportsCall(key, reports);
}

// A stream with its own context; destroying it cancels the stream.
class OpenStream {
 public:
  OpenStream(v1::ReportService::Stub& stub, const DirectKey& key)
      : key_(key), stream_(stub.StreamReports(&context_)) {}
  ~OpenStream() {
    if (finished_) return;
    context_.TryCancel();
    Finish();
  }

  bool Write(size_t payload_bytes = 1) {
    return stream_->Write(ReportsCall(key_, payload_bytes).request<v1::StreamReportsRequest>());
  }
  bool Read() {
    v1::StreamReportsResponse response;
    return stream_->Read(&response);
  }
  grpc::Status Finish() {
    finished_ = true;
    return stream_->Finish();
  }
  const grpc::ClientContext& context() const { return context_; }

 private:
  const DirectKey key_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::StreamReportsRequest, v1::StreamReportsResponse>>
      stream_;
  bool finished_ = false;
};

class LoadLimitsTest : public ServiceTest {
 protected:
  explicit LoadLimitsTest(const LoadLimits& limits = {}) : ServiceTest(limits) {}

  void AwaitStreams(size_t count) const {
    EXPECT_TRUE(Eventually([&] { return report_service_.load().streams() == count; }));
  }

  // The pushback of a single call whose reports meet `status`.
  std::string PushbackAfter(const Status& status) {
    studies_.Fail(status);
    v1::SubmitReportsResponse response;
    grpc::ClientContext context;
    const auto request = ReportsCall(studies_.direct_key()).request();
    EXPECT_FALSE(stub_->SubmitReports(&context, request, &response).ok());
    return PushbackOf(context);
  }

  std::unique_ptr<v1::ReportService::Stub> stub_ = v1::ReportService::NewStub(channel_);
};

TEST_F(LoadLimitsTest, CallRefusedForLoadSaysWhenToComeAgainAndNoOtherDoes) {
  EXPECT_EQ(PushbackAfter(ResourceExhaustedError("too much")), "1000");
  EXPECT_EQ(PushbackAfter(UnavailableError("no disk")), "");
  EXPECT_EQ(PushbackAfter(InternalError("no")), "");
}

TEST_F(LoadLimitsTest, StreamRefusedForLoadSaysWhenToComeAgain) {
  studies_.Fail(ResourceExhaustedError("too much"));
  OpenStream stream(*stub_, studies_.direct_key());
  ASSERT_TRUE(stream.Write());
  EXPECT_FALSE(stream.Read());
  EXPECT_THAT(stream.Finish(), GrpcStatusIs(grpc::RESOURCE_EXHAUSTED, HasSubstr("same reports")));
  EXPECT_EQ(PushbackOf(stream.context()), "1000");
}

TEST_F(LoadLimitsTest, AMalformedRequestEndsTheStream) {
  grpc::GenericStub generic(channel_);
  grpc::CompletionQueue queue;
  const auto call =
      generic.PrepareCall(&context_, "/coppice.v1.ReportService/StreamReports", &queue);
  const auto await = [&](int expected) {
    void* tag = nullptr;
    bool ok = false;
    ASSERT_TRUE(queue.Next(&tag, &ok));
    EXPECT_EQ(tag, reinterpret_cast<void*>(static_cast<intptr_t>(expected)));
  };
  const grpc::Slice garbage("\xff\xff\xff");
  call->StartCall(reinterpret_cast<void*>(1));
  await(1);
  call->Write(grpc::ByteBuffer(&garbage, 1), reinterpret_cast<void*>(2));
  await(2);
  grpc::Status status;
  call->Finish(&status, reinterpret_cast<void*>(3));
  await(3);
  EXPECT_THAT(status, GrpcStatusIs(grpc::INVALID_ARGUMENT, HasSubstr("does not parse")));
  queue.Shutdown();
}

// The memory that requests were read into is freed while the streams stay open.
TEST_F(LoadLimitsTest, IdleStreamKeepsNoMemoryOfItsLargestRequest) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the sanitizer keeps what is freed";
#endif
  constexpr size_t kStreams = 32;
  constexpr size_t kRequestBytes = size_t{900} << 10;
  const auto heap = [] {
    const auto info = mallinfo2();
    return info.uordblks + info.hblkhd;
  };
  std::vector<std::unique_ptr<OpenStream>> streams;
  for (size_t i = 0; i < kStreams; ++i) {
    streams.push_back(std::make_unique<OpenStream>(*stub_, studies_.direct_key()));
    ASSERT_TRUE(streams.back()->Write());
    ASSERT_TRUE(streams.back()->Read());
  }
  const size_t before = heap();
  for (const auto& stream : streams) {
    ASSERT_TRUE(stream->Write(kRequestBytes));
    ASSERT_TRUE(stream->Read());
  }
  EXPECT_LT(heap(), before + kStreams * kRequestBytes / 4);
  EXPECT_TRUE(Eventually([&] { return report_service_.load().bytes() == 0; }));
}

class TwoStreamsTest : public LoadLimitsTest {
 protected:
  TwoStreamsTest() : LoadLimitsTest({.max_streams = 2}) {}
};

TEST_F(TwoStreamsTest, OneMoreIsRefusedUntilOneOfThemEnds) {
  auto first = std::make_unique<OpenStream>(*stub_, studies_.direct_key());
  OpenStream second(*stub_, studies_.direct_key());
  for (OpenStream* stream : {first.get(), &second}) {
    ASSERT_TRUE(stream->Write());
    ASSERT_TRUE(stream->Read());
  }
  {
    OpenStream third(*stub_, studies_.direct_key());
    EXPECT_THAT(third.Finish(),
                GrpcStatusIs(grpc::RESOURCE_EXHAUSTED, HasSubstr("2 report streams already")));
    EXPECT_EQ(PushbackOf(third.context()), "1000");
  }
  ASSERT_TRUE(second.Write());
  EXPECT_TRUE(second.Read()) << "those that are open go on";
  first.reset();
  AwaitStreams(1);
  OpenStream fourth(*stub_, studies_.direct_key());
  ASSERT_TRUE(fourth.Write());
  EXPECT_TRUE(fourth.Read());
}

class FewBytesTest : public LoadLimitsTest {
 protected:
  FewBytesTest() : LoadLimitsTest({.max_stream_bytes = 1}) {}
};

TEST_F(FewBytesTest, EachStreamGoesOnByOneRequestAtATime) {
  studies_.HoldBatches();
  OpenStream one(*stub_, studies_.direct_key());
  OpenStream other(*stub_, studies_.direct_key());
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(one.Write());
    ASSERT_TRUE(other.Write());
  }
  studies_.AwaitBatches(2);
  // All share a connection: what this one writes arrives after all that was written before.
  OpenStream last(*stub_, studies_.direct_key());
  ASSERT_TRUE(last.Write());
  EXPECT_EQ(studies_.AwaitBatches(3).size(), 3u);
  EXPECT_GT(report_service_.load().bytes(), 0u);
  studies_.LetBatches();
  EXPECT_TRUE(last.Read());
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(one.Read());
    EXPECT_TRUE(other.Read());
  }
  EXPECT_EQ(studies_.num_batches(), 7u);
}

TEST_F(FewBytesTest, StreamThatVanishesGivesBackWhatItHeld) {
  studies_.HoldBatches();
  {
    OpenStream stream(*stub_, studies_.direct_key());
    ASSERT_TRUE(stream.Write());
    studies_.AwaitBatches(1);
  }
  AwaitStreams(0);
  EXPECT_EQ(report_service_.load().bytes(), 0u);
  studies_.LetBatches();
  studies_.AwaitAnswers();
  EXPECT_EQ(report_service_.load().bytes(), 0u);
}

}  // namespace
}  // namespace coppice::service
