// coppice-lab amplify as a script sees it.

#include <string>

#include <nlohmann/json.hpp>

#include "common/ldp/amplification.h"
#include "common/privacy/delta.h"
#include "tests/support/run_line.h"
#include "tests/support/status_matchers.h"

namespace coppice::lab {
namespace {

using ::coppice::testing::LineOutcome;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

LineOutcome Amplify(const std::string& arguments) {
  return testing::RunLine("coppice-lab amplify " + arguments + " 2>&1");
}

TEST(AmplifyCommandTest, PrintsTheCentralEpsilonOfHonestReports) {
  const LineOutcome run =
      Amplify("--local-epsilon 2,4 --reports 100000 --delta 1e-6 --dishonest 0.1");
  EXPECT_EQ(run.exit_code, 0);
  const Budget local = *Budget::Parse("4");
  const Budget central =
      *EpsilonBound({90'000, local, MaxTwoSidedMass(local)}, *ParseDelta("1e-6"));
  EXPECT_THAT(run.out, AllOf(HasSubstr("10 % of the reports"), HasSubstr("90000"),
                             HasSubstr(central.ToString()), HasSubstr("Neighbours: any value")));
}

TEST(AmplifyCommandTest, JsonHasARowForEachPair) {
  const LineOutcome run =
      Amplify("--local-epsilon 1,2 --reports 1000,100000000 --dishonest 0 --json");
  ASSERT_EQ(run.exit_code, 0) << run.out;
  const json report = json::parse(run.out, nullptr, false);
  ASSERT_EQ(report["rows"].size(), 4);
  EXPECT_EQ(report["rows"][0]["honest_reports"], 1000);
  EXPECT_EQ(report["rows"][0]["delta"], 1e-8);
  EXPECT_EQ(report["rows"][3]["delta"], 1e-9) << "a tenth of one in the reports";
  EXPECT_LT(report["rows"][3]["epsilon"], report["rows"][1]["epsilon"]);
}

TEST(AmplifyCommandTest, ReportsThatShowSomethingAreNotAmplified) {
  const LineOutcome run = Amplify(
      "--local-epsilon 2 --reports 10000 --mechanism window_response --leaves 1 --classes 2");
  EXPECT_NE(run.exit_code, 0);
  EXPECT_THAT(run.out, HasSubstr("which shuffling does not hide"));
}

TEST(AmplifyCommandTest, AMechanismOfManyCellsHasLessThanAny) {
  const json any =
      json::parse(Amplify("--local-epsilon 2 --reports 10000 --json").out, nullptr, false);
  const json subset = json::parse(Amplify("--local-epsilon 2 --reports 10000 --json --mechanism "
                                          "subset_selection --leaves 32 --classes 2")
                                      .out,
                                  nullptr, false);
  EXPECT_LT(subset["rows"][0]["epsilon"], any["rows"][0]["epsilon"]);
}

TEST(AmplifyCommandTest, TheOtherDirectionComesBack) {
  const json largest =
      json::parse(Amplify("--epsilon 1 --delta 1e-8 --reports 100000 --json").out, nullptr, false);
  const std::string local = largest["rows"][0]["epsilon0"].dump();
  EXPECT_GT(largest["rows"][0]["epsilon0"], 5);
  const json back = json::parse(
      Amplify("--delta 1e-8 --reports 100000 --json --local-epsilon " + local).out, nullptr, false);
  EXPECT_LE(back["rows"][0]["epsilon"], 1);
  EXPECT_GT(back["rows"][0]["epsilon"], 0.9999);
}

// A bound of 4.499791925 is not promised, as in certificates.
TEST(AmplifyCommandTest, WhatHardlyGainsIsTheLocalEpsilon) {
  const json rows =
      json::parse(Amplify("--local-epsilon 4,4.5 --reports 1000 --dishonest 0.1 --json").out,
                  nullptr, false)["rows"];
  EXPECT_LT(rows[0]["epsilon"], 3.9);
  EXPECT_EQ(rows[1]["epsilon"], 4.5);
  const json largest =
      json::parse(Amplify("--epsilon 4.49 --reports 1000 --json").out, nullptr, false);
  EXPECT_EQ(largest["epsilon0"], 4.49);
}

// Scripts rely on this: a single answer is an object under its name.
TEST(AmplifyCommandTest, OneAnswerIsAnObject) {
  const json central = json::parse(
      Amplify("--reports 100000 --local-epsilon 4 --delta 1e-6 --mechanism signed_hadamard --json")
          .out,
      nullptr, false);
  EXPECT_EQ(central["epsilon"],
            EpsilonBound({100'000, *Budget::Parse("4"), MaxTwoSidedMass(*Budget::Parse("4"))},
                         *ParseDelta("1e-6"))
                ->epsilon());
  const json local = json::parse(
      Amplify("--reports 100000 --epsilon 1 --delta 1e-6 --mechanism direct --json").out, nullptr,
      false);
  EXPECT_NEAR(local["epsilon0"], 7.76, 0.01) << "the generic mass is the largest of all trees";
}

TEST(AmplifyCommandTest, BadInputIsNamed) {
  const auto is_refused = [](const std::string& arguments, const char* why) {
    const LineOutcome run = Amplify(arguments);
    EXPECT_NE(run.exit_code, 0) << arguments;
    EXPECT_THAT(run.out, HasSubstr(why)) << arguments;
  };
  is_refused("--reports 1000", "--local-epsilon");
  is_refused("--local-epsilon 1", "--reports");
  is_refused("--local-epsilon 1 --epsilon 1 --reports 10", "--epsilon");
  is_refused("--local-epsilon 21 --reports 1000", "must be from 0.01 to 20");
  is_refused("--local-epsilon 1 --reports 8589934593", "--reports");
  is_refused("--local-epsilon 1 --reports 1000 --delta 1e-3",
             "--delta: must be above 0 and at most");
  is_refused("--local-epsilon 1 --reports 1000 --delta 0", "--delta: must be above 0");
  is_refused("--local-epsilon 1 --reports 1 --dishonest 0.5",
             "--dishonest: of 1 reports leaves no");
  is_refused("--local-epsilon 1 --reports 9 --leaves 4 --classes 2",
             "--leaves and --classes need --mechanism");
  is_refused("--local-epsilon 1 --reports 9 --mechanism signed_hadamard --leaves 4 --classes 3",
             "two classes");
}

}  // namespace
}  // namespace coppice::lab
