#include "server/process/health_service.h"

#include <gmock/gmock.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

#include "common/base/text.h"
#include "server/process/request_bytes.h"

namespace coppice {
namespace {

using ::testing::HasSubstr;

constexpr size_t kMostBytes = 1024;
// HealthCheckResponse messages, which have one field.
const std::string kIsServing("\x08\x01", 2);
const std::string kIsNotServing("\x08\x02", 2);
const std::string kIsUnknown("\x08\x03", 2);

std::string RequestFor(const std::string& service) {
  return StrCat(std::string(1, '\x0a'), std::string(1, static_cast<char>(service.size())), service);
}

std::string BytesOf(grpc::ByteBuffer& buffer) {
  return TakeRequestBytes(buffer, kMostBytes).value_or("no message");
}

// A call whose steps wait for one another.
class HealthCall {
 public:
  HealthCall(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
             const std::string& request)
      : stub_(channel), call_(stub_.PrepareCall(&context_, method, &queue_)) {
    call_->StartCall(this);
    Wait();
    call_->WriteLast(ToByteBuffer(request), grpc::WriteOptions(), this);
    Wait();
  }
  ~HealthCall() {
    context_.TryCancel();
    if (!finished_) Finish();
  }

  // The next answer; empty at the end.
  std::string Read() {
    grpc::ByteBuffer answer;
    call_->Read(&answer, this);
    return Wait() ? BytesOf(answer) : "";
  }
  grpc::Status Finish() {
    grpc::Status status;
    call_->Finish(&status, this);
    Wait();
    finished_ = true;
    return status;
  }

 private:
  bool Wait() {
    void* tag = nullptr;
    bool ok = false;
    return queue_.Next(&tag, &ok) && ok;
  }

  grpc::GenericStub stub_;
  grpc::ClientContext context_;
  grpc::CompletionQueue queue_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> call_;
  bool finished_ = false;
};

class HealthServiceTest : public ::testing::Test {
 protected:
  HealthServiceTest() {
    int port = 0;
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(&health_);
    server_ = builder.BuildAndStart();
    channel_ = grpc::CreateChannel(StrCat("127.0.0.1:", port), grpc::InsecureChannelCredentials());
  }

  std::string Check(const std::string& service) {
    HealthCall call(channel_, kHealthCheckPath, RequestFor(service));
    const std::string answer = call.Read();
    EXPECT_TRUE(call.Finish().ok());
    return answer;
  }
  grpc::Status Refusal(const std::string& method, const std::string& request) {
    HealthCall call(channel_, method, request);
    EXPECT_EQ(call.Read(), "");
    return call.Finish();
  }

  HealthService health_{kMostBytes};
  std::unique_ptr<grpc::Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
};

TEST_F(HealthServiceTest, LivesFromTheStartAndIsReadyOnceItIsSaid) {
  EXPECT_EQ(Check(""), kIsServing);
  EXPECT_EQ(Check(kReadyService), kIsNotServing);
  health_.SetReady(true);
  EXPECT_EQ(Check(kReadyService), kIsServing);
  health_.SetReady(false);
  EXPECT_EQ(Check(kReadyService), kIsNotServing);
  EXPECT_EQ(Check(""), kIsServing);
}

TEST_F(HealthServiceTest, NothingMakesAStoppedServerReadyAgain) {
  health_.SetReady(true);
  health_.Stop();
  health_.SetReady(true);
  EXPECT_EQ(Check(""), kIsNotServing);
  EXPECT_EQ(Check(kReadyService), kIsNotServing);
}

TEST_F(HealthServiceTest, TellsAWatcherTheStateAndEachChange) {
  HealthCall watch(channel_, kHealthWatchPath, RequestFor(kReadyService));
  EXPECT_EQ(watch.Read(), kIsNotServing);
  health_.SetReady(false);  // no change
  health_.SetReady(true);
  EXPECT_EQ(watch.Read(), kIsServing);
  health_.Stop();
  EXPECT_EQ(watch.Read(), kIsNotServing);
}

TEST_F(HealthServiceTest, AWatcherThatLeavesIsForgotten) {
  { const HealthCall left(channel_, kHealthWatchPath, RequestFor(kReadyService)); }
  HealthCall stays(channel_, kHealthWatchPath, RequestFor(kReadyService));
  EXPECT_EQ(stays.Read(), kIsNotServing);
  health_.SetReady(true);
  EXPECT_EQ(stays.Read(), kIsServing);
}

TEST_F(HealthServiceTest, SaysThatItKnowsNoOtherService) {
  EXPECT_EQ(Refusal(kHealthCheckPath, RequestFor("other")).error_code(),
            grpc::StatusCode::NOT_FOUND);
  HealthCall watch(channel_, kHealthWatchPath, RequestFor("other"));
  EXPECT_EQ(watch.Read(), kIsUnknown);
}

TEST_F(HealthServiceTest, RefusesARequestThatIsTooLongOrUnfolds) {
  const std::string fields(kMostBytes, '\x78');  // each names an unknown field or is its value
  std::string groups;
  while (groups.size() < kMostBytes) groups += "\x7b\x7c";
  for (const char* method : {kHealthCheckPath, kHealthWatchPath}) {
    const grpc::Status longer = Refusal(method, fields + "x");
    EXPECT_EQ(longer.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED) << method;
    EXPECT_THAT(longer.error_message(), HasSubstr("larger than 1024 bytes"));
    EXPECT_EQ(Refusal(method, groups).error_code(), grpc::StatusCode::INVALID_ARGUMENT) << method;
    EXPECT_EQ(Refusal(method, RequestFor("") + RequestFor("")).error_code(),
              grpc::StatusCode::INVALID_ARGUMENT)
        << method;
  }
}

}  // namespace
}  // namespace coppice
