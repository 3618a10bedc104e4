// The program as a script sees it: exit codes, the JSON, and the same splits as coppice-lab local.

#include <set>
#include <sstream>
#include <string>

#include <nlohmann/json.hpp>

#include "tests/support/run_line.h"
#include "tests/support/status_matchers.h"

namespace coppice::research {
namespace {

using ::coppice::testing::LineOutcome;
using ::coppice::testing::RunLine;
using nlohmann::json;
using ::testing::HasSubstr;

json RunJson(const std::string& line) {
  return json::parse(RunLine(line + " --json").out, nullptr, false);
}

constexpr char kSyntheticRows[] =
    "--synthetic private=300,public=60,test=100 --repeats 3 --threads 1 ";

TEST(ResearchCommandTest, EveryMethodSaysWhatItProtectsAndThatItIsNoRelease) {
  const json methods = RunJson("coppice-research methods");
  ASSERT_TRUE(methods.is_object());
  for (const auto& [name, info] : methods.items()) {
    const json report =
        RunJson("coppice-research run --epsilon 2 --method " + name + " " + kSyntheticRows);
    ASSERT_TRUE(report.is_object()) << name;
    EXPECT_EQ(report["method"], name);
    EXPECT_EQ(report["accuracy"]["n"], 3) << name;
    EXPECT_EQ(report["guarantee"], info["guarantee"]) << name;
    EXPECT_EQ(report["sampler"], info["sampler"]) << name;
    EXPECT_THAT(report["release"].get<std::string>(), HasSubstr("no release")) << name;
    EXPECT_EQ(report.value("reason", ""), info["reason"]) << name;
    const bool is_private = info["protects"] != "nothing";
    EXPECT_EQ(report["epsilon"], is_private ? json(2.0) : json("none")) << name;
  }
}

TEST(ResearchCommandTest, WhatIsAsPublishedSaysSoInEveryOutput) {
  const json methods = RunJson("coppice-research methods");
  const std::string listed = RunLine("coppice-research methods").out;
  for (const std::string name : {"srt", "dp_lr", "dp_bag"}) {
    const std::string reason = methods[name]["reason"];
    const std::string text =
        RunLine("coppice-research run --epsilon 1 --method " + name + " " + kSyntheticRows).out;
    for (const std::string& output : {listed, text}) {
      EXPECT_THAT(output, HasSubstr("as published; no guarantee is stated for it here")) << name;
      EXPECT_THAT(output, HasSubstr(reason)) << name;
    }
  }
}

TEST(ResearchCommandTest, PrintsTheNamesThatMethodTakes) {
  std::istringstream lines(RunLine("coppice-research methods").out);
  std::set<std::string> printed, known;
  for (std::string line; std::getline(lines, line);) {
    printed.insert(line.substr(0, line.find("  ")));
  }
  const json methods = RunJson("coppice-research methods");
  for (const auto& [name, info] : methods.items()) known.insert(name);
  EXPECT_EQ(printed, known);
}

// Equal shares of the majority among the test rows show that each repetition has the same split.
TEST(ResearchCommandTest, HasTheSplitsOfTheLab) {
  for (const std::string seed : {"1", "4"}) {
    const std::string rows = std::string(kSyntheticRows) + "--epsilon 2 --seed " + seed;
    const json ours = RunJson("coppice-lab local " + rows);
    const json theirs = RunJson("coppice-research run --method ct_q " + rows);
    EXPECT_EQ(ours["majority"], theirs["majority"]);
  }
}

TEST(ResearchCommandTest, AGridSaysThatItIsTuned) {
  const json report = RunJson(
      std::string("coppice-research run --method ct_q --grid --setting 1,4 ") + kSyntheticRows);
  EXPECT_EQ(report["tuned_on_test"], true);
  EXPECT_EQ(report["grid_cells"], 2);
  EXPECT_TRUE(report["accuracy_split_half"]["mean"].is_number());
  EXPECT_GE(report["accuracy"]["mean"], report["accuracy_split_half"]["mean"]);
}

TEST(ResearchCommandTest, WrongUsageIsNamed) {
  const struct {
    const char* flags;
    const char* message;
  } kCases[] = {
      {"--method nothing", "there is no method nothing"},
      {"--method phist", "phist needs one"},
      {"--method phist --epsilon 0", "--epsilon 0"},
      {"--method phist --epsilon inf", "--epsilon inf"},
      {"--method phist --epsilon 1001", "0.01 to 1000"},
      {"--method ct_q --setting 1,2", "only with --grid"},
      {"--method ct_q --setting 1.5", "whole number"},
      {"--method ct_q --data x", "--synthetic takes no file"},
  };
  for (const auto& c : kCases) {
    const LineOutcome run =
        RunLine(std::string("coppice-research run ") + c.flags + " " + kSyntheticRows + " 2>&1");
    EXPECT_EQ(run.exit_code, 2) << c.flags << ": " << run.out;
    EXPECT_THAT(run.out, HasSubstr(c.message)) << c.flags;
  }
}

}  // namespace
}  // namespace coppice::research
