#include "server/serving/calls/message_intake.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "server/process/retry_after.h"
#include "tests/support/status_matchers.h"

namespace coppice::service {
namespace {

using ::coppice::testing::StatusIs;
using ::testing::HasSubstr;

constexpr size_t kMebibyte = size_t{1} << 20;

TEST(MessageIntakeTest, RunsSmallMessagesHereAndLargeOnesOnItsLane) {
  std::promise<std::thread::id> large;  // outlives the lane's thread
  MessageIntake intake;
  std::thread::id small;
  ASSERT_OK(intake.Run(1000, "", [&] { small = std::this_thread::get_id(); }));
  EXPECT_EQ(small, std::this_thread::get_id());
  ASSERT_OK(intake.Run(kMebibyte, "", [&] { large.set_value(std::this_thread::get_id()); }));
  EXPECT_NE(large.get_future().get(), std::this_thread::get_id());
}

TEST(MessageIntakeTest, HoldsTheBytesOfAllMessagesAgainstOneLimit) {
  MessageIntake intake(4 * kMebibyte);
  {
    ASSERT_OK_AND_ASSIGN(const calls::HeldBytes first, intake.Admit(3 * kMebibyte));
    const Status second = intake.Admit(2 * kMebibyte).status();
    EXPECT_THAT(second, StatusIs(StatusCode::kResourceExhausted, HasSubstr("try again later")));
    EXPECT_TRUE(WaitOf(second).has_value());
    EXPECT_OK(intake.Admit(1000).status()) << "small ones never wait for large ones";
    EXPECT_EQ(intake.held_bytes(), 3 * kMebibyte);
  }
  EXPECT_EQ(intake.held_bytes(), 0u);
  EXPECT_OK(intake.Admit(4 * kMebibyte).status());
}

TEST(MessageIntakeTest, RefusesAMessageThatWouldNeverFit) {
  MessageIntake intake(4 * kMebibyte);
  const Status refused = intake.Admit(5 * kMebibyte).status();
  EXPECT_THAT(refused, StatusIs(StatusCode::kResourceExhausted, HasSubstr("fewer elements")));
  EXPECT_FALSE(WaitOf(refused).has_value()) << "the same message fits at no other time";
}

// Before it is parsed a message takes its bytes.
TEST(MessageIntakeTest, CountsAMessageWhileItWaitsForTheLane) {
  std::promise<void> begun, go_on;  // outlive the lane's thread
  MessageIntake intake(4 * kMebibyte);
  ASSERT_OK(intake.Run(3 * kMebibyte, "", [&] {
    begun.set_value();
    go_on.get_future().wait();
  }));
  begun.get_future().wait();
  EXPECT_FALSE(intake.Run(2 * kMebibyte, "", [] {}).ok());
  go_on.set_value();
}

}  // namespace
}  // namespace coppice::service
