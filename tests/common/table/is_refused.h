// Matches rows and schemas that are refused, with what the message must say.

#ifndef COPPICE_TESTS_COMMON_TABLE_IS_REFUSED_H_
#define COPPICE_TESTS_COMMON_TABLE_IS_REFUSED_H_

#include "common/base/status.h"
#include "tests/support/status_matchers.h"

namespace coppice::testing {

MATCHER_P(IsRefused, message, "") {
  return ::testing::ExplainMatchResult(
      StatusIs(StatusCode::kInvalidArgument, ::testing::HasSubstr(message)), arg, result_listener);
}

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_COMMON_TABLE_IS_REFUSED_H_
