#include "client/device/policy.h"

#include <memory>

#include "common/base/status.h"
#include "tests/client/device/sample_study.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using ::coppice::testing::SampleTerms;
using ::coppice::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

Budget Epsilon(double epsilon) { return *Budget::FromEpsilon(epsilon); }
Terms Asking(const Budget& epsilon) {
  Terms terms = SampleTerms();
  terms.epsilon = epsilon;
  return terms;
}

TEST(PolicyTest, AllowsUpToTheLimitOfOneReport) {
  const Policy policy{.max_epsilon = Epsilon(2), .max_total_epsilon = {}};
  EXPECT_OK(policy.Allows(Asking(Epsilon(2)), Epsilon(1000)));
  EXPECT_THAT(policy.Allows(Asking(*Budget::FromNanos(2'000'000'001)), {}),
              StatusIs(StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("asks for epsilon 2.000000001"), HasSubstr("at most 2"))));
}

TEST(PolicyTest, CountsWhatWasSpentBefore) {
  const Policy policy{.max_epsilon = Epsilon(2), .max_total_epsilon = Epsilon(3)};
  EXPECT_OK(policy.Allows(Asking(Epsilon(2)), {}));
  EXPECT_OK(policy.Allows(Asking(Epsilon(1)), Epsilon(2)));
  EXPECT_THAT(policy.Allows(Asking(Epsilon(2)), Epsilon(1.5)),
              StatusIs(StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("have spent 3.5"), HasSubstr("at most 3"))));
}

TEST(PolicyTest, FirstReportAloneCanExceedTheTotal) {
  const Policy policy{.max_epsilon = Epsilon(9), .max_total_epsilon = Epsilon(3)};
  EXPECT_THAT(policy.Allows(Asking(Epsilon(4)), {}),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("in all")));
}

TEST(PolicyTest, GivesMoreThroughARelayThanToTheCuratorItself) {
  const Policy policy{.max_epsilon = Epsilon(6), .max_epsilon_direct = Epsilon(2)};
  EXPECT_OK(policy.Allows(Asking(Epsilon(2)), {}));
  EXPECT_THAT(
      policy.Allows(Asking(Epsilon(3)), {}),
      StatusIs(StatusCode::kFailedPrecondition, HasSubstr("more than 2 only through a relay")));
  EXPECT_OK(policy.Allows(Asking(Epsilon(6)), {}, Way::kThroughRelay));
  EXPECT_THAT(policy.Allows(Asking(Epsilon(7)), {}, Way::kThroughRelay),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("at most 6")));
}

TEST(PolicyTest, OptingOutAndAFullQueueComeBeforeTheFetch) {
  Policy policy{.max_epsilon = Epsilon(9)};
  EXPECT_OK(policy.AllowsFetch(1'000'000));
  policy.max_waiting = 3;
  EXPECT_OK(policy.AllowsFetch(2));
  EXPECT_THAT(policy.AllowsFetch(3),
              StatusIs(StatusCode::kResourceExhausted, HasSubstr("at most 3 waiting")));
  policy.opted_out = true;
  EXPECT_THAT(policy.AllowsFetch(0),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("opted out")));
}

TEST(PolicyTest, TheDevicesOwnSchemaCounts) {
  Policy policy{.max_epsilon = Epsilon(9)};
  policy.own_schema = std::make_shared<const Schema>(testing::SampleSchema());
  EXPECT_OK(policy.Allows(SampleTerms(), {}));

  Terms terms = SampleTerms();
  terms.schema = std::make_shared<const Schema>(
      *Schema::Create({testing::Numeric("x", 0, 10)}, "y", {"hiv", "zzz"}));
  EXPECT_THAT(policy.Allows(terms, {}),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("its classes")));
}

}  // namespace
}  // namespace coppice
