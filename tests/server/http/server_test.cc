// The HTTP server over the test's handlers, without TLS.

#include "server/http/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>

#include "absl/time/clock.h"
#include "common/base/status.h"
#include "coppice/v1/study.pb.h"
#include "coppice/v1/training.pb.h"
#include "tests/server/http/http_fixture.h"
#include "tests/support/eventually.h"

namespace coppice::http {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// A stream of one message, which ends once it was written.
class OneMessage final : public service::StreamHandler {
 public:
  explicit OneMessage(service::StreamCall& call) : call_(call) {}
  void OnWritten(bool /*sent*/) override { call_.End(OkStatus()); }

 private:
  service::StreamCall& call_;
};

struct Handlers {
  Status List(const service::Caller&, const v1::ListStudiesRequest&,
              v1::ListStudiesResponse* response) {
    response->set_next_page_token("secret" + std::string(filler_bytes, 'x'));
    return OkStatus();
  }
  // Runs until its caller is gone.
  Status Preview(const service::Caller&, const v1::PreviewStudyRequest&, v1::PreviewStudyResponse*,
                 const CancelCheck& cancel) {
    began = true;
    EXPECT_TRUE(testing::Eventually([&] { return !cancel().ok(); }));
    ended = true;
    return cancel();
  }
  StatusOr<service::StreamHandlerPtr> Watch(const service::Caller&, const v1::WatchJobRequest&,
                                            service::StreamCall& call) {
    const auto handler = std::make_shared<OneMessage>(call);
    v1::WatchJobResponse response;
    response.mutable_job()->set_name("secret");
    const Status written = call.Write(response);
    if (!written.ok()) return written;
    return handler;
  }

  std::atomic<size_t> filler_bytes{0};
  std::atomic<bool> began{false}, ended{false};
};

class HttpServerTest : public testing::HttpHandlersTest {
 protected:
  HttpServerTest() {
    registry_.Add(handlers_, &Handlers::List);
    registry_.Add(handlers_, &Handlers::Preview);
    registry_.Add(handlers_, &Handlers::Watch);
    ServedCalls served = Served();
    served.may_answer = [this]() -> Status {
      if (may_answer_) return OkStatus();
      return UnavailableError("another curator leads");
    };
    Start({.listen = "127.0.0.1:0"}, served);
  }

  testing::HttpResponse Send(testing::HttpClient& client, const char* path, const char* type,
                             const std::string& body) {
    return client.Send("POST", path, {{"Content-Type", type}}, body);
  }

  std::atomic<bool> may_answer_{true};
  Handlers handlers_;
};

constexpr char kList[] = "/coppice.v1.StudyService/ListStudies";
constexpr char kPreview[] = "/coppice.v1.StudyService/PreviewStudy";
constexpr char kWatch[] = "/coppice.v1.TrainingService/WatchJob";

TEST_F(HttpServerTest, NoAnswerLeavesOnceTheDaemonMayNotAnswer) {
  testing::HttpClient client(server_->port(), nullptr);
  const std::string watch("\0\0\0\0\2{}", 7);
  EXPECT_THAT(Send(client, kList, "application/json", "{}").body, HasSubstr("secret"));
  EXPECT_THAT(Send(client, kWatch, "application/connect+json", watch).body, HasSubstr("secret"));
  may_answer_ = false;
  const testing::HttpResponse refused = Send(client, kList, "application/json", "{}");
  EXPECT_EQ(refused.status, 503);
  EXPECT_THAT(refused.body, HasSubstr("another curator leads"));
  EXPECT_EQ(Send(client, kList, "application/json", "{\"nme\":1}").status, 503) << "errors too";
  const std::string stream = Send(client, kWatch, "application/connect+json", watch).body;
  EXPECT_THAT(stream, HasSubstr("another curator leads"));
  EXPECT_THAT(stream, Not(HasSubstr("secret")));
}

TEST_F(HttpServerTest, LongWorkStopsWhenItsClientGoes) {
  testing::HttpClient client(server_->port(), nullptr);
  ASSERT_TRUE(client.Connect());
  client.WriteAll(std::string("POST ") + kPreview +
                  " HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"
                  "Content-Length: 2\r\n\r\n{}");
  ASSERT_TRUE(testing::Eventually([&] { return handlers_.began.load(); }));
  client.Close();
  EXPECT_TRUE(testing::Eventually([&] { return handlers_.ended.load(); }));
}

TEST_F(HttpServerTest, ACallPastItsDeadlineIsAnsweredAndItsConnectionStaysOpen) {
  testing::HttpClient client(server_->port(), nullptr);
  const testing::HttpResponse late =
      client.Send("POST", kPreview,
                  {{"Content-Type", "application/json"}, {"Connect-Timeout-Ms", "100"}}, "{}");
  EXPECT_EQ(late.status, 504);
  EXPECT_THAT(late.body, HasSubstr("deadline_exceeded"));
  EXPECT_EQ(Send(client, kList, "application/json", "{}").status, 200);
  EXPECT_TRUE(testing::Eventually([&] { return handlers_.ended.load(); }))
      << "nobody waits for it any more";
}

// The answer exceeds socket buffers, so it is still being written when the call's time is over.
TEST_F(HttpServerTest, AnAnswerThatCameInTimeIsNotCutOff) {
  handlers_.filler_bytes = size_t{32} << 20;
  testing::HttpClient client(server_->port(), nullptr);
  testing::HttpResponse answer;
  // A slow machine may need longer to begin.
  for (absl::Duration limit = absl::Milliseconds(200); answer.status != 200; limit *= 2) {
    ASSERT_TRUE(client.Connect());
    const absl::Time asked = absl::Now();
    client.WriteAll(StrCat("POST ", kList,
                           " HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"
                           "Connect-Timeout-Ms: ",
                           absl::ToInt64Milliseconds(limit), "\r\nContent-Length: 2\r\n\r\n{}"));
    ASSERT_TRUE(client.ReadUntil("HTTP/1.1"));
    absl::SleepFor(asked + limit - absl::Now());  // now the call's time is over
    answer = client.ReadResponse();
  }
  EXPECT_GT(answer.body.size(), size_t{32} << 20);
  EXPECT_EQ(Send(client, kPreview, "application/json", "{\"nme\":1}").status, 400);
}

TEST_F(HttpServerTest, ABodyThatArrivesTooSlowlyEndsWithItsCall) {
  testing::HttpClient client(server_->port(), nullptr);
  ASSERT_TRUE(client.Connect());
  client.WriteAll(std::string("POST ") + kList +
                  " HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"
                  "Connect-Timeout-Ms: 200\r\nContent-Length: 10\r\n\r\n{");
  EXPECT_THAT(client.ReadToEnd(), HasSubstr("HTTP/1.1 504 "));
}

}  // namespace
}  // namespace coppice::http
