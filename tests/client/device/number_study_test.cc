// A device in a study of numbers: what it agrees to, and the law of what it sends.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>

#include "client/device/policy.h"
#include "client/device/privatizer.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "tests/support/schemas.h"
#include "tests/support/status_matchers.h"
#include "tests/support/walking_random.h"

namespace coppice {
namespace {

using ::coppice::testing::Law;
using ::coppice::testing::Numeric;
using ::coppice::testing::StatusIs;
using ::coppice::testing::WalkAllBranches;
using ::testing::HasSubstr;

constexpr double kEpsilon = 1;

std::shared_ptr<const Schema> WageSchema() {
  return std::make_shared<const Schema>(
      *Schema::CreateRegression({Numeric("age", 0, 100)}, "wage", {.min = 0, .max = 1000}));
}

Terms WageTerms() {
  return {.study = "s",
          .schema = WageSchema(),
          .trees = 1,
          .epsilon = *Budget::FromEpsilon(kEpsilon),
          .mechanism = MechanismKind::kDirect,
          .rounding = NumberRange{.low = -100, .high = 300}};
}

// age < 50 ? leaf 0 : leaf 1
TreesByIndex AgeTree() {
  TreesByIndex trees;
  trees.emplace(
      0,
      *Tree::Create({{.kind = SplitKind::kNumeric, .threshold = 50, .left = 1, .right = 2}, {}, {}},
                    *WageSchema()));
  return trees;
}

Law<std::string> ReportOf(const LabelledRow& row) {
  const Privatizer privatizer = *Privatizer::Create(WageTerms(), {}, AgeTree());
  return WalkAllBranches<std::string>(
      {.cut_off = 0}, [&](PrivateRandom& random) -> StatusOr<std::string> {
        COPPICE_ASSIGN_OR_RETURN(const PrivateReport report,
                                 privatizer.Privatize(row, Ticket(), random));
        return report.payload;
      });
}

TEST(NumberStudyTest, TermsNeedARangeForNumbersAndNoneForClasses) {
  EXPECT_OK(ValidateTerms(WageTerms()));
  Terms without = WageTerms();
  without.rounding.reset();
  EXPECT_THAT(ValidateTerms(without),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("rounding")));
  Terms classes = WageTerms();
  classes.schema = std::make_shared<const Schema>(
      *Schema::Create({Numeric("age", 0, 100)}, "sick", {"no", "yes"}));
  EXPECT_THAT(ValidateTerms(classes),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("is for numbers")));
  for (const NumberRange bad :
       {NumberRange{1, 1}, NumberRange{2, 1}, NumberRange{1000, 2000}, NumberRange{-5, 0},
        NumberRange{0, INFINITY}, NumberRange{-1e308, 1e308}, NumberRange{NAN, 1}}) {
    Terms outside = WageTerms();
    outside.rounding = bad;
    EXPECT_THAT(ValidateTerms(outside),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("rounding")))
        << bad.low << " " << bad.high;
  }
}

// Without a width a number would have no place in the range, and its device no answer.
TEST(NumberStudyTest, ARangeHasAWidthHoweverWideTheBoundsAre) {
  EXPECT_FALSE(CheckRounding({.low = -1e308, .high = 1e308}, {.min = -8e307, .max = 8e307}).ok());
  EXPECT_OK(CheckRounding({.low = -8e307, .high = 8e307}, {.min = -8e307, .max = 8e307}));
}

// Neighbours are any two rows: any ages and wages, and rows whose wage is not a number.
TEST(NumberStudyTest, ReportsOfAnyTwoRowsStayWithinEpsilon) {
  std::vector<Law<std::string>> laws;
  for (const double age : {20.0, 70.0, kMissingValue}) {
    for (const double wage : {-1e9, 0.0, 100.0, 299.0, 1e9, kMissingValue}) {
      laws.push_back(ReportOf({.row = {age}, .number = wage}));
      EXPECT_NEAR(laws.back().total(), 1, 1e-12);
    }
  }
  for (const Law<std::string>& a : laws) {
    for (const Law<std::string>& b : laws) {
      for (const auto& [payload, p] : a.probability) {
        EXPECT_LE(p, b.at(payload) * std::exp(kEpsilon) * (1 + 1e-9));
      }
    }
  }
}

// The cell is leaf * 2 + end: the upper end's estimate is the place of the number in the range.
TEST(NumberStudyTest, ReportsHaveTheNumberAsTheirMean) {
  const auto mechanism = *MakeMechanism(WageTerms(), 2);
  for (const auto& [wage, place] : {std::pair{-100.0, 0.0},
                                    {0.0, 0.25},
                                    {200.0, 0.75},
                                    {300.0, 1.0},
                                    {900.0, 1.0},
                                    {kMissingValue, 0.5}}) {
    double mean = 0;
    for (const auto& [payload, p] : ReportOf({.row = {70}, .number = wage}).probability) {
      std::vector<int64_t> sums(mechanism->sum_size());
      ASSERT_OK(mechanism->Add(payload, 0, absl::MakeSpan(sums)));
      mean += p * mechanism->Estimate(sums, 1).at(1, 1);
    }
    EXPECT_NEAR(mean, place, 1e-7) << wage;
  }
}

TEST(NumberStudyTest, WhatIsNoNumberIsAnsweredAtRandom) {
  const LabelledRow row = WageSchema()->EncodeTotally({{"age", "30"}, {"wage", "much"}});
  EXPECT_TRUE(IsMissing(row.number));
  EXPECT_EQ(ReportOf(row).probability, ReportOf({.row = {30}}).probability);
  EXPECT_EQ(WageSchema()->EncodeTotally({{"wage", "12.5"}}).number, 12.5);
  EXPECT_EQ(WageSchema()->EncodeTotally({{"wage", "5000"}}).number, 1000) << "clamped";
}

TEST(NumberStudyTest, ADeviceWithOtherBoundsOfItsOwnDeclines) {
  Policy policy{.max_epsilon = *Budget::FromEpsilon(kEpsilon), .own_schema = WageSchema()};
  EXPECT_OK(policy.Allows(WageTerms(), {}));
  policy.own_schema = std::make_shared<const Schema>(
      *Schema::CreateRegression({Numeric("age", 0, 100)}, "wage", {.min = 0, .max = 500}));
  EXPECT_FALSE(policy.Allows(WageTerms(), {}).ok());
}

}  // namespace
}  // namespace coppice
