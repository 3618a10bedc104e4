// `coppice model show` of a file.

#include <gmock/gmock.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "client/cli/terminal/output.h"
#include "common/wire/proto/convert.h"
#include "coppice/v1/model.pb.h"
#include "tests/client/cli/run_coppice.h"
#include "tests/common/wire/proto/wire_fixtures.h"
#include "tests/support/temp_dir.h"

namespace coppice::cli {
namespace {

using ::coppice::testing::Outcome;
using ::coppice::testing::RunCoppice;
using ::coppice::testing::TempDir;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class ShowTest : public ::testing::Test {
 protected:
  // Returns what `model show` prints for a model of this many equal trees.
  Outcome Show(int trees, const std::vector<std::string>& flags) {
    v1::Model model = ToProto(testing::MakeModel());
    model.set_name("models/m1");
    const v1::Tree tree = model.forest().trees(0);
    const v1::TreePredictions predictions = model.predictions(0);
    model.mutable_forest()->clear_trees();
    model.clear_predictions();
    for (int t = 0; t < trees; ++t) {
      *model.mutable_forest()->add_trees() = tree;
      *model.add_predictions() = predictions;
    }
    std::string text;
    EXPECT_TRUE(google::protobuf::util::MessageToJsonString(model, &text).ok());
    std::ofstream(folder_.path() + "/model.json") << text;
    std::vector<std::string> line = {"model", "show", "--file", folder_.path() + "/model.json"};
    line.insert(line.end(), flags.begin(), flags.end());
    return RunCoppice(line);
  }

  std::string Written(const std::string& name) {
    std::ifstream file(folder_.path() + name);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  TempDir folder_;
};

TEST_F(ShowTest, AForestIsShownAtAGlanceAndSaysHowToGoOn) {
  const Outcome outcome = Show(3, {});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out,
              AllOf(StartsWith("edible by 3 trees\n"), HasSubstr("\nimportance, as a part"),
                    HasSubstr("Trees are numbered 0 to 2: `--tree 0` shows the first")));
}

TEST_F(ShowTest, OneTreeIsDrawnIfItIsAskedForOrAllThereIs) {
  EXPECT_THAT(Show(3, {"--tree", "0"}).out, StartsWith("tree 0 of 0 to 2: edible by 4 leaves"));
  EXPECT_THAT(Show(3, {"--tree", "2"}).out, StartsWith("tree 2 of 0 to 2: edible by 4 leaves"));
  EXPECT_THAT(Show(1, {}).out, StartsWith("tree 0: edible by 4 leaves"));
  EXPECT_THAT(Show(3, {"--format", "dot"}).out, HasSubstr("tree 0 of 0 to 2"));
  EXPECT_THAT(Show(3, {"--format", "svg", "--tree", "1"}).out, HasSubstr("tree 1 of 0 to 2"));
  EXPECT_THAT(Show(3, {"--tree", "3"}).err, HasSubstr("the model's trees are 0 to 2"));
}

TEST_F(ShowTest, JsonHasImportancesAndADrawing) {
  const Outcome outcome = Show(3, {"--json"});
  const Json json = Json::parse(outcome.out);
  EXPECT_EQ(json["model"], "m1");
  EXPECT_EQ(json["tree"], 0);
  EXPECT_THAT(json["drawing"].get<std::string>(), StartsWith("tree 0 of 0 to 2"));
  double sum = 0;
  for (const Json& one : json["importances"]) {
    EXPECT_TRUE(one["feature"] == "age" || one["feature"] == "odor");
    EXPECT_TRUE(one["standard_error"].is_number());
    sum += one["importance"].get<double>();
  }
  EXPECT_NEAR(sum, 1, 1e-9);
}

TEST_F(ShowTest, TheSummaryIsWrittenToAFileToo) {
  const Outcome outcome = Show(2, {"--output", folder_.path() + "/summary.txt"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(Written("/summary.txt"), StartsWith("edible by 2 trees\n"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("edible by 2 trees")));
}

TEST_F(ShowTest, NeedsAModelOrAFileAndNoServerForAFile) {
  EXPECT_THAT(RunCoppice({"model", "show"}).err, HasSubstr("--model or --file is required"));
  EXPECT_THAT(RunCoppice({"model", "show", "--file", "f", "--model", "m"}).err,
              HasSubstr("--file"));
  EXPECT_THAT(RunCoppice({"model", "show", "--file", folder_.path() + "/none.json"}).err,
              HasSubstr("cannot read"));
}

}  // namespace
}  // namespace coppice::cli
