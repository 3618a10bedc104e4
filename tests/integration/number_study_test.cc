// A study that predicts a number, with a real daemon and the real command line.

#include <gmock/gmock.h>

#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "tests/integration/daemon.h"
#include "tests/support/temp_dir.h"

namespace coppice {
namespace {

using ::coppice::testing::Daemon;
using ::coppice::testing::Outcome;
using ::coppice::testing::TempDir;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr char kSchema[] = R"({"label": "rent", "target_min": 0, "target_max": 3000, "unit": "EUR",
  "features": [{"name": "size", "type": "numeric", "min": 0, "max": 200},
               {"name": "town", "type": "categorical", "values": ["a", "b"], "public": PUBLIC}]})";

class NumberStudyTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(daemon_.Start());
    WriteSchema("false");
    Write("public.csv", 80);
    Write("private.csv", 4000);
    Write("test.csv", 300);
  }

  void WriteSchema(const std::string& is_public) {
    std::string text = kSchema;
    text.replace(text.find("PUBLIC"), 6, is_public);
    std::ofstream(Path("schema.json")) << text;
  }

  // The rent is ten per square metre plus 0 to 200, and 800 more in town b.
  void Write(const std::string& name, int rows) {
    std::ofstream out(Path(name));
    out << "size,town,rent\n";
    for (int i = 0; i < rows; ++i) {
      const int size = static_cast<int>(generator_() % 200),
                in_b = static_cast<int>(generator_() % 2);
      const int rent = 10 * size + (in_b == 1 ? 800 : 0) + static_cast<int>(generator_() % 201);
      out << size << ',' << (in_b == 1 ? 'b' : 'a') << ',' << rent << "\n";
    }
  }

  std::string Path(const std::string& name) const { return folder_.path() + "/" + name; }

  Outcome Create(const std::vector<std::string>& more) const {
    std::vector<std::string> command = {
        "study", "create", "--study", "rents", "--schema", Path("schema.json"), "--epsilon", "4"};
    command.insert(command.end(), more.begin(), more.end());
    return daemon_.Coppice(command);
  }

  nlohmann::json Collect(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> command = {"collect", "simulate", "--study",
                                        "rents",   "--data",   Path("private.csv")};
    command.insert(command.end(), more.begin(), more.end());
    return daemon_.CoppiceJson(command);
  }

  nlohmann::json Evaluate(const std::string& model) const {
    return daemon_.CoppiceJson({"model", "evaluate", "--model", model, "--data", Path("test.csv")});
  }

  TempDir folder_;
  Daemon daemon_{folder_.path()};
  std::minstd_rand generator_{17};
};

TEST_F(NumberStudyTest, IsForeseenCollectedAndPredictsNumbers) {
  const auto preview =
      daemon_.CoppiceJson({"study", "preview", "--public", Path("public.csv"), "--schema",
                           Path("schema.json"), "--epsilon", "4", "--devices", "4000"});
  EXPECT_GT(preview["rmse"], 20);
  EXPECT_LT(preview["rmse"], 700);
  EXPECT_LE(preview["low"], preview["rmse"]);

  const Outcome created = Create({"--public", Path("public.csv")});
  ASSERT_EQ(created.exit_code, 0) << created.err;
  EXPECT_EQ(Collect()["accepted"], 4000);
  daemon_.Signal(SIGKILL);
  ASSERT_TRUE(daemon_.Start());
  const auto study = daemon_.CoppiceJson({"study", "show", "--study", "rents"});
  EXPECT_EQ(study["accepted"], 4000);
  ASSERT_EQ(study["rounding"].size(), 2u);
  EXPECT_LT(study["rounding"][0], study["rounding"][1]);

  daemon_.CoppiceJson({"model", "build", "--study", "rents", "--model", "m"});
  const auto scores = Evaluate("m");
  EXPECT_LT(scores["rmse"], 400) << "always answering the mean errs by 700";
  EXPECT_GT(scores["r2"], 0.6);
  const Outcome verified = daemon_.Coppice({"model", "verify", "--model", "m"});
  EXPECT_EQ(verified.exit_code, 0) << verified.err;
  EXPECT_THAT(verified.out, HasSubstr("the range that numbers are rounded within"));

  const auto counts = daemon_.CoppiceJson({"study", "counts", "--study", "rents", "--depth", "1"});
  EXPECT_EQ(counts["reports"], 4000);
  const Outcome pruned = daemon_.Coppice(
      {"model", "build", "--study", "rents", "--model", "p", "--estimator", "prune"});
  EXPECT_NE(pruned.exit_code, 0);
  EXPECT_THAT(pruned.err, HasSubstr("take pooled"));
}

TEST_F(NumberStudyTest, NeedsNoPublicNumberNorRow) {
  ASSERT_EQ(Create({"--public", "none", "--devices", "4000", "--rounding", "0:2500"}).exit_code, 0);
  EXPECT_EQ(daemon_.CoppiceJson({"study", "show", "--study", "rents"})["rounding"],
            nlohmann::json::array({0.0, 2500.0}));
  EXPECT_EQ(Collect()["accepted"], 4000);
  daemon_.CoppiceJson({"model", "build", "--study", "rents", "--model", "m"});
  EXPECT_LT(Evaluate("m")["rmse"], 650);
}

TEST_F(NumberStudyTest, LearnsFromNumbersAloneWhereAllFeaturesArePublic) {
  nlohmann::json schema = nlohmann::json::parse(std::ifstream(Path("schema.json")));
  for (auto& feature : schema["features"]) feature["public"] = true;
  std::ofstream(Path("schema.json")) << schema;
  ASSERT_EQ(Create({"--public", Path("public.csv")}).exit_code, 0);
  EXPECT_EQ(Collect({"--show", "size,town"})["accepted"], 4000);
  daemon_.CoppiceJson({"model", "build", "--study", "rents", "--model", "m"});
  EXPECT_LT(Evaluate("m")["rmse"], 300);
}

// A window of several bits instead of one: asked for, or chosen where epsilon is large.
TEST_F(NumberStudyTest, HidesNumbersAloneInAWindow) {
  nlohmann::json schema = nlohmann::json::parse(std::ifstream(Path("schema.json")));
  for (auto& feature : schema["features"]) feature["public"] = true;
  std::ofstream(Path("schema.json")) << schema;
  ASSERT_EQ(Create({"--public", Path("public.csv"), "--mechanism", "window_response"}).exit_code,
            0);
  const auto study = daemon_.CoppiceJson({"study", "show", "--study", "rents"});
  EXPECT_EQ(study["mechanism"], "window_response");
  EXPECT_EQ(study["window"], (nlohmann::json{{"reach", 62}, {"half_width", 12}})) << "at epsilon 4";
  EXPECT_EQ(Collect({"--show", "size,town"})["accepted"], 4000);
  daemon_.Signal(SIGKILL);
  ASSERT_TRUE(daemon_.Start());
  daemon_.CoppiceJson({"model", "build", "--study", "rents", "--model", "m"});
  EXPECT_LT(Evaluate("m")["rmse"], 300);
  const Outcome verified = daemon_.Coppice({"model", "verify", "--model", "m"});
  EXPECT_EQ(verified.exit_code, 0) << verified.err;
  EXPECT_THAT(verified.out, HasSubstr("the window that numbers are hidden in: reach 62"));
  EXPECT_EQ(daemon_.CoppiceJson({"study", "counts", "--study", "rents", "--depth", "1"})["reports"],
            4000);
}

TEST_F(NumberStudyTest, RefusesAWindowWhereFeaturesArePrivate) {
  const Outcome refused =
      Create({"--public", Path("public.csv"), "--mechanism", "window_response"});
  EXPECT_NE(refused.exit_code, 0);
  EXPECT_THAT(refused.err, HasSubstr("numbers whose features are all public"));
}

TEST_F(NumberStudyTest, ShowsPublicFeaturesAndHidesTheRest) {
  WriteSchema("true");
  ASSERT_EQ(Create({"--public", Path("public.csv")}).exit_code, 0);
  EXPECT_EQ(Collect({"--show", "town"})["accepted"], 4000);
  daemon_.CoppiceJson({"model", "build", "--study", "rents", "--model", "m"});
  EXPECT_LT(Evaluate("m")["rmse"], 400);
}

TEST_F(NumberStudyTest, RefusesRangesThatAreNone) {
  for (const std::string bad : {"5:1", "much", "3000:4000", "-9:0"}) {
    const Outcome created = Create({"--public", Path("public.csv"), "--rounding=" + bad});
    EXPECT_NE(created.exit_code, 0) << bad;
    EXPECT_THAT(created.err, HasSubstr("rounding")) << bad;
  }
  const Outcome edges = Create({"--public", Path("public.csv"), "--split-rule", "max_edge"});
  EXPECT_NE(edges.exit_code, 0);
  EXPECT_THAT(edges.err, HasSubstr("hybrid"));
}

}  // namespace
}  // namespace coppice
