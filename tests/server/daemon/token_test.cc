#include "common/base/status.h"
#include "common/base/text.h"
#include "server/daemon/commands/commands.h"
#include "server/daemon/config/flags.h"
#include "server/serving/access/policy_file.h"
#include "tests/support/status_matchers.h"

namespace coppice::daemon {
namespace {

using ::coppice::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kCreate[] = "/coppice.v1.StudyService/CreateStudy";

TEST(NewTokenTest, ThePolicyWithItsEntryAdmitsTheTokenUntilItExpires) {
  ASSERT_OK_AND_ASSIGN(const NewToken made,
                       MakeNewToken("ops \"1\"", {"admin"}, "2027-01-31T00:00:00Z"));
  ASSERT_OK_AND_ASSIGN(const access::AccessPolicy policy,
                       access::ParsePolicy(StrCat("{\"tokens\":[", made.entry, "]}")));
  const access::Credentials shown = {.authorization = "Bearer " + made.token};
  const absl::Time end = absl::FromUnixSeconds(1'801'353'600);
  EXPECT_OK(policy.Check(kCreate, shown, end - absl::Seconds(1)));
  EXPECT_FALSE(policy.Check(kCreate, shown, end).ok());
  EXPECT_EQ(policy.tokens()[0].name, "ops \"1\"");
}

TEST(NewTokenTest, TheEntryDoesNotHoldTheToken) {
  ASSERT_OK_AND_ASSIGN(const NewToken made, MakeNewToken("ops", {"admin", "device"}, ""));
  EXPECT_THAT(made.entry, Not(HasSubstr(made.token)));
  EXPECT_THAT(made.entry, Not(HasSubstr("expires")));
}

TEST(NewTokenTest, WhatThePolicyWouldRefuseIsNotMade) {
  EXPECT_THAT(MakeNewToken("", {"admin"}, ""),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("name")));
  EXPECT_THAT(MakeNewToken("ops", {"admin"}, "tomorrow"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("expires")));
}

TEST(TokenCommandTest, WrongUsageIsExitCodeTwo) {
  const char* unknown[] = {"token", "--name", "ops", "--role", "root"};
  const char* missing[] = {"token", "--name", "ops"};
  EXPECT_EQ(TokenCommand(std::size(unknown), unknown), kExitUsage);
  EXPECT_EQ(TokenCommand(std::size(missing), missing), kExitUsage);
}

}  // namespace
}  // namespace coppice::daemon
