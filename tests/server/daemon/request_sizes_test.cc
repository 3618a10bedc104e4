// Messages that are larger than their methods take, of every method, by gRPC and by HTTP.

#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "absl/strings/str_format.h"
#include "common/base/text.h"
#include "coppice/v1/report.pb.h"
#include "server/serving/access/method_table.h"
#include "tests/server/daemon/access_fixture.h"

namespace coppice::daemon {
namespace {

using ::coppice::testing::Hex;
using ::coppice::testing::HttpMethod;
using ::coppice::testing::HttpResponse;
using ::coppice::testing::TlsServerTest;
using ::testing::HasSubstr;

constexpr size_t kMaxMessage = size_t{1} << 20;
constexpr size_t kEnvelope = 5;  // before the message of a stream over HTTP

class RequestSizesTest : public TlsServerTest {
 protected:
  void SetUp() override {
    limits_.max_message_bytes = kMaxMessage;
    Serve(StrCat("{\"tokens\":[{\"name\":\"ops\",\"role\":\"admin\",\"sha256\":\"",
                 Hex(access::HashOfToken("ops")), "\"}]}"));
  }

  static size_t MostOf(const access::Method& method) {
    return std::min(method.max_request_bytes, kMaxMessage);
  }
  grpc::Status Send(const access::Method& method, size_t bytes) const {
    return Call(std::string(method.path), {"Bearer ops"}, std::string(bytes, '\xff'));
  }

  // Only the head, which names the length of the body or says that it is chunked.
  std::string HttpHead(const HttpMethod& method, std::string_view path, std::string_view length) {
    return StrCat("POST ", path, " HTTP/1.1\r\nHost: localhost\r\nContent-Type: ",
                  method.ContentType(http::Encoding::kJson), "\r\nAuthorization: Bearer ops\r\n",
                  length, "\r\n\r\n");
  }
  grpc::Status SendHttp(const HttpMethod& method, const std::string& request) {
    http_client().Close();
    const HttpResponse response = http_client().SendBytes(request);
    return method.StatusOf(http::Encoding::kJson, response, nullptr);
  }
};

std::string TooLarge(size_t most) {
  return StrCat("the request is larger than ", most, " bytes, the limit of this method");
}

TEST_F(RequestSizesTest, AMessageAboveItsMethodsLimitIsRefusedByGrpc) {
  for (const access::Method& method : access::AllMethods()) {
    const grpc::Status status = Send(method, MostOf(method) + 1);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED) << method.path;
    if (MostOf(method) == kMaxMessage) continue;  // gRPC itself refuses it
    EXPECT_THAT(status.error_message(), HasSubstr(TooLarge(MostOf(method)))) << method.path;
  }
}

TEST_F(RequestSizesTest, AMessageOfItsMethodsLimitIsRead) {
  for (const access::Method& method : access::AllMethods()) {
    if (EndsWith(method.path, "/Watch")) continue;
    EXPECT_NE(Send(method, MostOf(method)).error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED)
        << method.path;
  }
}

TEST_F(RequestSizesTest, ABodyAboveItsMethodsLimitIsRefusedByItsHead) {
  for (const access::Method& entry : access::AllMethods()) {
    const HttpMethod method = HttpMethod::Find(std::string(entry.path));
    if (!StrContains(entry.path, "coppice") || method.descriptor->client_streaming()) continue;
    const size_t envelope = method.is_stream() ? kEnvelope : 0;
    const std::string length = StrCat("Content-Length: ", MostOf(entry) + envelope + 1);
    const grpc::Status status = SendHttp(method, HttpHead(method, entry.path, length));
    EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED) << entry.path;
    EXPECT_THAT(status.error_message(), HasSubstr(TooLarge(MostOf(entry)))) << entry.path;
  }
}

TEST_F(RequestSizesTest, AChunkedBodyIsRefusedOnceItIsTooLarge) {
  for (const access::Method& entry : access::AllMethods()) {
    const HttpMethod method = HttpMethod::Find(std::string(entry.path));
    if (!StrContains(entry.path, "coppice") || method.descriptor->client_streaming()) continue;
    const size_t envelope = method.is_stream() ? kEnvelope : 0;
    const std::string body(MostOf(entry) + envelope + 1, ' ');
    const grpc::Status status =
        SendHttp(method, StrCat(HttpHead(method, entry.path, "Transfer-Encoding: chunked"),
                                absl::StrFormat("%x\r\n", body.size()), body));
    EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED) << entry.path;
    EXPECT_THAT(status.error_message(), HasSubstr(TooLarge(MostOf(entry)))) << entry.path;
  }
}

}  // namespace
}  // namespace coppice::daemon
