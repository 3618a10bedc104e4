#include "server/http/protocol.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "common/base/text.h"
#include "coppice/v1/model.pb.h"
#include "coppice/v1/study.pb.h"
#include "coppice/v1/training.pb.h"
#include "tests/support/status_matchers.h"

namespace coppice::http {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// https://connectrpc.com/docs/protocol#error-codes
TEST(ConnectCodesTest, AreThoseOfTheProtocol) {
  const std::map<StatusCode, std::pair<std::string, int>> codes = {
      {StatusCode::kCancelled, {"canceled", 499}},
      {StatusCode::kUnknown, {"unknown", 500}},
      {StatusCode::kInvalidArgument, {"invalid_argument", 400}},
      {StatusCode::kDeadlineExceeded, {"deadline_exceeded", 504}},
      {StatusCode::kNotFound, {"not_found", 404}},
      {StatusCode::kAlreadyExists, {"already_exists", 409}},
      {StatusCode::kPermissionDenied, {"permission_denied", 403}},
      {StatusCode::kResourceExhausted, {"resource_exhausted", 429}},
      {StatusCode::kFailedPrecondition, {"failed_precondition", 400}},
      {StatusCode::kAborted, {"aborted", 409}},
      {StatusCode::kOutOfRange, {"out_of_range", 400}},
      {StatusCode::kUnimplemented, {"unimplemented", 501}},
      {StatusCode::kInternal, {"internal", 500}},
      {StatusCode::kUnavailable, {"unavailable", 503}},
      {StatusCode::kDataLoss, {"data_loss", 500}},
      {StatusCode::kUnauthenticated, {"unauthenticated", 401}}};
  for (const auto& [code, expected] : codes) {
    EXPECT_EQ(ConnectCodeOf(code), expected.first);
    EXPECT_EQ(HttpStatusOf(code), expected.second);
  }
}

TEST(ContentTypeTest, NamesTheEncodingAndWhetherItStreams) {
  EXPECT_EQ(KindOf("application/json")->encoding, Encoding::kJson);
  EXPECT_EQ(KindOf("Application/JSON; charset=utf-8")->encoding, Encoding::kJson);
  EXPECT_FALSE(KindOf("application/proto")->is_stream);
  EXPECT_TRUE(KindOf("application/connect+proto")->is_stream);
  for (const char* other : {"", "text/plain", "application/jsonx", "application/grpc",
                            "application/x-www-form-urlencoded", ";application/json"}) {
    EXPECT_FALSE(KindOf(other).has_value()) << other;
  }
  for (const char* type : {"application/json", "application/proto", "application/connect+json",
                           "application/connect+proto"}) {
    EXPECT_EQ(ContentTypeOf(*KindOf(type)), type);
  }
}

TEST(ErrorBodyTest, IsJsonWhateverTheMessageHas) {
  EXPECT_EQ(ErrorBody(NotFoundError("no \"x\"\n")),
            R"({"code":"not_found","message":"no \"x\"\n"})");
  EXPECT_EQ(ErrorBody(NotFoundError("\xff")),
            "{\"code\":\"not_found\",\"message\":\"\xef\xbf\xbd\"}");
}

TEST(EnvelopeTest, IsReadAsItWasWritten) {
  const std::string message(300, 'x');
  EXPECT_EQ(*MessageIn(Envelope(message)), message);
  EXPECT_EQ(*MessageIn(Envelope("")), "");
  const std::string end = EndOfStream(NotFoundError("x"), {{"a", "b"}});
  EXPECT_EQ(end[0], 2);
  EXPECT_EQ(end.substr(5),
            R"({"error":{"code":"not_found","message":"x"},"metadata":{"a":["b"]}})");
  EXPECT_EQ(EndOfStream(OkStatus(), {}).substr(5), "{}");
}

TEST(EnvelopeTest, AnythingElseIsInvalid) {
  const std::string good = Envelope("abc");
  std::string compressed = good, long_one = good;
  compressed[0] = 1;
  long_one[4] = 4;
  for (const std::string& bad : {std::string(), good.substr(0, 4), good.substr(0, 7), good + "x",
                                 compressed, long_one, std::string("\0\xff\xff\xff\xff", 5)}) {
    EXPECT_EQ(MessageIn(bad).status().code(), StatusCode::kInvalidArgument);
  }
}

TEST(ParseTimeoutTest, TakesUpToTenDigits) {
  EXPECT_EQ(*ParseTimeout("0"), absl::ZeroDuration());
  EXPECT_EQ(*ParseTimeout("1500"), absl::Milliseconds(1500));
  EXPECT_EQ(*ParseTimeout("9999999999"), absl::Milliseconds(9999999999));
  for (const char* bad : {"", "-1", "+1", "1s", " 1", "1.5", "99999999999"}) {
    EXPECT_FALSE(ParseTimeout(bad).ok()) << bad;
  }
}

}  // namespace
}  // namespace coppice::http
