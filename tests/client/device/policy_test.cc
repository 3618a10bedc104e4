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
  EXPECT_OK(policy.Allows(Asking(Epsilon(6)), {}, DeliveryRoute::kThroughRelay));
  EXPECT_THAT(policy.Allows(Asking(Epsilon(7)), {}, DeliveryRoute::kThroughRelay),
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

// What the owner had in mind: a postcode of one digit may be sent in the clear.
Policy AllowingAPostcode() {
  Policy policy{.max_epsilon = Epsilon(9)};
  policy.allowed_in_clear = {"postcode"};
  return policy;
}

Schema PostcodeSchema(bool is_public) {
  Feature postcode = testing::Categorical("postcode", {"1", "2"});
  postcode.is_public = is_public;
  return *Schema::Create({postcode}, "y", {"no", "yes"});
}

Terms JoinedBy(const std::string& id) {
  Terms terms = SampleTerms();
  terms.schema = std::make_shared<const Schema>(
      Schema::Create({testing::Numeric("z", 0, 1)}, "y", {"no", "yes"})->WithAllPublic());
  terms.joined_by = id;
  return terms;
}

TEST(PolicyTest, AllowsThePublicFeaturesThatItLists) {
  Terms terms = SampleTerms();
  terms.schema = std::make_shared<const Schema>(PostcodeSchema(/*is_public=*/true));
  EXPECT_OK(AllowingAPostcode().Allows(terms, {}));
  Policy policy{.max_epsilon = Epsilon(9)};
  EXPECT_THAT(policy.Allows(terms, {}),
              StatusIs(StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("feature \"postcode\""), HasSubstr("--allow-in-clear"))));
  policy.join_ids = {"postcode"};  // an id is no feature either
  EXPECT_EQ(policy.Allows(terms, {}).code(), StatusCode::kFailedPrecondition);
}

// As an id the column's text would be sent as it is, "10115 Berlin, Invalidenstr. 5".
TEST(PolicyTest, AFeatureThatMayBeSentInTheClearIsNoId) {
  Policy policy = AllowingAPostcode();
  EXPECT_THAT(policy.Allows(JoinedBy("postcode"), {}),
              StatusIs(StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("the id \"postcode\""), HasSubstr("--allow-join-id"))));
  policy.join_ids = {"customer"};
  EXPECT_OK(policy.Allows(JoinedBy("customer"), {}));
  EXPECT_EQ(policy.Allows(JoinedBy("postcode"), {}).code(), StatusCode::kFailedPrecondition);
}

TEST(PolicyTest, ANameIsInOneOfTheTwoListsAlone) {
  Policy policy = AllowingAPostcode();
  policy.join_ids = {"customer"};
  EXPECT_OK(policy.CheckLists());
  policy.join_ids.push_back("postcode");
  EXPECT_THAT(policy.CheckLists(),
              StatusIs(StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("\"postcode\""), HasSubstr("leave it out of one"))));
}

TEST(PolicyTest, AColumnOfTheDevicesOwnSchemaIsNoIdWhateverIsListed) {
  Policy policy{.max_epsilon = Epsilon(9)};
  policy.own_schema = std::make_shared<const Schema>(PostcodeSchema(/*is_public=*/false));
  policy.join_ids = {"postcode", "y", "customer"};
  EXPECT_OK(policy.Allows(JoinedBy("customer"), {}));
  for (const char* column : {"postcode", "y"}) {
    EXPECT_THAT(policy.Allows(JoinedBy(column), {}),
                StatusIs(StatusCode::kFailedPrecondition, HasSubstr("own schema")))
        << column;
  }
}

}  // namespace
}  // namespace coppice
