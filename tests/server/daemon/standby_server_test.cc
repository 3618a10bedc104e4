// A standby of a fleet: health checks find it alive and not ready, and every call is refused.

#include "server/daemon/transport/standby_server.h"

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/client_unary_call.h>

#include <chrono>
#include <memory>
#include <string>

#include "common/base/text.h"
#include "coppice/v1/report.grpc.pb.h"
#include "coppice/v1/study.grpc.pb.h"
#include "grpc/health/v1/health.pb.h"
#include "server/daemon/transport/server.h"
#include "tests/support/status_matchers.h"

namespace coppice::daemon {
namespace {

using ::coppice::testing::StatusIs;
using ::testing::HasSubstr;

class StandbyServerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(standby_, StandbyServer::Start("127.0.0.1:0", nullptr, {}));
    channel_ = grpc::CreateChannel(StrCat("127.0.0.1:", standby_->port()),
                                   grpc::InsecureChannelCredentials());
  }

  void SetDeadline(grpc::ClientContext& context) {
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::minutes(1));
  }
  grpc::health::v1::HealthCheckResponse::ServingStatus Health(const std::string& service) {
    grpc::ClientContext context;
    SetDeadline(context);
    grpc::health::v1::HealthCheckRequest request;
    request.set_service(service);
    grpc::health::v1::HealthCheckResponse response;
    const grpc::internal::RpcMethod check("/grpc.health.v1.Health/Check",
                                          grpc::internal::RpcMethod::NORMAL_RPC);
    EXPECT_TRUE(
        grpc::internal::BlockingUnaryCall(channel_.get(), check, &context, request, &response)
            .ok());
    return response.status();
  }

  std::unique_ptr<StandbyServer> standby_;
  std::shared_ptr<grpc::Channel> channel_;
};

TEST_F(StandbyServerTest, IsAliveAndNotReady) {
  EXPECT_EQ(Health(""), grpc::health::v1::HealthCheckResponse::SERVING);
  EXPECT_EQ(Health(kReadyService), grpc::health::v1::HealthCheckResponse::NOT_SERVING);
}

TEST_F(StandbyServerTest, AsksACallToComeAgain) {
  grpc::ClientContext context;
  SetDeadline(context);
  v1::GetStudyResponse response;
  const grpc::Status status =
      v1::StudyService::NewStub(channel_)->GetStudy(&context, {}, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_THAT(status.error_message(), HasSubstr("stands by"));
  EXPECT_EQ(context.GetServerTrailingMetadata().count("grpc-retry-pushback-ms"), 1u);
}

TEST_F(StandbyServerTest, RefusesAStreamWithoutReadingIt) {
  grpc::ClientContext context;
  SetDeadline(context);
  const auto stub = v1::ReportService::NewStub(channel_);
  const auto stream = stub->StreamReports(&context);
  v1::StreamReportsRequest message;
  message.set_ciphertext(std::string(1 << 20, 'x'));
  while (stream->Write(message)) {
  }
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST_F(StandbyServerTest, RefusesMethodsThatNobodyHas) {
  grpc::GenericStub stub(channel_);
  grpc::ClientContext context;
  SetDeadline(context);
  grpc::CompletionQueue queue;
  const auto call = stub.PrepareUnaryCall(&context, "/no.such.Service/Method", {}, &queue);
  call->StartCall();
  grpc::ByteBuffer answer;
  grpc::Status status;
  call->Finish(&answer, &status, this);
  void* tag = nullptr;
  bool ok = false;
  ASSERT_TRUE(queue.Next(&tag, &ok));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST_F(StandbyServerTest, LeavesItsPortToTheServerOfTheLeader) {
  const std::string listen = StrCat("127.0.0.1:", standby_->port());
  EXPECT_THAT(StandbyServer::Start(listen, nullptr, {}).status(),
              StatusIs(StatusCode::kUnavailable, HasSubstr("--listen 127.0.0.1:")));
  Health("");  // there is a connection to close
  for (int i = 0; i < 20; ++i) {
    standby_.reset();
    ASSERT_OK_AND_ASSIGN(standby_, StandbyServer::Start(listen, nullptr, {}));
  }
}

}  // namespace
}  // namespace coppice::daemon
