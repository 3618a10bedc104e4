#include "server/serving/calls/handler_registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "coppice/v1/study.pb.h"
#include "server/serving/calls/retry_after.h"
#include "server/serving/service/handlers.h"
#include "tests/server/serving/service/fake_studies.h"
#include "tests/support/status_matchers.h"

namespace coppice::service {
namespace {

using ::coppice::testing::FakeStudies;
using ::coppice::testing::StatusIs;
using ::testing::Contains;

class HandlerRegistryTest : public ::testing::Test {
 protected:
  HandlerRegistryTest() { handlers_.Register(registry_); }

  const RegisteredMethod& Find(const std::string& path) const {
    for (const RegisteredMethod& method : registry_.methods()) {
      if (method.path == path) return method;
    }
    ADD_FAILURE() << path << " is not registered";
    return registry_.methods().front();
  }

  FakeStudies studies_;
  RateLimiter limiter_{{.rate = 1, .burst = 5}, [] { return absl::FromUnixSeconds(0); }};
  const ResourceGuard guard_{
      [](absl::string_view, absl::string_view) -> std::optional<owners::Resource> {
        return std::nullopt;
      }};
  StudyHandlers handlers_{studies_, limiter_};
  HandlerRegistry registry_{guard_};
};

TEST_F(HandlerRegistryTest, TheRequestTellsTheMethod) {
  std::vector<std::string> paths;
  for (const RegisteredMethod& method : registry_.methods()) paths.push_back(method.path);
  EXPECT_THAT(paths, Contains("/coppice.v1.StudyService/GetOffer"));
  EXPECT_THAT(paths, Contains("/coppice.v1.StudyService/ListStudies"));
  const RegisteredMethod& list = Find("/coppice.v1.StudyService/ListStudies");
  EXPECT_EQ(list.request->GetDescriptor()->full_name(), "coppice.v1.ListStudiesRequest");
  EXPECT_EQ(list.response->GetDescriptor()->full_name(), "coppice.v1.ListStudiesResponse");
}

TEST_F(HandlerRegistryTest, AHandlerRunsWithoutATransport) {
  v1::ListStudiesRequest request;
  request.set_page_size(1001);
  v1::ListStudiesResponse response;
  const auto& list = std::get<WholeHandler>(Find("/coppice.v1.StudyService/ListStudies").handler);
  EXPECT_THAT(list(Caller::Operator(), request, &response, CancelCheck()),
              StatusIs(absl::StatusCode::kInvalidArgument, ::testing::HasSubstr("page_size")));
}

TEST_F(HandlerRegistryTest, LongWorkThatNobodyWaitsForIsNotBegun) {
  const v1::CreateStudyRequest request;  // would be refused as invalid
  v1::CreateStudyResponse response;
  const auto& create = std::get<WholeHandler>(Find("/coppice.v1.StudyService/CreateStudy").handler);
  EXPECT_THAT(create(Caller::Operator(), request, &response,
                     CancelCheck([] { return absl::UnavailableError("stopping"); })),
              StatusIs(absl::StatusCode::kUnavailable, "stopping"));
}

TEST(RetryAfterTest, TheTimeToWaitGoesWithTheStatusInWholeMilliseconds) {
  EXPECT_EQ(WaitOf(absl::OkStatus()), std::nullopt);
  EXPECT_EQ(WaitOf(absl::UnavailableError("")), std::nullopt);
  const absl::Status refused =
      AskToWait(absl::ResourceExhaustedError("busy"), absl::Microseconds(1500));
  EXPECT_EQ(WaitOf(refused), absl::Milliseconds(2));
  EXPECT_EQ(refused.message(), "busy");
}

TEST(RetryAfterTest, OnlyLoadAsksToWait) {
  EXPECT_EQ(WaitOf(AskToWaitForLoad(absl::ResourceExhaustedError(""))), absl::Seconds(1));
  EXPECT_EQ(WaitOf(AskToWaitForLoad(absl::UnavailableError(""))), std::nullopt);
  EXPECT_EQ(WaitOf(AskToWaitForLoad(absl::OkStatus())), std::nullopt);
}

}  // namespace
}  // namespace coppice::service
