#include "server/daemon/transport/bounds.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <thread>

#include "absl/time/time.h"
#include "common/base/text.h"
#include "coppice/v1/study.grpc.pb.h"
#include "server/serving/access/method_table.h"
#include "tests/support/eventually.h"

namespace coppice::daemon {
namespace {

using ::coppice::calls::ByteLoad;
using ::testing::HasSubstr;

constexpr char kGetStudy[] = "/coppice.v1.StudyService/GetStudy";
constexpr size_t kLarge = size_t{100} << 10;

TEST(ByteLoadTest, AdmitsAnswersThatFitAndOneOfAnySizeWhenEmpty) {
  ByteLoad load(100);
  EXPECT_TRUE(load.TryHold(1000)) << "or it could never be sent";
  EXPECT_FALSE(load.TryHold(1));
  load.Release(1000);
  EXPECT_TRUE(load.TryHold(60));
  EXPECT_FALSE(load.TryHold(41));
  EXPECT_TRUE(load.TryHold(40));
  EXPECT_EQ(load.bytes(), 100u);
}

TEST(DeadlineOfTest, EveryUnaryMethodHasADeadline) {
  for (const access::Method& line : access::AllMethods()) {
    const bool stream = line.path.find("/Stream") != std::string_view::npos ||
                        line.path.find("Watch") != std::string_view::npos ||
                        line.path.find("/UploadRows") != std::string_view::npos ||
                        line.path.find("/Backup") != std::string_view::npos ||
                        line.path.find("/MeasureCurve") != std::string_view::npos ||
                        line.path.find("Reflection") != std::string_view::npos;
    EXPECT_EQ(line.deadline == absl::InfiniteDuration(), stream) << line.path;
    EXPECT_GE(line.deadline, absl::Seconds(10)) << line.path;
  }
  EXPECT_EQ(access::DeadlineOf("/coppice.v1.StudyService/ListStudies"), absl::Seconds(10));
  EXPECT_GT(access::DeadlineOf(kGetStudy), absl::Seconds(10));
  EXPECT_EQ(access::DeadlineOf("/no.such/Method"), absl::Seconds(10));
}

// GetStudy answers when its call is cancelled, ListStudies at once with a large answer.
class SlowStudies final : public v1::StudyService::CallbackService {
 public:
  class UntilCancelled final : public grpc::ServerUnaryReactor {
   public:
    void OnCancel() override { Finish(grpc::Status::CANCELLED); }
    void OnDone() override { delete this; }
  };
  grpc::ServerUnaryReactor* GetStudy(grpc::CallbackServerContext*, const v1::GetStudyRequest*,
                                     v1::GetStudyResponse*) override {
    return new UntilCancelled;
  }
  grpc::ServerUnaryReactor* ListStudies(grpc::CallbackServerContext* context,
                                        const v1::ListStudiesRequest*,
                                        v1::ListStudiesResponse* response) override {
    response->set_next_page_token(std::string(size, 'x'));
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

  size_t size = kLarge;
};

class CallBoundsTest : public ::testing::Test {
 protected:
  CallBoundsTest() {
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(&service_);
    std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>> factories;
    factories.push_back(BoundCalls(bounds_));
    builder.experimental().SetInterceptorCreators(std::move(factories));
    server_ = builder.BuildAndStart();
    stub_ = v1::StudyService::NewStub(
        grpc::CreateChannel(StrCat("127.0.0.1:", port), grpc::InsecureChannelCredentials()));
  }
  ~CallBoundsTest() override { server_->Shutdown(); }

  grpc::Status List(std::string* pushback = nullptr) {
    grpc::ClientContext context;
    v1::ListStudiesResponse response;
    const grpc::Status status = stub_->ListStudies(&context, {}, &response);
    const auto& metadata = context.GetServerTrailingMetadata();
    const auto found = metadata.find("grpc-retry-pushback-ms");
    if (pushback != nullptr && found != metadata.end()) {
      pushback->assign(found->second.data(), found->second.size());
    }
    return status;
  }

  // An answer's bytes are released a little after its client has it.
  void WaitUntilReleased() {
    EXPECT_TRUE(coppice::testing::Eventually([&] { return bounds_.answers().bytes() == 0; }));
  }

  ByteLoad answers_{kLarge * 3 / 2};
  CallBounds bounds_{answers_, [](std::string_view path) {
                       return path == kGetStudy ? absl::Seconds(1) : absl::Hours(1);
                     }};
  SlowStudies service_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<v1::StudyService::Stub> stub_;
};

TEST_F(CallBoundsTest, ACallEndsAtItsDeadlineThoughItsHandlerDoesNot) {
  std::vector<std::thread> callers;
  for (int i = 0; i < 8; ++i) {
    callers.emplace_back([&] {
      grpc::ClientContext context;  // has no deadline of its own
      v1::GetStudyResponse response;
      const grpc::Status status = stub_->GetStudy(&context, {}, &response);
      EXPECT_EQ(status.error_code(), grpc::StatusCode::CANCELLED) << status.error_message();
    });
  }
  EXPECT_TRUE(List().ok()) << "others go on";
  for (std::thread& caller : callers) caller.join();
}

TEST_F(CallBoundsTest, LargeAnswersBeyondTheLimitAreRefusedAndSmallOnesAreNot) {
  EXPECT_TRUE(List().ok());
  WaitUntilReleased();
  ASSERT_TRUE(bounds_.answers().TryHold(kLarge));
  std::string pushback;
  const grpc::Status refused = List(&pushback);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(refused.error_message(), HasSubstr("try again later"));
  EXPECT_EQ(pushback, "1000");
  service_.size = ByteLoad::kSmall / 2;
  EXPECT_TRUE(List().ok());
  service_.size = kLarge;
  bounds_.answers().Release(kLarge);
  EXPECT_TRUE(List().ok());
  WaitUntilReleased();
}

}  // namespace
}  // namespace coppice::daemon
