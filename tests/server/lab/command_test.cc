// The program as a script sees it: exit codes, which stream gets what, the JSON.

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <nlohmann/json.hpp>

#include "common/base/text.h"
#include "tests/support/run_line.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace coppice::lab {
namespace {

using ::coppice::testing::RunLine;
using ::coppice::testing::TempDir;
using Outcome = ::coppice::testing::LineOutcome;
using nlohmann::json;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

// Runs coppice-lab; `arguments` may redirect.
Outcome Lab(const std::string& arguments) { return RunLine("coppice-lab " + arguments); }

constexpr char kSmall[] = "local --synthetic private=300,public=40,test=100 --repeats 3 ";

TEST(LabCommandTest, PrintsOneJsonObject) {
  const Outcome run = Lab(std::string(kSmall) + "--epsilon 1 --mechanism laplace_split --json");
  EXPECT_EQ(run.exit_code, 0);
  const json report = json::parse(run.out, nullptr, false);
  ASSERT_TRUE(report.is_object()) << run.out;
  EXPECT_EQ(report["accuracy"]["n"], 3);
  EXPECT_EQ(report["epsilon"], 1.0);
  EXPECT_EQ(report["mechanism"], "laplace_split");
  EXPECT_EQ(report["estimator"], "smooth");
  EXPECT_EQ(report["split_rule"], "random_cut");
  for (const char* name : {"std", "mean"}) {
    for (const char* score : {"accuracy", "auc", "log_loss"}) {
      EXPECT_TRUE(report[score][name].is_number()) << score;
    }
  }
  EXPECT_TRUE(report["verdict"].is_string());
  EXPECT_LE(report["gain_interval"][0], report["gain"]);
  EXPECT_GE(report["gain_interval"][1], report["gain"]);
  for (const char* name : {"leaves", "report_bytes", "fit_seconds", "standard_error", "majority"}) {
    EXPECT_TRUE(report[name].is_number()) << name;
  }
  EXPECT_EQ(std::count(run.out.begin(), run.out.end(), '\n'), 1);
}

// Defaults are those of the daemon and `coppice`; a paper's settings have a name.
TEST(LabCommandTest, DefaultsAreTheProductsUnlessAPaperIsNamed) {
  const std::string base = std::string(kSmall) + "--epsilon 1 --json ";
  const auto settings = [&](const std::string& flags) {
    const json report = json::parse(Lab(base + flags).out, nullptr, false);
    return report.value("split_rule", "") + " " + report.value("estimator", "");
  };
  EXPECT_EQ(settings(""), "random_cut smooth");
  EXPECT_EQ(settings("--public-labels none"), "hybrid pooled");
  EXPECT_EQ(settings("--estimator pooled"), "hybrid pooled");
  EXPECT_EQ(settings("--estimator smooth"), "random_cut smooth");
  EXPECT_EQ(settings("--depth 3"), "max_edge pooled");
  EXPECT_EQ(settings("--lambda 1"), "hybrid weighted");
  EXPECT_EQ(settings("--paper lpct"), "max_edge weighted");
  EXPECT_EQ(settings("--paper lpct --split-rule cart --estimator prune"), "cart prune");
  EXPECT_EQ(Lab(std::string(kSmall) + "--epsilon 1 --paper other 2>/dev/null").exit_code, 2);
}

TEST(LabCommandTest, TextIsForPeople) {
  const Outcome run = Lab(std::string(kSmall) + "--epsilon 1");
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_THAT(run.out, HasSubstr(" in 3 runs\n"));
  EXPECT_THAT(run.out, HasSubstr("split rule"));
  EXPECT_THAT(run.out, Not(HasSubstr("{")));
  EXPECT_THAT(run.out, Not(HasSubstr("\"")));
}

TEST(LabCommandTest, WithoutPublicRowsTheSchemaWillDo) {
  const TempDir folder;
  const std::string rows = folder.path() + "/rows";
  ASSERT_EQ(Lab("synthesize --output-dir " + rows + " --synthetic private=2000,test=500").exit_code,
            0);
  const std::string files = " --public none --private " + rows + "/private.csv --test " + rows +
                            "/test.csv --schema " + rows + "/schema.json --epsilon 4 --repeats 2 ";
  const json report = json::parse(Lab("local" + files + "--json").out, nullptr, false);
  EXPECT_GT(report["accuracy"]["mean"], 0.5);
  EXPECT_EQ(report["evidence"], "reports");
  EXPECT_EQ(Lab("local" + files + "--estimator prune 2>/dev/null").exit_code, 2);
  const Outcome plan = Lab("plan --public none --devices 1000 --schema " + rows + "/schema.json");
  EXPECT_EQ(plan.exit_code, 0);
  EXPECT_THAT(plan.out, HasSubstr("0 public rows"));
  EXPECT_THAT(plan.out, HasSubstr("Without public rows"));
  EXPECT_THAT(plan.out, Not(HasSubstr("Always answering")));
}

TEST(LabCommandTest, GridReportsItsBestCell) {
  const Outcome run =
      Lab(std::string(kSmall) + "--epsilon inf --grid --depth 1,2 --lambda 0,inf --json");
  const json report = json::parse(run.out, nullptr, false);
  ASSERT_TRUE(report.is_object()) << run.out;
  EXPECT_EQ(report["tuned_on_test"], true);
  EXPECT_EQ(report["grid_cells"], 2 * 5 * 2);
  EXPECT_EQ(report["epsilon"], "inf");
  EXPECT_TRUE(report["accuracy_split_half"]["mean"].is_number());
}

TEST(LabCommandTest, AttacksAreReportedWithTheirAlarms) {
  const Outcome run = Lab(std::string(kSmall) +
                          "--epsilon 1 --mechanism signed_hadamard --trees 4 --attack chosen "
                          "--liars 0.5 --target 0 --json");
  EXPECT_EQ(run.exit_code, 0);
  const json report = json::parse(run.out, nullptr, false);
  ASSERT_TRUE(report.is_object()) << run.out;
  EXPECT_EQ(report["attack"], "chosen");
  EXPECT_EQ(report["liars"], 0.5);
  EXPECT_NEAR(report["alarms"]["column"], 1, 1e-9);
  EXPECT_EQ(report["alarms"]["tree"], 0);
}

TEST(LabCommandTest, LiarsChoosePublicValuesWhereThereAreAny) {
  const std::string attack = std::string(kSmall) + "--epsilon 1 --trees 4 --split-rule hybrid " +
                             "--attack given --claim chosen --liars 0.1 --json ";
  const json some = json::parse(Lab(attack + "--public-features x1").out, nullptr, false);
  EXPECT_EQ(some["claim"], "chosen");
  EXPECT_TRUE(some["alarms"].contains("margin"));
  const json all = json::parse(Lab(attack + "--public-features all").out, nullptr, false);
  EXPECT_EQ(all["estimator"], "label_only");
  EXPECT_TRUE(all["alarms"].contains("margin"));
  EXPECT_THAT(Lab(attack + "2>/dev/null").out, HasSubstr("no feature is public"));
}

TEST(LabCommandTest, SameSeedWithoutNoiseIsTheSameAccuracy) {
  const std::string arguments = std::string(kSmall) + "--epsilon inf --seed 9 --json";
  EXPECT_EQ(json::parse(Lab(arguments).out)["accuracy"],
            json::parse(Lab(arguments).out)["accuracy"]);
}

TEST(LabCommandTest, AuditPrintsItsBound) {
  const Outcome run = Lab("audit --mechanism symmetric_unary --epsilon 1 --trials 200000 --json");
  EXPECT_EQ(run.exit_code, 0);
  const json report = json::parse(run.out, nullptr, false);
  ASSERT_TRUE(report.is_object()) << run.out;
  EXPECT_EQ(report["mechanism"], "symmetric_unary");
  EXPECT_EQ(report["epsilon_claimed"], 1.0);
  EXPECT_LE(report["epsilon_lower_bound"], 1.0);
  EXPECT_GT(report["epsilon_lower_bound"], 0.7);
  EXPECT_EQ(report["confidence"], 0.999999);
  EXPECT_GE(report["trials"], 400000);
}

TEST(LabCommandTest, AuditOfATrainerPrintsItsBound) {
  const Outcome run = Lab("audit --algorithm rdt --epsilon 1 --trials 20000 --json");
  EXPECT_EQ(run.exit_code, 0);
  const json report = json::parse(run.out, nullptr, false);
  ASSERT_TRUE(report.is_object()) << run.out;
  EXPECT_EQ(report["algorithm"], "rdt");
  EXPECT_EQ(report["epsilon_claimed"], 1.0);
  EXPECT_LE(report["epsilon_lower_bound"], 1.0);
  EXPECT_GT(report["epsilon_lower_bound"], 0.3);
  EXPECT_FALSE(report.contains("leaves"));
  EXPECT_THAT(Lab("audit --algorithm rdt --epsilon 1 --trials 2000").out,
              HasSubstr("rdt claims epsilon 1."));
}

TEST(LabCommandTest, AuditOfABatchPrintsItsBound) {
  const std::string batch =
      "audit --mechanism direct --leaves 1 --classes 2 --epsilon 1 --reports 20 --delta 1e-3 ";
  const Outcome run = Lab(batch + "--trials 100000 --json");
  EXPECT_EQ(run.exit_code, 0);
  const json report = json::parse(run.out, nullptr, false);
  ASSERT_TRUE(report.is_object()) << run.out;
  EXPECT_EQ(report["reports"], 20);
  EXPECT_EQ(report["epsilon0"], 1.0);
  EXPECT_EQ(report["delta"], 0.001);
  EXPECT_EQ(report["epsilon_claimed"], 0.708048994);
  EXPECT_LE(report["epsilon_lower_bound"], 0.708048994);
  EXPECT_GT(report["epsilon_lower_bound"], 0.05) << "most often .27 to .39, once .18";
  EXPECT_THAT(Lab(batch + "--trials 2000").out,
              HasSubstr("A batch of 20 reports by direct of epsilon 1, tickets dealt at random, "
                        "claims epsilon 0.708048994, delta 0.001."));
}

TEST(LabCommandTest, WrongUsageIsTwoAndNamesTheFlag) {
  const std::string base = kSmall;
  const std::pair<std::string, std::string> cases[] = {
      {base, "--epsilon"},
      {"audit --epsilon 1", "--mechanism"},
      {"audit --epsilon 1", "--algorithm"},
      {"audit --mechanism laplace_split --algorithm spe --epsilon 1", "--algorithm"},
      {"audit --algorithm cart --epsilon 1", "median_forest"},
      {"audit --mechanism laplace_split --epsilon 2000", "--epsilon"},
      {"audit --mechanism laplace_split --epsilon 1 --leaves 8 --classes 4", "--leaves"},
      {"audit --algorithm spe --epsilon 1 --reports 20", "--reports needs --mechanism"},
      {"audit --mechanism direct --epsilon 1 --delta 1e-6", "--delta needs --reports"},
      {"audit --mechanism direct --epsilon 1 --reports 20 --delta 0.01", "at most 1 / (10"},
      {"audit --mechanism direct --epsilon 21 --reports 20", "0.01 to 20"},
      {"audit --mechanism direct --epsilon 1 --reports 5000", "--reports"},
      {base + "--epsilon 0.001", "--epsilon"},
      {base + "--epsilon 1 --mechanism best", "optimized_unary"},
      {base + "--epsilon 1 --estimator rough", "weighted, prune"},
      {base + "--epsilon 1 --lambda -1", "--lambda"},
      {base + "--epsilon 1 --lambda 1,2", "only with --grid"},
      {base + "--epsilon 1 --estimator prune --lambda 1", "prune finds its own"},
      {base + "--epsilon 1 --attack bribe", "there are label, given and chosen"},
      {base + "--epsilon 1 --liars 0.1", "--attack"},
      {base + "--epsilon 1 --attack given --claim none", "there are own and chosen"},
      {base + "--epsilon 1 --attack label --claim chosen", "for --attack given or chosen"},
      {base + "--epsilon inf --attack label", "--epsilon"},
      {"local --epsilon 1 --public x.csv", "--schema"},
      {"local --epsilon 1 --synthetic gamma=-1", "gamma"},
      {"", "a command is required"},
  };
  for (const auto& [arguments, message] : cases) {
    const Outcome run = Lab(arguments + " 2>&1");
    EXPECT_EQ(run.exit_code, 2) << arguments;
    EXPECT_THAT(run.out, HasSubstr(message)) << arguments;
  }
}

TEST(LabCommandTest, AMissingFileIsAFailureOnBothStreams) {
  const std::string arguments =
      "local --epsilon 1 --public no.csv --private no.csv --schema no.json --json";
  const Outcome run = Lab(arguments + " 2>/dev/null");
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_EQ(run.out,
            R"({"error":{"code":"NOT_FOUND","message":"cannot open no.json: No such file or )"
            "directory; check the path\"}}\n");
  EXPECT_THAT(Lab(arguments + " 2>&1 >/dev/null").out,
              HasSubstr("coppice-lab: cannot open no.json"));
}

TEST(LabCommandTest, ReadsFilesAndSplitsThem) {
  const std::filesystem::path folder = std::filesystem::path(::testing::TempDir()) / "lab_files";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "schema.json")
      << R"({"features":[{"name":"x","type":"numeric","min":0,"max":1}],)"
      << R"("label":"label","classes":["no","yes"]})";
  std::ofstream rows(folder / "rows.csv");
  rows << "x,label\n";
  for (int i = 0; i < 50; ++i) rows << "0." << i % 10 << (i % 10 < 5 ? ",no\n" : ",yes\n");
  rows << "7,yes\n";  // outside its bounds
  rows.close();
  const std::string file = (folder / "rows.csv").string();
  const std::string arguments = "local --epsilon inf --depth 1 --public " + file + " --private " +
                                file + " --schema " + (folder / "schema.json").string() +
                                " --holdout 0.4 --repeats 2 --json";
  const Outcome run = Lab(arguments + " 2>/dev/null");
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_EQ(json::parse(run.out)["accuracy"]["mean"], 1.0);
  EXPECT_EQ(Lab(arguments + " --strict 2>/dev/null").exit_code, 1);
}

// Writes 400 rows of whole numbers, of which those above 4 say yes, and their schema.json. Returns
// the file of rows.
std::string WriteWholeNumbers(const std::string& folder) {
  std::ofstream(folder + "/schema.json")
      << R"({"features":[{"name":"x","type":"numeric","min":0,"max":7,"integer":true}],)"
      << R"("label":"label","classes":["no","yes"]})";
  const std::string file = folder + "/rows.csv";
  std::ofstream rows(file);
  rows << "x,label\n";
  for (int i = 0; i < 400; ++i) rows << i % 8 << (i % 8 <= 4 ? ",no\n" : ",yes\n");
  return file;
}

TEST(LabCommandTest, CentralCutsWholeNumbersAndTakesNoOthersIfStrict) {
  const TempDir folder;
  const std::string file = WriteWholeNumbers(folder.path());
  const std::string arguments = "central --algorithm auto --epsilon 4 --repeats 2 --json --strict" +
                                std::string(" --data ") + file + " --test " + file + " --schema " +
                                folder.path() + "/schema.json";
  EXPECT_EQ(json::parse(Lab(arguments + " 2>/dev/null").out)["accuracy"]["mean"], 1.0);
  std::ofstream(file, std::ios::app) << "4.6,yes\n";
  const Outcome strict = Lab(arguments + " 2>&1");
  EXPECT_EQ(strict.exit_code, 1);
  EXPECT_THAT(strict.out, HasSubstr("rows.csv:402: column \"x\" must be a whole number"));
}

// With so little epsilon private rows say nothing; a share of them that is public says it all.
TEST(LabCommandTest, CentralStartsFromPublicRows) {
  const TempDir folder;
  const std::string file = WriteWholeNumbers(folder.path());
  const std::string arguments = " --repeats 2 --json --data " + file + " --schema " +
                                folder.path() + "/schema.json --public ";
  for (const std::string& source : {std::string("0.25"), file}) {
    const json report = json::parse(
        Lab("central --algorithm auto --epsilon 0.001" + arguments + source + " 2>/dev/null").out);
    EXPECT_EQ(report["accuracy"]["mean"], 1.0);
    EXPECT_EQ(report["public"], source);
    EXPECT_EQ(report.contains("public_rows_sha256"), source == file);
    EXPECT_EQ(report["public_only"]["accuracy"]["n"], 2);
  }
  // The same rows, counted: 90 of the 360 to train on.
  const std::string without = arguments.substr(0, arguments.find(" --public "));
  const json counted =
      json::parse(Lab("central --algorithm auto --epsilon 0.001 --public-rows 90" + without).out);
  EXPECT_EQ(counted["public_rows"], 90);
  EXPECT_EQ(
      counted["public_only"],
      json::parse(
          Lab("central --algorithm auto --epsilon 0.001" + arguments + "0.25").out)["public_only"]);
  EXPECT_EQ(Lab("central --algorithm auto --epsilon 1 --public-rows 9" + arguments + "0.25 2>&1")
                .exit_code,
            2);
  const Outcome of_spe = Lab("central --algorithm spe --epsilon 1" + arguments + "0.25 2>&1");
  EXPECT_EQ(of_spe.exit_code, 1);
  EXPECT_THAT(of_spe.out, HasSubstr("spe cannot start from public rows"));
  const Outcome of_all = Lab("central --algorithm auto --epsilon 1" + arguments + "1.5 2>&1");
  EXPECT_EQ(of_all.exit_code, 1);
  EXPECT_THAT(of_all.out, HasSubstr("--public: a share must be above 0 and below 1"));
}

// Rows whose one feature tells the label, or tells nothing if it is the same in all rows.
TEST(LabCommandTest, CentralSaysWhatTheMajorityScoresAndTheAreaUnderTheCurve) {
  const std::filesystem::path folder = std::filesystem::path(::testing::TempDir()) / "lab_auc";
  std::filesystem::create_directories(folder);
  const auto central = [&](const std::string& classes, bool says_all) {
    std::ofstream(folder / "schema.json")
        << R"({"features":[{"name":"x","type":"numeric","min":0,"max":1}],)"
        << R"("label":"label","classes":[)" << classes << "]}";
    std::ofstream rows(folder / "rows.csv");
    rows << "x,label\n";
    for (int i = 0; i < 60; ++i) {
      rows << (says_all ? i % 3 * 0.4 : 0.5) << (i % 3 == 0 ? ",yes\n" : ",no\n");
    }
    rows.close();
    return json::parse(Lab("central --algorithm auto --epsilon inf --json --repeats 2 --data " +
                           (folder / "rows.csv").string() + " --test " +
                           (folder / "rows.csv").string() + " --schema " +
                           (folder / "schema.json").string() + " 2>/dev/null")
                           .out);
  };
  EXPECT_EQ(central(R"("no","yes")", true)["auc"]["mean"], 1.0);
  EXPECT_EQ(central(R"("yes","no")", true)["auc"]["mean"], 1.0);
  const json of_nothing = central(R"("no","yes")", false);
  EXPECT_EQ(of_nothing["auc"]["mean"], 0.5);
  EXPECT_EQ(of_nothing["auc_standard_error"], 0.0);
  EXPECT_NEAR(of_nothing["majority"], 2.0 / 3, 1e-12);
  EXPECT_EQ(of_nothing["verdict"],
            "No better than always answering no, which is right on 0.667 of these rows.");
  const json many = central(R"("no","yes","perhaps")", true);
  EXPECT_EQ(many["auc"]["mean"], 1.0) << "the mean over the classes that there are";
  EXPECT_LT(many["log_loss"]["mean"], 0.5);
  EXPECT_THAT(many["verdict"].get<std::string>(), HasSubstr("Better than always answering no"));
}

// The repetitions' scores average to the report's means.
TEST(LabCommandTest, RepetitionsHaveTheMeansOfTheReport) {
  const auto mean_of = [](const json& values) {
    double sum = 0;
    for (const json& value : values) sum += value.get<double>();
    return sum / static_cast<double>(values.size());
  };
  const json study = json::parse(
      Lab("local --synthetic gamma=1,private=500,public=50,test=200 --epsilon 2 --repeats 4 "
          "--per-repetition --json 2>/dev/null")
          .out);
  const json& each = study["repetitions"];
  for (const char* measure : {"accuracy", "auc", "log_loss"}) {
    ASSERT_EQ(each[measure].size(), 4u) << measure;
    EXPECT_NEAR(mean_of(each[measure]), study[measure]["mean"], 1e-12) << measure;
  }
  const double error = study["calibration_error"];
  EXPECT_NEAR(std::max(mean_of(each["squared_calibration_error"]), 0.0), error * error, 1e-12);
  EXPECT_LE(study["calibration_error_interval"][0], error);
  EXPECT_GE(study["calibration_error_interval"][1], error);
}

// Writes a table of numbers y = 10 x into a folder of the given name; returns the flags that name
// it and its schema.
std::string LineOfNumbers(const std::string& name, int rows) {
  const std::filesystem::path folder = std::filesystem::path(::testing::TempDir()) / name;
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "schema.json")
      << R"({"features":[{"name":"x","type":"numeric","min":0,"max":1}],)"
      << R"("task":"regression","label":"y","target_min":0,"target_max":10})";
  std::ofstream table(folder / "rows.csv");
  table << "x,y\n";
  for (int i = 0; i < rows; ++i) table << "0." << i % 10 << "," << i % 10 << "\n";
  return StrCat(" --data ", (folder / "rows.csv").string(), " --schema ",
                (folder / "schema.json").string());
}

TEST(LabCommandTest, NumbersHaveAllTheirScoresAndRepetitions) {
  const json report =
      json::parse(Lab("central --algorithm auto --epsilon inf --json --repeats 2 --per-repetition" +
                      LineOfNumbers("lab_numbers", 100) + " 2>/dev/null")
                      .out);
  EXPECT_GT(report["r2"]["mean"], 0.5);
  EXPECT_LT(report["r2"]["mean"], 1.0);
  for (const char* measure : {"rmse", "mae", "r2"}) {
    EXPECT_EQ(report["repetitions"][measure].size(), 2u) << measure;
  }
  EXPECT_TRUE(report.contains("mae_standard_error"));
}

TEST(LabCommandTest, StudiesOfNumbersCorrectThePublicPredictor) {
  const std::string table = LineOfNumbers("lab_slope", 200);
  const auto local = [&](const std::string& flags) {
    return json::parse(Lab("local --epsilon 4 --json --repeats 1 --public-rows 40" + table + flags +
                           " 2>/dev/null")
                           .out);
  };
  for (const std::string features : {"none", "all"}) {
    const json report = local(" --public-features " + features);
    EXPECT_EQ(report["estimator"], "smooth") << features;
    EXPECT_EQ(report["split_rule"], "random_cut") << features;
    EXPECT_LT(report["rmse"]["mean"], 1.5) << features << "; of 2.9 for the mean";
    EXPECT_LT(report["public_only"]["rmse"]["mean"], 1.5) << features;
    EXPECT_EQ(local(" --estimator pooled --public-features " + features)["split_rule"], "hybrid");
  }
  EXPECT_EQ(Lab("local --epsilon 4 --estimator prune" + table + " 2>/dev/null").exit_code, 2);
}

TEST(LabCommandTest, HelpAndVersionAreDone) {
  EXPECT_EQ(Lab("--help").exit_code, 0);
  EXPECT_THAT(Lab("local --help").out, HasSubstr("--epsilon"));
  EXPECT_THAT(Lab("--version").out, HasSubstr("coppice-lab "));
}

// Plans for the synthetic rows, in a temporary folder.
class LabPlanTest : public ::testing::Test {
 protected:
  LabPlanTest() {
    EXPECT_EQ(Lab("synthesize --output-dir " + folder_ + " 2>/dev/null").exit_code, 0);
  }
  ~LabPlanTest() override { std::filesystem::remove_all(folder_); }

  std::string Rows() const {
    return "--public " + folder_ + "/public.csv --schema " + folder_ + "/schema.json ";
  }

  std::string folder_ =
      std::filesystem::temp_directory_path() / ("plan" + std::to_string(getpid()));
};

// What is written for each row is what the scores are of.
TEST_F(LabPlanTest, PublicRowsAlonePredictAndAreScored) {
  const std::string predictions = folder_ + "/predictions.csv";
  const std::string files = "public " + Rows() + "--test " + folder_ + "/test.csv ";
  const Outcome run = Lab(files + "--predictions " + predictions + " --json");
  ASSERT_EQ(run.exit_code, 0);
  const json report = json::parse(run.out, nullptr, false);
  ASSERT_TRUE(report.is_object()) << run.out;
  std::ifstream written(predictions), rows(folder_ + "/test.csv");
  double loss = 0;
  int count = 0;
  std::string row, text;
  std::getline(rows, row);  // the header
  while (std::getline(written, text) && std::getline(rows, row)) {
    double p[2] = {};
    ASSERT_EQ(std::sscanf(text.c_str(), "%lf,%lf", &p[0], &p[1]), 2) << text;
    EXPECT_NEAR(p[0] + p[1], 1, 1e-12);
    loss -= std::log(p[row.back() - '0']);
    ++count;
  }
  EXPECT_EQ(report["test_rows"], count);
  EXPECT_NEAR(report["log_loss"], loss / count, 1e-9);
  EXPECT_EQ(report["learners"].size(), 7u);
  EXPECT_LE(report["model_bytes"], 1'000'000);
  EXPECT_EQ(Lab(files + "--threads 2 --json").out, run.out) << "threads change nothing";
  EXPECT_THAT(Lab(files).out, HasSubstr("held-out loss"));
  EXPECT_EQ(Lab(files + "--max-model-bytes 0 2>/dev/null").exit_code, 2);
  const json small = json::parse(Lab(files + "--max-model-bytes 3000 --json").out);
  EXPECT_LE(small["model_bytes"], 3000);
  EXPECT_GE(small["held_out_loss"], small["held_out_loss_of_any_size"]);
}

TEST_F(LabPlanTest, PrintsAnIntervalForEachStudy) {
  const Outcome run =
      Lab("plan " + Rows() + "--epsilon 1,8 --devices 100,100000 --accuracy 0.6 --json");
  ASSERT_EQ(run.exit_code, 0);
  const json plan = json::parse(run.out, nullptr, false);
  ASSERT_EQ(plan["studies"].size(), 4u) << run.out;
  for (const json& study : plan["studies"]) {
    EXPECT_LE(study["accuracy"]["low"], study["accuracy"]["mean"]);
    EXPECT_LE(study["accuracy"]["mean"], study["accuracy"]["high"]);
  }
  for (const json& study : plan["studies"]) {
    EXPECT_LT(study["gain_interval"][0], study["gain"]);
    EXPECT_GT(study["gain_interval"][1], study["gain"]);
  }
  EXPECT_GE(plan["majority"], 0.5);
  EXPECT_GT(plan["studies"][3]["gain"], plan["studies"][0]["gain"]);
  EXPECT_EQ(plan["takes"].size(), 4u);
}

// No feature tells the rows' label, so nothing beats their majority.
TEST_F(LabPlanTest, SaysWhatTheMajorityScoresAndWhenNothingBeatsIt) {
  EXPECT_THAT(Lab("plan " + Rows() + "--epsilon 4 --devices 1000000").out,
              ContainsRegex("Always answering [a-z0-9]+: 0[.][0-9]+ of the public rows\n"));
  std::ofstream rows(folder_ + "/public.csv");
  const json schema = json::parse(std::ifstream(folder_ + "/schema.json"));
  for (const json& feature : schema["features"]) {
    rows << feature["name"].get<std::string>() << ",";
  }
  rows << schema["label"].get<std::string>() << "\n";
  for (int i = 0; i < 60; ++i) {
    for (size_t f = 0; f < schema["features"].size(); ++f) rows << "0.5,";
    rows << schema["classes"][i % 10 == 0 ? 1 : 0].get<std::string>() << "\n";
  }
  rows.close();
  EXPECT_THAT(
      Lab("plan " + Rows() + "--epsilon 1 --devices 1000").out,
      HasSubstr(": 0.900 of the public rows; none of these studies is expected to beat that\n"));
}

TEST_F(LabPlanTest, ShowsEveryMechanismAndDrawsAPicture) {
  const std::string picture = folder_ + "/plan.svg";
  const Outcome run =
      Lab("plan " + Rows() + "--epsilon 1,2 --devices 1000 --mechanism all --plot " + picture);
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_THAT(run.out, HasSubstr("laplace_split"));
  EXPECT_THAT(run.out, HasSubstr("local_hashing"));
  std::ifstream file(picture);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  EXPECT_THAT(text, HasSubstr("<svg"));
  EXPECT_THAT(text, HasSubstr("1000 devices"));
}

TEST_F(LabPlanTest, WritesAPageAndNeverOverOne) {
  const std::string page = folder_ + "/plan.html";
  const std::string command = "plan " + Rows() + "--epsilon 1,2 --devices 1000 --html " + page;
  EXPECT_EQ(Lab(command).exit_code, 0);
  std::ifstream file(page);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  EXPECT_THAT(text, HasSubstr("Content-Security-Policy"));
  EXPECT_THAT(text, HasSubstr("What reports add"));
  EXPECT_EQ(Lab(command + " 2>/dev/null").exit_code, 1);
  EXPECT_EQ(Lab(command + " --force").exit_code, 0);
}

TEST_F(LabPlanTest, RefusesAccuraciesWithoutLabels) {
  EXPECT_EQ(Lab("plan " + Rows() + "--public-labels none --accuracy 0.7 2>/dev/null").exit_code, 2);
  EXPECT_EQ(Lab("plan " + Rows() + "--public-labels none").exit_code, 0);
}

}  // namespace
}  // namespace coppice::lab
