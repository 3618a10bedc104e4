// A study by a public feature with a real daemon and the real command line: counts and models by
// its values.

#include <gmock/gmock.h>

#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "tests/integration/daemon.h"
#include "tests/support/temp_dir.h"

namespace coppice {
namespace {

using ::coppice::testing::BinaryPath;
using ::coppice::testing::Daemon;
using ::coppice::testing::Outcome;
using ::coppice::testing::RunProgram;
using ::coppice::testing::TempDir;
using ::testing::AllOf;
using ::testing::HasSubstr;

// Gold says yes from one half on, silver below. Two private rows in three are gold; one in ten has
// no plan, or an unknown one, unless `only_known`.
std::string RowsOf(int count, bool only_known) {
  std::string csv = "x,plan,late\n";
  for (int i = 0; i < count; ++i) {
    const int percent = i * 37 % 100;
    std::string plan = i % 3 == 2 ? "silver" : "gold";
    if (!only_known && i % 20 == 0) plan = "";
    if (!only_known && i % 20 == 10) plan = "bronze";
    const bool late = (percent >= 50) == (plan == "gold");
    csv += std::to_string(percent / 100.0) + "," + plan + "," + (late ? "yes" : "no") + "\n";
  }
  return csv;
}

class ByValueTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(daemon_.Start());
    std::ofstream(File("public.csv")) << RowsOf(60, /*only_known=*/true);
    std::ofstream(File("private.csv")) << RowsOf(3000, /*only_known=*/false);
    std::ofstream(File("schema.json"))
        << R"({"label": "late", "classes": ["no", "yes"], "features": [
        {"name": "x", "type": "numeric", "min": 0, "max": 1},
        {"name": "plan", "type": "categorical", "values": ["gold", "silver"], "public": true}]})";
  }

  std::string File(const std::string& name) const { return folder_.path() + "/" + name; }

  Outcome Create(const std::vector<std::string>& more) const {
    std::vector<std::string> command = {"study",     "create",
                                        "--study",   "s",
                                        "--public",  File("public.csv"),
                                        "--schema",  File("schema.json"),
                                        "--epsilon", "4"};
    command.insert(command.end(), more.begin(), more.end());
    return daemon_.Coppice(command);
  }

  void Collect(const std::vector<std::string>& create) const {
    const Outcome created = Create(create);
    ASSERT_EQ(created.exit_code, 0) << created.err;
    const Outcome collected = daemon_.Coppice(
        {"collect", "simulate", "--study", "s", "--data", File("private.csv"), "--show", "plan"});
    ASSERT_EQ(collected.exit_code, 0) << collected.err;
  }

  nlohmann::json Build(const std::string& model, const std::vector<std::string>& where) const {
    std::vector<std::string> command = {"model", "build", "--study", "s", "--model", model};
    command.insert(command.end(), where.begin(), where.end());
    return daemon_.CoppiceJson(command);
  }
  std::string ErrorOf(const std::vector<std::string>& where) const {
    std::vector<std::string> command = {"model", "build", "--study", "s"};
    command.insert(command.end(), where.begin(), where.end());
    const Outcome outcome = daemon_.Coppice(command);
    EXPECT_NE(outcome.exit_code, 0);
    return outcome.err;
  }

  // The label that the model predicts for each of `rows`.
  std::vector<std::string> Predict(const std::string& model, const std::string& rows) const {
    std::ofstream(File("rows.csv")) << "x,plan\n" << rows;
    const Outcome outcome = daemon_.Coppice(
        {"model", "predict", "--model", model, "--data", File("rows.csv"), "--json"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    std::vector<std::string> labels;
    std::istringstream lines(outcome.out);
    for (std::string line; std::getline(lines, line);) {
      labels.push_back(nlohmann::json::parse(line)["label"]);
    }
    return labels;
  }

  TempDir folder_;
  Daemon daemon_{folder_.path()};
};

TEST_F(ByValueTest, OneStudyGivesAModelForEachValueAndOneOfAllReports) {
  ASSERT_NO_FATAL_FAILURE(Collect({"--by", "plan"}));
  EXPECT_EQ(daemon_.CoppiceJson({"study", "show", "--study", "s"})["by"], "plan");
  const auto gold = Build("gold", {"--where", "plan=gold"});
  EXPECT_EQ(gold["estimator"], "pooled where plan = gold");
  EXPECT_EQ(gold["reports"], 1800);
  EXPECT_EQ(Build("silver", {"--where", "plan=silver"})["reports"], 900);
  EXPECT_EQ(Build("none", {"--where", "plan="})["reports"], 150);
  EXPECT_EQ(Build("other", {"--where-other", "plan"})["reports"], 150);
  EXPECT_EQ(Build("all", {})["reports"], 3000);
  using Labels = std::vector<std::string>;
  EXPECT_EQ(Predict("gold", "0.1,gold\n0.9,gold\n"), (Labels{"no", "yes"}));
  EXPECT_EQ(Predict("silver", "0.1,silver\n0.9,silver\n"), (Labels{"yes", "no"}));

  // A restart changes nothing, and the check finds nothing wrong with the store.
  EXPECT_EQ(daemon_.Stop(), 0);
  const Outcome checked =
      RunProgram({BinaryPath("coppiced"), "check", "--data-dir", daemon_.data_dir()});
  EXPECT_EQ(checked.exit_code, 0) << checked.out << checked.err;
  ASSERT_TRUE(daemon_.Start());
  EXPECT_EQ(Build("gold", {"--where", "plan=gold"})["reports"], 1800);
  EXPECT_EQ(Build("gold2", {"--where", "plan=gold"})["reports"], 1800);
  EXPECT_THAT(ErrorOf({"--model", "gold", "--where", "plan=silver"}),
              HasSubstr("pooled where plan = gold"));
}

TEST_F(ByValueTest, CountsAtTheTopOfATreeAreByValue) {
  ASSERT_NO_FATAL_FAILURE(
      Collect({"--by", "plan", "--mechanism", "direct", "--split-rule", "hybrid", "--trees", "1"}));
  const auto counts = daemon_.CoppiceJson({"study", "counts", "--study", "s", "--depth", "3"});
  std::map<std::vector<std::string>, nlohmann::json> by_conditions;
  for (const auto& node : counts["nodes"]) {
    by_conditions[node["conditions"].get<std::vector<std::string>>()] = node["rows"];
  }
  const std::string no_gold = "not (plan = gold)", no_silver = "not (plan = silver)";
  const std::map<std::vector<std::string>, double> expected = {
      {{}, 3000},
      {{"plan = gold"}, 1800},
      {{no_gold, "plan = silver"}, 900},
      {{no_gold, no_silver, "plan is missing"}, 150},
      {{no_gold, no_silver, "not (plan is missing)"}, 150}};
  for (const auto& [conditions, rows] : expected) {
    ASSERT_TRUE(by_conditions.contains(conditions)) << ::testing::PrintToString(conditions);
    EXPECT_EQ(by_conditions[conditions]["low"], rows);
    EXPECT_EQ(by_conditions[conditions]["high"], rows);
  }
}

TEST_F(ByValueTest, SaysWhatCannotBeHad) {
  EXPECT_THAT(Create({"--by", "x"}).err,
              AllOf(HasSubstr("partition.by_feature"), HasSubstr("there are plan")));
  ASSERT_NO_FATAL_FAILURE(Collect({"--by", "plan", "--min-reports", "500"}));
  EXPECT_THAT(ErrorOf({"--where", "plan="}),
              AllOf(HasSubstr("150 accepted reports where plan is missing"),
                    HasSubstr("no model below 500")));
  EXPECT_THAT(ErrorOf({"--where", "plan=tin"}), HasSubstr("there are gold, silver"));
  EXPECT_THAT(ErrorOf({"--where", "age=1"}), HasSubstr("there are plan"));
  EXPECT_THAT(ErrorOf({"--where", "plan"}), HasSubstr("FEATURE=VALUE"));
  EXPECT_THAT(ErrorOf({"--estimator", "smooth", "--where", "plan=gold"}),
              HasSubstr("public rows of every plan"));
  EXPECT_THAT(ErrorOf({"--where-other", ""}), HasSubstr("the name of a feature"));
  EXPECT_THAT(ErrorOf({"--estimator", "prune", "--where", "plan=gold"}),
              HasSubstr("pooled or smooth only"));
}

TEST_F(ByValueTest, AStudyByNoFeatureSaysHowToMakeOne) {
  ASSERT_NO_FATAL_FAILURE(Collect({}));
  EXPECT_THAT(ErrorOf({"--where", "plan=gold"}),
              AllOf(HasSubstr("does not tell its reports apart by plan"), HasSubstr("--by")));
}

}  // namespace
}  // namespace coppice
