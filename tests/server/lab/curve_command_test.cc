// coppice-lab curve as a script sees it: lines, sentences, files.

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "common/base/text.h"
#include "tests/support/run_line.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace coppice::lab {
namespace {

using ::coppice::testing::TempDir;
using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

std::string ReadAll(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class CurveCommandTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(
        Run("synthesize --output-dir " + rows_ + " --synthetic private=1500,public=40,test=300")
            .exit_code,
        0);
  }

  using Outcome = testing::LineOutcome;

  static Outcome Run(const std::string& arguments) {
    return testing::RunLine("coppice-lab " + arguments + " 2>&1");
  }

  Outcome Curve(const std::string& flags) const {
    return Run("curve --data " + rows_ + "/private.csv --schema " + rows_ + "/schema.json " +
               flags);
  }

  static std::vector<json> Lines(const std::string& text) {
    std::vector<json> lines;
    for (const auto line : StrSplit(text, '\n', SkipEmpty())) {
      lines.push_back(json::parse(std::string(line), nullptr, false));
    }
    return lines;
  }

  const TempDir folder_;
  const std::string rows_ = folder_.path() + "/rows";
};

TEST_F(CurveCommandTest, PrintsALineForEachAlgorithmAndEpsilon) {
  const Outcome run = Curve("--algorithm spe,logistic --epsilon 2,0.5 --repeats 2 --json");
  EXPECT_EQ(run.exit_code, 0) << run.out;
  const std::vector<json> lines = Lines(run.out);
  ASSERT_EQ(lines.size(), 4u) << run.out;
  EXPECT_EQ(lines[0]["algorithm"], "spe");
  EXPECT_EQ(lines[0]["epsilon"], 0.5);  // ascending
  EXPECT_EQ(lines[3]["algorithm"], "logistic");
  EXPECT_EQ(lines[3]["epsilon"], 2.0);
  for (const json& line : lines) {
    for (const char* name : {"accuracy", "auc", "log_loss"}) {
      EXPECT_EQ(line[name]["n"], 2) << name;
      EXPECT_TRUE(line[name]["mean"].is_number()) << name;
    }
    EXPECT_EQ(line["majority"], lines[0]["majority"]);  // all have the same splits
    EXPECT_GT(line["non_private"], 0.5);
  }
}

// One run of `central` is one point of the curve: both have the same splits and majority.
TEST_F(CurveCommandTest, SplitsAreThoseOfCentral) {
  const std::string splits = "--repeats 2 --holdout 0.25 --seed 7 --json ";
  const json line = Lines(Curve("--algorithm spe --epsilon 1 " + splits).out).at(0);
  const json central = Lines(Run("central --algorithm spe --epsilon 1 --data " + rows_ +
                                 "/private.csv --schema " + rows_ + "/schema.json " + splits)
                                 .out)
                           .at(0);
  ASSERT_TRUE(central["majority"].is_number()) << central;
  EXPECT_DOUBLE_EQ(line["majority"].get<double>(), central["majority"].get<double>());
}

TEST_F(CurveCommandTest, PeopleGetATableAndSentences) {
  const Outcome run = Curve("--algorithm spe --epsilon 1 --repeats 2");
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_THAT(run.out, HasSubstr("Accuracy on 300 rows"));
  EXPECT_THAT(run.out, HasSubstr("no privacy"));
  EXPECT_THAT(run.out, HasSubstr("\nspe: "));
  EXPECT_THAT(run.out, HasSubstr("always answering"));
  EXPECT_THAT(run.out, Not(HasSubstr("{")));
}

TEST_F(CurveCommandTest, StudiesAreOnTheSameCurve) {
  const Outcome run =
      Curve("--algorithm spe,local --devices 200,800 --public 0.1 --epsilon 4 --repeats 2 --json");
  EXPECT_EQ(run.exit_code, 0) << run.out;
  const std::vector<json> lines = Lines(run.out);
  ASSERT_EQ(lines.size(), 3u) << run.out;
  EXPECT_EQ(lines[1]["algorithm"], "local");
  EXPECT_EQ(lines[1]["devices"], 200);
  EXPECT_EQ(lines[2]["devices"], 800);
  EXPECT_EQ(lines[1]["majority"], lines[0]["majority"]);
  EXPECT_TRUE(lines[1]["non_private"].is_number());
  EXPECT_EQ(Curve("--algorithm local --devices 200 --public " + rows_ +
                  "/public.csv --epsilon 4 --repeats 1 --json")
                .exit_code,
            0);
}

// auto starts from the public rows, and spe, which cannot, has all rows to train on.
TEST_F(CurveCommandTest, TrainersStartFromPublicRowsIfTheyCan) {
  const auto accuracy = [&](const std::string& flags) {
    const std::vector<json> lines =
        Lines(Curve("--algorithm auto,spe --epsilon 0.01 --repeats 4 --json " + flags).out);
    return lines.size() == 2
               ? std::pair<double, double>{lines[0]["accuracy"]["mean"], lines[1]["epsilon"]}
               : std::pair<double, double>{};
  };
  const auto alone = accuracy(""), with_public = accuracy("--public 0.3");
  EXPECT_EQ(alone.second, 0.01);
  EXPECT_GT(with_public.first, alone.first + 0.03) << "at this epsilon nothing is learnt otherwise";
}

TEST_F(CurveCommandTest, MoreDevicesThanRowsAreRefusedBeforeAnyRun) {
  const Outcome run =
      Curve("--algorithm local --devices 2000 --public 0.1 --epsilon 4 --output-dir " +
            folder_.path() + "/out");
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.out, HasSubstr("2000 devices need as many rows, but there are only 1080"));
}

TEST_F(CurveCommandTest, WritesItsFilesWholeAndOnlyOnce) {
  const std::string out = folder_.path() + "/out";
  const std::string flags = "--algorithm spe --epsilon 1,2 --repeats 2 --output-dir " + out;
  ASSERT_EQ(Curve(flags).exit_code, 0);
  const json curve = json::parse(ReadAll(out + "/curve.json"), nullptr, false);
  EXPECT_EQ(curve["lines"].size(), 2u);
  EXPECT_GE(curve["sentences"].size(), 1u);
  EXPECT_THAT(ReadAll(out + "/curve.svg"), HasSubstr("</svg>"));
  const std::string page = ReadAll(out + "/curve.html");
  EXPECT_THAT(page, HasSubstr("Content-Security-Policy"));
  EXPECT_THAT(page, HasSubstr("</html>"));
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(out)) {
    files += entry.is_regular_file() ? 1 : 0;
  }
  EXPECT_EQ(files, 3u);  // no temporary file is left

  const Outcome again = Curve(flags);
  EXPECT_EQ(again.exit_code, 1);
  EXPECT_THAT(again.out, HasSubstr("curve.svg exists already; --force replaces it"));
  EXPECT_EQ(ReadAll(out + "/curve.html"), page);
  EXPECT_EQ(Curve(flags + " --force").exit_code, 0);
}

TEST_F(CurveCommandTest, FlagsThatDoNotGoTogetherAreWrongUsage) {
  EXPECT_EQ(Curve("--algorithm local").exit_code, 2);
  EXPECT_EQ(Curve("--devices 10 --public 0.1").exit_code, 2);
  EXPECT_EQ(Curve("--algorithm spe --public 0.1").exit_code, 2);
  EXPECT_EQ(Curve("--public 1.5").exit_code, 1);
  EXPECT_EQ(Curve("--algorithm spe,logistic --set depth=3").exit_code, 2);
  EXPECT_EQ(Curve("--force").exit_code, 2);
  EXPECT_EQ(Curve("--algorithm nonsense").exit_code, 2);
  const Outcome infinite = Curve("--epsilon 1,inf");
  EXPECT_EQ(infinite.exit_code, 2);
  EXPECT_THAT(infinite.out, HasSubstr("always included"));
}

TEST_F(CurveCommandTest, AnAlgorithmThatTakesNoDeltaIsNamed) {
  const Outcome run = Curve("--algorithm spe --delta 1e-6 --epsilon 1");
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.out, HasSubstr("spe is pure epsilon-DP"));
}

}  // namespace
}  // namespace coppice::lab
