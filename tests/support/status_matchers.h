// gMock matchers for Status and StatusOr: prefer the specific expected error.

#ifndef COPPICE_TESTS_SUPPORT_STATUS_MATCHERS_H_
#define COPPICE_TESTS_SUPPORT_STATUS_MATCHERS_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <utility>

#include "common/base/status.h"

namespace coppice::testing {

inline const Status& StatusOf(const Status& status) { return status; }
template <typename T>
const Status& StatusOf(const StatusOr<T>& statusor) {
  return statusor.status();
}

MATCHER(IsOk, "is OK") {
  *result_listener << StatusOf(arg).ToString();
  return StatusOf(arg).ok();
}

// StatusIs(code, HasSubstr("what to change")) matches the code and the message.
MATCHER_P2(StatusIs, code, message, "") {
  const Status& status = StatusOf(arg);
  *result_listener << status.ToString();
  return status.code() == code &&
         ::testing::ExplainMatchResult(message, std::string(status.message()), result_listener);
}

#define COPPICE_TEST_CONCAT_INNER(a, b) a##b
#define COPPICE_TEST_CONCAT(a, b) COPPICE_TEST_CONCAT_INNER(a, b)

// Assigns the value of a StatusOr, or fails the test with its status.
#define ASSERT_OK_AND_ASSIGN(lhs, expression) \
  ASSERT_OK_AND_ASSIGN_IMPL(COPPICE_TEST_CONCAT(statusor_, __LINE__), lhs, expression)
#define ASSERT_OK_AND_ASSIGN_IMPL(statusor, lhs, expression)  \
  auto statusor = (expression);                               \
  ASSERT_TRUE(statusor.ok()) << statusor.status().ToString(); \
  lhs = *std::move(statusor)

#define EXPECT_OK(expression) EXPECT_THAT((expression), ::coppice::testing::IsOk())
#define ASSERT_OK(expression) ASSERT_THAT((expression), ::coppice::testing::IsOk())

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_SUPPORT_STATUS_MATCHERS_H_
