// The server over methods that are not the curator's, as another daemon would have them.

#include "server/http/router.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "common/base/status.h"
#include "server/http/responses.h"
#include "server/http/server.h"
#include "tests/support/http_client.h"

namespace coppice::http {
namespace {

using ::testing::HasSubstr;
using testing::HttpClient;
using testing::HttpResponse;

// Answers with the body that came.
class EchoCall final : public Call {
 public:
  explicit EchoCall(OpenCalls& calls) : open_(calls) {}

  absl::Duration deadline() const override { return absl::Seconds(60); }
  bool is_stream() const override { return false; }
  BodyLimit body_limit() const override {
    return {.bytes = 8, .beyond = calls::TooLargeRequest(8)};
  }
  void Start(std::string body, std::shared_ptr<Carrier> carrier) override {
    carrier->Respond({.head = HeadOf({}, OkStatus(), {}), .body = std::move(body)});
  }
  Response Refuse(const Status& status) override { return ErrorResponse({}, status); }
  void Cancel(const Status& /*why*/) override {}

 private:
  const OpenCalls::Token open_;
};

class EchoMethods final : public Methods {
 public:
  bool Has(std::string_view path) const override { return path == "/relay/Echo"; }
  Judged Judge(const RequestHead& /*head*/, std::string_view path,
               const std::optional<Sha256Digest>& /*certificate*/, OpenCalls& calls) override {
    if (Has(path)) return {.call = std::make_shared<EchoCall>(calls)};
    return {.response = PlainError(UnimplementedError("there is no such method"))};
  }
};

class RouterTest : public ::testing::Test {
 protected:
  HttpResponse Send(std::string_view method, std::string_view path, std::string_view body) {
    return client_.Send(method, path, {}, body);
  }

  EchoMethods methods_;
  const std::unique_ptr<Server> server_ = *Server::Start({.listen = "127.0.0.1:0"}, methods_);
  HttpClient client_{server_->port(), nullptr};
};

TEST_F(RouterTest, AMethodGetsTheBodyAndAnswers) {
  const HttpResponse answer = Send("POST", "/relay/Echo", "hello");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, "hello");
}

TEST_F(RouterTest, ABodyBeyondTheMethodsLimitIsRefused) {
  const HttpResponse answer = Send("POST", "/relay/Echo", "123456789");
  EXPECT_EQ(answer.status, 429);
  EXPECT_THAT(answer.body, HasSubstr("resource_exhausted"));
}

TEST_F(RouterTest, AMethodIsCalledByPostAlone) {
  const HttpResponse answer = Send("GET", "/relay/Echo", "");
  EXPECT_EQ(answer.status, 405);
  EXPECT_EQ(answer.headers.at("allow"), "POST");
}

TEST_F(RouterTest, WhatIsNoMethodIsNotFound) {
  EXPECT_EQ(Send("GET", "/relay/Other", "").status, 404);
  EXPECT_EQ(Send("POST", "/relay/Other", "").status, 501);
}

TEST_F(RouterTest, APageOfAnotherOriginReachesNoMethod) {
  const HttpResponse answer =
      client_.Send("POST", "/relay/Echo", {{"Origin", "https://evil.example"}}, "hello");
  EXPECT_EQ(answer.status, 403);
}

}  // namespace
}  // namespace coppice::http
