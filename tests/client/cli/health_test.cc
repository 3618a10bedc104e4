#include "client/cli/health.h"

#include "tests/support/status_matchers.h"

namespace coppice::cli {
namespace {

using ::coppice::testing::StatusIs;

TEST(HealthTest, TheRequestIsTheOneOfTheProtocol) {
  EXPECT_EQ(EncodeHealthRequest(""), "");
  EXPECT_EQ(EncodeHealthRequest("ready"), "\x0a\x05ready");
}

TEST(HealthTest, OnlyServingIsServing) {
  EXPECT_EQ(*ParseHealthResponse("\x08\x01"), HealthStatus::kServing);
  EXPECT_EQ(*ParseHealthResponse("\x08\x02"), HealthStatus::kNotServing);
  EXPECT_EQ(*ParseHealthResponse("\x08\x03"), HealthStatus::kUnknown);
  EXPECT_EQ(*ParseHealthResponse(""), HealthStatus::kUnknown);
  for (const char* odd : {"\x08", "\x08\x01\x01", "\x0a\x01", "SERVING"}) {
    EXPECT_THAT(ParseHealthResponse(odd), StatusIs(absl::StatusCode::kDataLoss, ::testing::_))
        << odd;
  }
}

}  // namespace
}  // namespace coppice::cli
