// Counts of a study's nodes, with a real daemon and the real command line.

#include <gmock/gmock.h>

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
using ::testing::HasSubstr;

class CountsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(daemon_.Start());
    Synthesize(rows_, "private=400,public=60,test=10");
  }

  void Collect(const std::string& study, const std::string& mechanism,
               const std::vector<std::string>& more = {}) {
    std::vector<std::string> create = {"study",       "create",
                                       "--study",     study,
                                       "--public",    rows_ + "/public.csv",
                                       "--schema",    rows_ + "/schema.json",
                                       "--epsilon",   "8",
                                       "--mechanism", mechanism,
                                       "--depth",     "2"};
    create.insert(create.end(), more.begin(), more.end());
    daemon_.CoppiceJson(create);
    daemon_.CoppiceJson(
        {"collect", "simulate", "--study", study, "--data", rows_ + "/private.csv"});
  }

  TempDir folder_;
  Daemon daemon_{folder_.path()};
  const std::string rows_ = folder_.path() + "/rows";
};

TEST_F(CountsTest, BreakDownAStudyByItsNodes) {
  Collect("counted", "optimized_unary");
  const auto all = daemon_.CoppiceJson({"study", "counts", "--study", "counted"});
  EXPECT_EQ(all["reports"], 400);
  EXPECT_EQ(all["tree_reports"], 400);
  EXPECT_EQ(all["confidence"], 0.95);
  ASSERT_EQ(all["nodes"].size(), 7u);
  EXPECT_EQ(all["intervals"], 20);
  EXPECT_EQ(all["nodes"][0]["rows"]["estimate"], 400);
  EXPECT_EQ(all["nodes"][0]["public_rows"], 60);
  const auto& left = all["nodes"][1];
  EXPECT_EQ(left["conditions"].size(), 1u);
  EXPECT_LT(left["rows"]["low"], left["rows"]["estimate"]);
  EXPECT_GT(left["rows"]["high"], left["rows"]["estimate"]);
  EXPECT_EQ(left["classes"].size(), 2u);

  const auto one = daemon_.CoppiceJson({"study", "counts", "--study", "counted", "--node", "1"});
  ASSERT_EQ(one["nodes"].size(), 1u);
  EXPECT_GT(one["nodes"][0]["rows"]["low"], left["rows"]["low"]);  // narrower

  const Outcome text = daemon_.Coppice({"study", "counts", "--study", "counted", "--depth", "1"});
  EXPECT_EQ(text.exit_code, 0);
  EXPECT_THAT(text.out, HasSubstr("everywhere"));
  EXPECT_THAT(text.err, HasSubstr("All 8 intervals hold together with probability 0.95 or more"));
}

TEST_F(CountsTest, AMechanismOfMarginsGivesMarginsAlone) {
  Collect("margins", "signed_hadamard", {"--trees", "2"});
  const auto counts =
      daemon_.CoppiceJson({"study", "counts", "--study", "margins", "--tree", "1", "--depth", "0"});
  EXPECT_THAT(counts["method"], HasSubstr("scaled to all 400"));
  EXPECT_THAT(counts["method"], HasSubstr("tells margins only"));
  EXPECT_LT(counts["tree_reports"], 400);
  EXPECT_TRUE(counts["nodes"][0].contains("margin"));
  EXPECT_FALSE(counts["nodes"][0].contains("rows"));
  EXPECT_FALSE(counts["nodes"][0].contains("classes"));
}

TEST_F(CountsTest, SaysWhatIsWrong) {
  Collect("few", "direct", {"--min-reports", "500"});
  const auto error = [&](std::vector<std::string> flags) {
    flags.insert(flags.begin(), {"study", "counts", "--study"});
    const Outcome outcome = daemon_.Coppice(flags);
    EXPECT_NE(outcome.exit_code, 0);
    return outcome.err;
  };
  EXPECT_THAT(error({"few"}), HasSubstr("has 400 accepted reports, and gives no counts below 500"));
  EXPECT_THAT(error({"absent"}), HasSubstr("there is no study absent"));
  EXPECT_THAT(error({"few", "--node", "1", "--depth", "1"}), HasSubstr("give one of them"));
  EXPECT_THAT(error({"few", "--confidence", "1"}), HasSubstr("--confidence"));
  Collect("enough", "direct");
  EXPECT_THAT(error({"enough", "--tree", "1"}), HasSubstr("its trees are 0 to 0"));
  EXPECT_THAT(error({"enough", "--node", "99"}), HasSubstr("its nodes are 0 to"));
}

}  // namespace
}  // namespace coppice
