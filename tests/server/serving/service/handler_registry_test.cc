#include "server/serving/calls/handler_registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "coppice/v1/study.pb.h"
#include "server/process/retry_after.h"
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
  // How the method's handler, which ends before it returns, leaves a call of the operator's.
  Status Run(const std::string& path, const AnyMessage& request, AnyMessage& response,
             const CancelCheck& cancel) const {
    Status status = InternalError("the handler did not end");
    std::get<UnaryHandler>(Find(path).handler)(
        Caller::Operator(), request, &response, cancel,
        [&](const Outcome& outcome) { status = std::get<Status>(outcome); });
    return status;
  }

  FakeStudies studies_;
  RateLimiter limiter_{{.rate = 1, .burst = 5}, [] { return absl::FromUnixSeconds(0); }};
  const ResourceGuard guard_{
      [](std::string_view, std::string_view) -> std::optional<owners::Resource> {
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
  EXPECT_THAT(Run("/coppice.v1.StudyService/ListStudies", request, response, CancelCheck()),
              StatusIs(StatusCode::kInvalidArgument, ::testing::HasSubstr("page_size")));
}

TEST_F(HandlerRegistryTest, LongWorkThatNobodyWaitsForIsNotBegun) {
  const v1::CreateStudyRequest request;  // would be refused as invalid
  v1::CreateStudyResponse response;
  EXPECT_THAT(Run("/coppice.v1.StudyService/CreateStudy", request, response,
                  CancelCheck([] { return UnavailableError("stopping"); })),
              StatusIs(StatusCode::kUnavailable, "stopping"));
}

TEST(RetryAfterTest, TheTimeToWaitGoesWithTheStatusInWholeMilliseconds) {
  EXPECT_EQ(WaitOf(OkStatus()), std::nullopt);
  EXPECT_EQ(WaitOf(UnavailableError("")), std::nullopt);
  const Status refused = AskToWait(ResourceExhaustedError("busy"), absl::Microseconds(1500));
  EXPECT_EQ(WaitOf(refused), absl::Milliseconds(2));
  EXPECT_EQ(refused.message(), "busy");
}

TEST(RetryAfterTest, OnlyLoadAsksToWait) {
  EXPECT_EQ(WaitOf(AskToWaitForLoad(ResourceExhaustedError(""))), absl::Seconds(1));
  EXPECT_EQ(WaitOf(AskToWaitForLoad(UnavailableError(""))), std::nullopt);
  EXPECT_EQ(WaitOf(AskToWaitForLoad(OkStatus())), std::nullopt);
}

}  // namespace
}  // namespace coppice::service
