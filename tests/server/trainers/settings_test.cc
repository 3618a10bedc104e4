#include "server/trainers/core/settings.h"

#include "common/base/status.h"
#include "tests/support/status_matchers.h"

namespace coppice::trainers {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::StatusIs;

std::vector<Parameter> Three() {
  return {IntegerParameter("depth", 0, 16, "5", "levels"),
          RealParameter("share", 0.01, 0.99, "0.5", "of epsilon"),
          ChoiceParameter("rule", {"one", "other"}, "one", "which")};
}

Status Check(const std::string& name, const std::string& value) {
  return CheckedSettings::Create(Three(), {{name, value}}).status();
}

TEST(SettingsTest, DefaultsHoldWhereNothingIsGiven) {
  ASSERT_OK_AND_ASSIGN(const CheckedSettings settings, CheckedSettings::Create(Three(), {}));
  EXPECT_EQ(settings.Integer("depth"), 5);
  EXPECT_EQ(settings.Real("share"), 0.5);
  EXPECT_EQ(settings.Choice("rule"), "one");
}

TEST(SettingsTest, WhatIsGivenHolds) {
  ASSERT_OK_AND_ASSIGN(
      const CheckedSettings settings,
      CheckedSettings::Create(Three(), {{"depth", "16"}, {"share", "0.01"}, {"rule", "other"}}));
  EXPECT_EQ(settings.Integer("depth"), 16);
  EXPECT_EQ(settings.Real("share"), 0.01);
  EXPECT_EQ(settings.Choice("rule"), "other");
}

TEST(SettingsTest, NumbersMustBeOfTheirTypeAndInRange) {
  for (const char* depth : {"0", "16", "7"}) EXPECT_OK(Check("depth", depth)) << depth;
  for (const char* depth : {"-1", "17", "2.0", "1e1", "", "x", "nan", "99999999999999999999"}) {
    EXPECT_THAT(Check("depth", depth), StatusIs(StatusCode::kInvalidArgument,
                                                HasSubstr("depth: must be a whole number from 0")))
        << depth;
  }
  for (const char* share : {"0.01", "0.99", "5e-1"}) EXPECT_OK(Check("share", share)) << share;
  for (const char* share : {"0.0099", "1", "-0.5", "nan", "inf", "", "half"}) {
    EXPECT_THAT(Check("share", share),
                StatusIs(StatusCode::kInvalidArgument,
                         HasSubstr("share: must be a number from 0.01 to 0.99")))
        << share;
  }
}

TEST(SettingsTest, ChoicesAreThoseStated) {
  for (const char* rule : {"", "One", "one ", "third"}) {
    EXPECT_THAT(Check("rule", rule), StatusIs(StatusCode::kInvalidArgument,
                                              HasSubstr("rule: must be one of one, other")));
  }
}

TEST(SettingsTest, UnknownNamesAreRefusedWithThoseThatThereAre) {
  EXPECT_THAT(Check("deph", "3"),
              StatusIs(StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("\"deph\""), HasSubstr("depth, share, rule"))));
}

TEST(SettingsTest, WhereThereAreNoParametersNoneAreListed) {
  EXPECT_THAT(CheckedSettings::Create({}, {{"depth", "3"}}),
              StatusIs(StatusCode::kInvalidArgument,
                       "there is no parameter \"depth\"; this algorithm has none"));
}

TEST(SettingsTest, RangesOfWholeNumbersAreWrittenOut) {
  const auto refused = CheckedSettings::Create(
      {IntegerParameter("rows", 0, 1'000'000, "1", "how many")}, {{"rows", "1000001"}});
  EXPECT_THAT(refused, StatusIs(StatusCode::kInvalidArgument, HasSubstr("to 1000000")));
}

TEST(SettingsTest, AParameterWithoutADefaultHasNoValueUntilItIsGiven) {
  const std::vector<Parameter> parameters = {IntegerParameter("depth", 0, 16, "", "levels")};
  ASSERT_OK_AND_ASSIGN(const CheckedSettings unset, CheckedSettings::Create(parameters, {}));
  EXPECT_TRUE(unset.HasParameter("depth"));
  EXPECT_FALSE(unset.HasParameter("rule"));
  EXPECT_FALSE(unset.Has("depth"));
  ASSERT_OK_AND_ASSIGN(const CheckedSettings set,
                       CheckedSettings::Create(parameters, {{"depth", "0"}}));
  EXPECT_TRUE(set.Has("depth"));
  EXPECT_EQ(set.Integer("depth"), 0);
}

}  // namespace
}  // namespace coppice::trainers
