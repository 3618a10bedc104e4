// The method that the recipe's test adds, from the terminal's command to the handler.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>

#include "common/base/cancel_check.h"
#include "coppice/v1/study.pb.h"
#include "server/serving/access/method_table.h"
#include "server/serving/calls/handler_registry.h"
#include "server/serving/service/handlers.h"
#include "tests/client/cli/run_coppice.h"
#include "tests/server/serving/service/fake_studies.h"

namespace coppice::service {
namespace {

constexpr char kPath[] = "/coppice.v1.StudyService/CountStudies";

TEST(ToyMethodTest, EveryTransportFindsItsHandler) {
  testing::FakeStudies studies;
  RateLimiter limiter({.rate = 1, .burst = 5}, [] { return absl::FromUnixSeconds(0); });
  const ResourceGuard guard(
      [](std::string_view, std::string_view) -> std::optional<owners::Resource> {
        return std::nullopt;
      });
  StudyHandlers handlers(studies, limiter);
  HandlerRegistry registry(guard);
  handlers.Register(registry);

  v1::ListStudiesResponse listed;
  ASSERT_TRUE(handlers.ListStudies(Caller::Operator(), {}, &listed).ok());
  bool is_found = false;
  for (const RegisteredMethod& method : registry.methods()) {
    if (method.path != kPath) continue;
    is_found = true;
    v1::CountStudiesResponse response;
    std::get<UnaryHandler>(method.handler)(
        Caller::Operator(), v1::CountStudiesRequest(), &response, CancelCheck(),
        [](const Outcome& outcome) { EXPECT_TRUE(std::get<Status>(outcome).ok()); });
    EXPECT_EQ(response.studies(), static_cast<uint64_t>(listed.studies_size()));
  }
  EXPECT_TRUE(is_found);
}

TEST(ToyMethodTest, ItsEntrySaysWhoMayCallIt) {
  const access::Method* const method = access::FindMethod(kPath);
  ASSERT_NE(method, nullptr);
  EXPECT_TRUE(method->roles.Has(access::Role::kAnalyst));
  EXPECT_FALSE(method->roles.Has(access::Role::kDevice));
}

TEST(ToyMethodTest, TerminalHasItsCommand) {
  const testing::Outcome help = testing::RunCoppice({"study", "count", "--help"});
  EXPECT_EQ(help.code, 0);
  EXPECT_THAT(help.out, ::testing::HasSubstr("Count the studies"));
}

}  // namespace
}  // namespace coppice::service
