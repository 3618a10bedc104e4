// What a message of reports seals, as the curator reads it.

#include "server/serving/reports/submit_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "coppice/v1/report.pb.h"
#include "tests/support/status_matchers.h"

namespace coppice::service {
namespace {

using ::coppice::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::Not;

v1::SealedReports ExampleContent() {
  v1::SealedReports content;
  content.set_study("studies/s");
  content.set_fingerprint(std::string(32, 'f'));
  for (const char* payload : {"", "p", "a payload"}) {
    v1::Report& report = *content.add_reports();
    report.set_ticket(std::string(32, 't'));
    report.set_payload(payload);
    report.set_public_values("shown");
  }
  return content;
}

TEST(SubmitRequestTest, ReadsStudyFingerprintAndReports) {
  const v1::SealedReports content = ExampleContent();
  ASSERT_OK_AND_ASSIGN(const SubmitRequest request, ReadSubmitRequest(content.SerializeAsString()));
  EXPECT_EQ(request.study, "s");
  EXPECT_EQ(request.fingerprint, content.fingerprint());
  ASSERT_EQ(request.reports.size(), 3u);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(request.reports.ticket(static_cast<size_t>(i)), content.reports(i).ticket());
    EXPECT_EQ(request.reports.payload(static_cast<size_t>(i)), content.reports(i).payload());
    EXPECT_EQ(request.reports.public_values(static_cast<size_t>(i)), "shown");
  }
}

TEST(SubmitRequestTest, NamesTheFieldThatCannotBeJudged) {
  v1::SealedReports content = ExampleContent();
  content.set_study("s");
  EXPECT_THAT(ReadSubmitRequest(content.SerializeAsString()),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("study")));
  content = ExampleContent();
  content.set_fingerprint("short");
  EXPECT_THAT(ReadSubmitRequest(content.SerializeAsString()),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("fingerprint: must have 32")));
  content = ExampleContent();
  content.clear_reports();
  EXPECT_THAT(ReadSubmitRequest(content.SerializeAsString()),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("reports: must be 1 to 1000")));
  for (int i = 0; i < 1001; ++i) content.add_reports();
  EXPECT_THAT(ReadSubmitRequest(content.SerializeAsString()),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("reports")));
  EXPECT_THAT(ReadSubmitRequest("\xff"), StatusIs(StatusCode::kInvalidArgument, HasSubstr("")));
}

TEST(ErrorInClearTest, KeepsTheCodeAndNoneOfTheText) {
  EXPECT_OK(ErrorInClear(OkStatus()));
  for (int code = 1; code <= 16; ++code) {
    const Status status = ErrorInClear(Status(static_cast<StatusCode>(code), "studies/secret"));
    EXPECT_EQ(status.code(), static_cast<StatusCode>(code));
    EXPECT_THAT(status.message(), Not(HasSubstr("secret")));
    EXPECT_THAT(status.message(), Not(::testing::IsEmpty()));
  }
}

}  // namespace
}  // namespace coppice::service
