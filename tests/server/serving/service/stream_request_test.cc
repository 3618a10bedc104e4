#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "common/base/status.h"
#include "coppice/v1/report.pb.h"
#include "server/serving/reports/submit_request.h"
#include "tests/support/status_matchers.h"

namespace coppice::service {
namespace {

using ::testing::HasSubstr;

// Our reading of the bytes must equal protobuf's.
void ExpectReadAsByProtobuf(const std::string& bytes) {
  SCOPED_TRACE(::testing::PrintToString(bytes));
  v1::StreamReportsRequest proto;
  const bool parsed = proto.ParseFromString(bytes);
  const StatusOr<StreamRequest> request = ParseStreamRequest(bytes);
  ASSERT_EQ(request.ok(), parsed) << request.status();
  if (!parsed) return;
  EXPECT_EQ(request->study, proto.study());
  EXPECT_EQ(request->fingerprint, proto.fingerprint());
  ASSERT_EQ(request->reports.size(), static_cast<size_t>(proto.reports_size()));
  for (int i = 0; i < proto.reports_size(); ++i) {
    EXPECT_EQ(request->reports.ticket(static_cast<size_t>(i)), proto.reports(i).ticket());
    EXPECT_EQ(request->reports.payload(static_cast<size_t>(i)), proto.reports(i).payload());
  }
}

v1::StreamReportsRequest Example() {
  v1::StreamReportsRequest request;
  request.set_study("studies/s");
  request.set_fingerprint(std::string(32, 'f'));
  for (const char* payload : {"", "p", "a payload"}) {
    v1::Report& report = *request.add_reports();
    report.set_ticket(std::string(32, 't'));
    report.set_payload(payload);
  }
  return request;
}

// Unknown fields, one of each wire type.
std::string UnknownFields() {
  using namespace std::string_literals;  // NOLINT: embedded zeros count
  return "\x98\x06\x96\x01"s             // 99: varint
         "\x99\x06"s
         "12345678"s  // 99: eight bytes
         "\x9a\x06\x03"s
         "abc"s                       // 99: bytes
         "\x9b\x06\x08\x01\x9c\x06"s  // 99: a group with a field
         "\x9d\x06"s
         "1234"s;  // 99: four bytes
}

TEST(StreamRequestTest, ReadsWhatProtobufWrites) {
  ExpectReadAsByProtobuf("");
  ExpectReadAsByProtobuf(Example().SerializeAsString());
  ASSERT_OK_AND_ASSIGN(const StreamRequest request,
                       ParseStreamRequest(Example().SerializeAsString()));
  EXPECT_EQ(request.reports.payload(2), "a payload");
}

TEST(StreamRequestTest, TheLastOfAFieldCounts) {
  v1::StreamReportsRequest other;
  other.set_study("studies/other");
  other.add_reports();
  ExpectReadAsByProtobuf(Example().SerializeAsString() + other.SerializeAsString());
  v1::Report again;
  again.set_ticket("another");
  const std::string report = Example().reports(1).SerializeAsString() + again.SerializeAsString();
  ExpectReadAsByProtobuf(std::string("\x1a") + static_cast<char>(report.size()) + report);
}

TEST(StreamRequestTest, UnknownFieldsAreSkipped) {
  ExpectReadAsByProtobuf(UnknownFields() + Example().SerializeAsString() + UnknownFields());
  const std::string report = UnknownFields() + Example().reports(2).SerializeAsString();
  ExpectReadAsByProtobuf(std::string("\x1a") + static_cast<char>(report.size()) + report);
}

TEST(StreamRequestTest, EveryBeginningOfAMessageIsReadAsByProtobuf) {
  const std::string whole = Example().SerializeAsString() + UnknownFields();
  for (size_t size = 0; size < whole.size(); ++size) ExpectReadAsByProtobuf(whole.substr(0, size));
}

TEST(StreamRequestTest, EveryChangedByteIsReadAsByProtobuf) {
  const std::string whole = Example().SerializeAsString() + UnknownFields();
  for (size_t at = 11; at < whole.size(); ++at) {  // after the study's name, which is UTF-8
    for (int value = 0; value < 256; ++value) {
      std::string changed = whole;
      changed[at] = static_cast<char>(value);
      ExpectReadAsByProtobuf(changed);
      if (HasFailure()) return;
    }
  }
}

TEST(StreamRequestTest, NoiseIsReadAsByProtobuf) {
  std::mt19937 random(1);
  const std::string alphabet("\x00\x01\x02\x03\x04\x0a\x0b\x0c\x12\x13\x14\x1a\x1b\x1c\x22\x7f",
                             16);
  for (int i = 0; i < 200'000; ++i) {
    std::string bytes(random() % 24, '\0');
    for (char& byte : bytes) byte = alphabet[random() % alphabet.size()];
    ExpectReadAsByProtobuf(bytes);
    if (HasFailure()) return;
  }
}

TEST(StreamRequestTest, AsManyReportsAsARequestMayHaveAndNotOneMore) {
  v1::StreamReportsRequest request;
  for (int i = 0; i < kMaxReportsPerRequest; ++i) request.add_reports();
  ExpectReadAsByProtobuf(request.SerializeAsString());
  request.add_reports();
  EXPECT_THAT(ParseStreamRequest(request.SerializeAsString()),
              testing::StatusIs(StatusCode::kInvalidArgument, HasSubstr("1 to 1000")));
}

}  // namespace
}  // namespace coppice::service
