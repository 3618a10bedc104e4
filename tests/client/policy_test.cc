#include "client/policy.h"

#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using ::coppice::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

Budget Epsilon(double epsilon) { return *Budget::FromEpsilon(epsilon); }

TEST(PolicyTest, AllowsUpToTheLimitOfOneReport) {
  const Policy policy{.max_epsilon = Epsilon(2), .max_total_epsilon = {}};
  EXPECT_OK(policy.Allows(Epsilon(2), Epsilon(1000)));
  EXPECT_THAT(policy.Allows(*Budget::FromNanos(2'000'000'001), {}),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("asks for epsilon 2.000000001"), HasSubstr("at most 2"))));
}

TEST(PolicyTest, CountsWhatWasSpentBefore) {
  const Policy policy{.max_epsilon = Epsilon(2), .max_total_epsilon = Epsilon(3)};
  EXPECT_OK(policy.Allows(Epsilon(2), {}));
  EXPECT_OK(policy.Allows(Epsilon(1), Epsilon(2)));
  EXPECT_THAT(policy.Allows(Epsilon(2), Epsilon(1.5)),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("have spent 3.5"), HasSubstr("at most 3"))));
}

TEST(PolicyTest, FirstReportAloneCanExceedTheTotal) {
  const Policy policy{.max_epsilon = Epsilon(9), .max_total_epsilon = Epsilon(3)};
  EXPECT_THAT(policy.Allows(Epsilon(4), {}),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("in all")));
}

}  // namespace
}  // namespace coppice
