// A model is evaluated on a dataset's reserve, with a real daemon and the command line.

#include <string>
#include <vector>

#include "tests/integration/daemon.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace coppice {
namespace {

using ::coppice::testing::Daemon;
using ::coppice::testing::Outcome;
using ::coppice::testing::Synthesize;
using ::coppice::testing::TempDir;
using ::testing::HasSubstr;

class EvaluationTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(daemon_.Start());
    Synthesize(rows_, "private=4000,public=200,test=500");
    const auto created = daemon_.CoppiceJson(
        {"dataset", "create", "--dataset", "d", "--data", rows_ + "/private.csv", "--schema",
         rows_ + "/schema.json", "--epsilon-total", "20", "--reserve", "0.5"});
    EXPECT_EQ(created["reserve"], 0.5);
    const Outcome trained =
        daemon_.Coppice({"train", "submit", "--dataset", "d", "--algorithm", "spe", "--job", "j",
                         "--model", "m", "--epsilon", "20", "--wait"});
    EXPECT_EQ(trained.exit_code, 0) << trained.err;
  }

  static std::vector<std::string> Evaluate(const std::string& epsilon) {
    return {"model", "evaluate", "--model", "m", "--dataset", "d", "--epsilon", epsilon};
  }

  TempDir folder_;
  Daemon daemon_{folder_.path()};
  std::string rows_ = folder_.path() + "/rows";
};

TEST_F(EvaluationTest, AnEmptyAccountOfTrainingKeepsNobodyFromEvaluating) {
  std::vector<std::string> preview = Evaluate("10");
  preview.insert(preview.end(), {"--preview", "2000"});
  const auto foreseen = daemon_.CoppiceJson(preview);
  EXPECT_EQ(foreseen["fits"], true);
  EXPECT_LT(foreseen["half_width"], 0.05);
  std::vector<std::string> evaluate = Evaluate("10");
  evaluate.insert(evaluate.end(), {"--request-id", "r1"});
  const auto scores = daemon_.CoppiceJson(evaluate);
  EXPECT_EQ(scores["account"], "reserve");
  EXPECT_EQ(scores["covers"], true);
  EXPECT_EQ(scores["epsilon"], 10.0);
  EXPECT_LT(scores["interval"][0], scores["accuracy"]);
  EXPECT_LT(scores["accuracy"], scores["interval"][1]);
  // Two thousand rows and five hundred, each with a deviation below .023: .16 is six of both.
  const auto tested =
      daemon_.CoppiceJson({"model", "evaluate", "--model", "m", "--data", rows_ + "/test.csv"});
  EXPECT_NEAR(scores["accuracy"].get<double>(), tested["accuracy"].get<double>(), 0.16);

  daemon_.Stop();
  ASSERT_TRUE(daemon_.Start());
  EXPECT_EQ(daemon_.CoppiceJson(evaluate), scores) << "the result that was paid for";
  const auto shown = daemon_.CoppiceJson({"dataset", "show", "--dataset", "d"});
  EXPECT_EQ(shown["epsilon_spent"], 20.0);
  EXPECT_EQ(shown["reserve_epsilon_spent"], 10.0);
  EXPECT_EQ(shown["reserve_epsilon_left"], 10.0);
  const auto& last = shown["ledger"].back();
  EXPECT_EQ(last["evaluation"], scores["evaluation"]);
  EXPECT_EQ(last["account"], "reserve");
  EXPECT_EQ(last["releases"].size(), 2u);

  const Outcome refused = daemon_.Coppice(Evaluate("11"));
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.err, HasSubstr("10 is left"));
  const Outcome training = daemon_.Coppice(
      {"train", "submit", "--dataset", "d", "--algorithm", "spe", "--job", "k", "--epsilon", "1"});
  EXPECT_EQ(training.exit_code, 1) << "its account is empty";
}

TEST_F(EvaluationTest, WrongLinesNameTheFlag) {
  const auto refused = [this](const std::vector<std::string>& line, int code, const char* words) {
    const Outcome outcome = daemon_.Coppice(line);
    EXPECT_EQ(outcome.exit_code, code);
    EXPECT_THAT(outcome.err, HasSubstr(words));
  };
  refused({"model", "evaluate", "--model", "m", "--dataset", "d"}, 2, "--epsilon is required");
  refused({"model", "evaluate", "--model", "m"}, 2, "--data");
  refused({"model", "evaluate", "--model", "m", "--data", "x.csv", "--by", "a"}, 2, "--dataset");
  refused(Evaluate("0"), 2, "--epsilon");
  std::vector<std::string> by = Evaluate("1");
  by.insert(by.end(), {"--by", "nothing"});
  refused(by, 1, "no feature");
  refused({"dataset", "create", "--data", rows_ + "/private.csv", "--schema",
           rows_ + "/schema.json", "--epsilon-total", "1", "--reserve", "1"},
          2, "--reserve");
  EXPECT_EQ(daemon_.CoppiceJson({"dataset", "show", "--dataset", "d"})["reserve_epsilon_spent"],
            0.0);
}

}  // namespace
}  // namespace coppice
