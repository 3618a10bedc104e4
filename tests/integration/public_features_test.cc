// A study that hides only what is private, with a real daemon and the real command line.

#include <gmock/gmock.h>

#include <fstream>
#include <string>
#include <vector>

#include "tests/integration/daemon.h"
#include "tests/support/temp_dir.h"

namespace coppice {
namespace {

using ::coppice::testing::Daemon;
using ::coppice::testing::Outcome;
using ::coppice::testing::Synthesize;
using ::coppice::testing::TempDir;
using ::testing::AllOf;
using ::testing::HasSubstr;

class PublicFeaturesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(daemon_.Start());
    Synthesize(rows_, "private=2000,public=60,test=200");
    MarkAsPublic("x1");
  }

  void MarkAsPublic(const std::string& feature) {
    nlohmann::json schema = nlohmann::json::parse(std::ifstream(rows_ + "/schema.json"));
    for (auto& of_schema : schema["features"]) {
      if (of_schema["name"] == feature) of_schema["public"] = true;
    }
    std::ofstream(rows_ + "/schema.json") << schema;
  }

  Outcome Create(const std::string& mechanism = "auto") const {
    return daemon_.Coppice({"study", "create", "--study", "shown", "--public",
                            rows_ + "/public.csv", "--schema", rows_ + "/schema.json", "--epsilon",
                            "2", "--mechanism", mechanism});
  }

  Outcome Collect(const std::vector<std::string>& more) const {
    std::vector<std::string> command = {"collect", "simulate", "--study",
                                        "shown",   "--data",   rows_ + "/private.csv"};
    command.insert(command.end(), more.begin(), more.end());
    return daemon_.Coppice(command);
  }

  TempDir folder_;
  Daemon daemon_{folder_.path()};
  const std::string rows_ = folder_.path() + "/rows";
};

TEST_F(PublicFeaturesTest, AreShownByThoseWhoAgreeAndAllReportsOutliveTheDaemon) {
  const Outcome created = Create();
  ASSERT_EQ(created.exit_code, 0) << created.err;
  const Outcome declined = Collect({});
  EXPECT_NE(declined.exit_code, 0);
  EXPECT_THAT(declined.err, AllOf(HasSubstr("\"x1\""), HasSubstr("--allow-in-clear")));
  EXPECT_EQ(daemon_.CoppiceJson({"study", "show", "--study", "shown"})["received"], 0);

  const Outcome collected = Collect({"--allow-in-clear", "x1"});
  EXPECT_EQ(collected.exit_code, 0) << collected.err;
  daemon_.Signal(SIGKILL);
  ASSERT_TRUE(daemon_.Start());
  const auto study = daemon_.CoppiceJson({"study", "show", "--study", "shown"});
  EXPECT_EQ(study["accepted"], 2000);
  EXPECT_EQ(study["public_features"], nlohmann::json::array({"x1"}));

  const auto counts = daemon_.CoppiceJson({"study", "counts", "--study", "shown", "--depth", "1"});
  EXPECT_EQ(counts["reports"], 2000);
  daemon_.CoppiceJson({"model", "build", "--study", "shown", "--model", "m"});
  const auto score =
      daemon_.CoppiceJson({"model", "evaluate", "--model", "m", "--data", rows_ + "/test.csv"});
  EXPECT_GT(score["accuracy"], 0.6);
  const Outcome verified = daemon_.Coppice({"model", "verify", "--model", "m"});
  EXPECT_EQ(verified.exit_code, 0) << verified.err;
  EXPECT_THAT(verified.out, HasSubstr("its public features as they are: x1"));
}

TEST_F(PublicFeaturesTest, LaplaceMechanismsAndOtherEstimatorsAreRefusedInWords) {
  const Outcome laplace = Create("laplace_joint");
  EXPECT_NE(laplace.exit_code, 0);
  EXPECT_THAT(laplace.err, HasSubstr("is for studies without public features"));
  ASSERT_EQ(Create("direct").exit_code, 0);
  ASSERT_EQ(Collect({"--show", "x1"}).exit_code, 0);
  const Outcome pruned = daemon_.Coppice(
      {"model", "build", "--study", "shown", "--model", "m", "--estimator", "prune"});
  EXPECT_NE(pruned.exit_code, 0);
  EXPECT_THAT(pruned.err, HasSubstr("pooled"));
}

}  // namespace
}  // namespace coppice
