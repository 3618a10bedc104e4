// coppice-lab plan for a relay's batches, as a script sees it.

#include <string>

#include <nlohmann/json.hpp>

#include "common/base/text.h"
#include "common/ldp/amplification.h"
#include "common/privacy/delta.h"
#include "tests/support/run_line.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_file.h"

namespace coppice::lab {
namespace {

using ::coppice::testing::LineOutcome;
using ::coppice::testing::TempFile;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// With stderr in its output.
LineOutcome RunPlanWith(const std::string& arguments) {
  return testing::RunLine(StrCat("coppice-lab plan ", arguments, " 2>&1"));
}

class PlanBatchesTest : public ::testing::Test {
 protected:
  LineOutcome Plan(const std::string& arguments) const { return PlanWith(schema_, arguments); }
  LineOutcome PlanWith(const TempFile& schema, const std::string& arguments) const {
    return RunPlanWith(
        StrCat("--public none --schema ", schema.path(), " --devices 1000 ", arguments));
  }
  static std::string SchemaText(const char* more) {
    return StrCat(R"({"features":[{"name":"a","type":"numeric","min":0,"max":1)", more,
                  R"(},{"name":"b","type":"numeric","min":0,"max":1}],)",
                  R"("label":"y","classes":["no","yes"]})");
  }

  const TempFile schema_{".json", SchemaText("")};
};

TEST_F(PlanBatchesTest, EachStudyHasTheEpsilonOfItsBatch) {
  const LineOutcome run =
      Plan("--epsilon 2,4 --mechanism signed_hadamard --min-batch 100000 --delta 1e-8 --json");
  ASSERT_EQ(run.exit_code, 0) << run.out;
  const json plan = json::parse(run.out, nullptr, false);
  for (const json& study : plan["relay"]["studies"]) {
    const Budget local = *Budget::FromEpsilon(study["epsilon"]);
    const Budget batch =
        *EpsilonBound({90'000, local, MaxTwoSidedMass(local)}, *ParseDelta("1e-8"));
    EXPECT_EQ(study["batch_epsilon"], batch.epsilon());
    EXPECT_EQ(study["mechanism"], "signed_hadamard");
  }
  EXPECT_EQ(plan["relay"]["studies"].size(), 2);
  EXPECT_EQ(plan["relay"]["min_batch"], 100'000);
  EXPECT_EQ(plan["relay"]["honest_reports"], 90'000);
  EXPECT_EQ(plan["relay"]["delta"], 1e-8);
  EXPECT_FALSE(plan["relay"].contains("largest"));
}

TEST_F(PlanBatchesTest, ACentralEpsilonHasALargestLocalOne) {
  const std::string arguments =
      "--epsilon 1 --mechanism signed_hadamard --min-batch 100000 --delta 1e-8 --central-epsilon 1";
  const json plan = json::parse(Plan(arguments + " --json").out, nullptr, false);
  ASSERT_EQ(plan["relay"]["largest"].size(), 1);
  const json& largest = plan["relay"]["largest"][0];
  EXPECT_EQ(largest["mechanism"], "signed_hadamard");
  EXPECT_NEAR(largest["epsilon"], 7.28, 0.005);
  EXPECT_LE(largest["batch_epsilon"], 1);
  EXPECT_GT(largest["batch_epsilon"], 0.9999);
  EXPECT_THAT(Plan(arguments).out,
              AllOf(HasSubstr("at least 100000 reports, 90000 of them"),
                    HasSubstr("7.281022  sign"), HasSubstr("If the two collude")));
}

TEST_F(PlanBatchesTest, EveryMechanismThatServesHasOne) {
  const json plan = json::parse(
      Plan("--epsilon 1 --mechanism all --min-batch 1000 --central-epsilon 0.5 --json").out,
      nullptr, false);
  EXPECT_GT(plan["relay"]["largest"].size(), 4);
  for (const json& largest : plan["relay"]["largest"]) {
    EXPECT_GT(largest["epsilon"], 0.5) << largest;
    EXPECT_LT(largest["epsilon"], 4) << largest;
    EXPECT_LE(largest["batch_epsilon"], 0.5) << largest;
  }
}

TEST_F(PlanBatchesTest, WithoutARelayNothingIsSaidOfIt) {
  EXPECT_THAT(Plan("--epsilon 1").out, Not(HasSubstr("relay")));
  const json plan = json::parse(Plan("--epsilon 1 --json").out, nullptr, false);
  EXPECT_FALSE(plan.contains("relay"));
}

TEST_F(PlanBatchesTest, BadInputIsNamed) {
  const auto is_refused = [&](const std::string& arguments, const char* why) {
    const LineOutcome run = Plan(arguments);
    EXPECT_EQ(run.exit_code, 2) << arguments;
    EXPECT_THAT(run.out, HasSubstr(why)) << arguments;
  };
  is_refused("--delta 1e-8", "give --min-batch too");
  is_refused("--central-epsilon 1", "give --min-batch too");
  is_refused("--min-batch 1", "--min-batch");
  is_refused("--min-batch 8589934593", "--min-batch");
  is_refused("--min-batch 1000 --delta 1e-3", "--delta: must be above 0 and at most");
  is_refused("--min-batch 1000 --delta 0", "--delta: must be above 0");
  is_refused("--min-batch 1000 --central-epsilon 21", "must be from 0.01 to 20");
}

// The curator sees the public values, and with them whose report it may be.
TEST_F(PlanBatchesTest, NoBatchHidesWhoShowsPublicFeatures) {
  const TempFile schema(".json", SchemaText(R"(,"public":true)"));
  ASSERT_EQ(PlanWith(schema, "--epsilon 1").exit_code, 0);
  const LineOutcome run = PlanWith(schema, "--epsilon 1 --min-batch 1000");
  EXPECT_NE(run.exit_code, 0);
  EXPECT_THAT(run.out, HasSubstr("no batch hides whose they are"));
}

}  // namespace
}  // namespace coppice::lab
