// tests/runtimes tests the file in XGBoost.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "common/base/status.h"
#include "common/export/formats.h"
#include "tests/common/export/sample_models.h"
#include "tests/support/status_matchers.h"

namespace coppice::formats {
namespace {

using ::coppice::testing::CategorySplit;
using ::coppice::testing::ExportedRegression;
using ::coppice::testing::ExportedSchema;
using ::coppice::testing::NumericSplit;
using ::coppice::testing::OneSplit;
using ::coppice::testing::SumOfTwo;
using ::testing::HasSubstr;
using Json = nlohmann::json;

constexpr float kNothingBelow = std::numeric_limits<float>::lowest();

Json Learner(const Model& model) { return Json::parse(*ToXgboost(model, "m1"))["learner"]; }

Json TreeOf(const Node& split) {
  return Learner(
      OneSplit(ExportedSchema(), split, {2, -1}, {-1, 1}))["gradient_booster"]["model"]["trees"][0];
}

TEST(XgboostTest, TwoClassesOfScoresAreLogistic) {
  const Json learner = Learner(OneSplit(ExportedSchema(), NumericSplit(0, 0.1), {2, -1}, {-1, 1}));
  EXPECT_EQ(learner["objective"]["name"], "binary:logistic");
  EXPECT_EQ(learner["attributes"]["coppice.model"], "m1");
  EXPECT_FALSE(learner["attributes"].contains("coppice.cut"));
  EXPECT_EQ(learner["feature_names"], Json({"x", "age", "job"}));
  EXPECT_EQ(learner["feature_types"], Json({"q", "q", "c"}));
  const Json& tree = learner["gradient_booster"]["model"]["trees"][0];
  EXPECT_EQ(tree["split_conditions"][1], -3.0);
  EXPECT_EQ(tree["split_conditions"][2], 2.0);
  EXPECT_EQ(tree["sum_hessian"], Json({2.0, 1.0, 1.0}));
  EXPECT_EQ(tree["base_weights"][0], -0.5);
}

// XGBoost's Booster.attributes() fails on a value that is empty.
TEST(XgboostTest, AModelWithoutAnIdHasNoEmptyAttribute) {
  const Model model = OneSplit(ExportedSchema(), NumericSplit(0, 0.1), {2, -1}, {-1, 1});
  const Json attributes = Json::parse(*ToXgboost(model, ""))["learner"]["attributes"];
  EXPECT_FALSE(attributes.contains("coppice.model"));
  for (const auto& [name, value] : attributes.items()) EXPECT_NE(value, "") << name;
}

TEST(XgboostTest, MoreClassesHaveATreeEachAndConstantsAreOneLeaf) {
  const Json learner = Learner(
      OneSplit(ExportedSchema({"a", "b", "c"}), NumericSplit(0, 0.1), {2, 0, 1}, {-1, 0, 1}));
  EXPECT_EQ(learner["objective"]["name"], "multi:softprob");
  EXPECT_EQ(learner["learner_model_param"]["num_class"], "3");
  const Json& model = learner["gradient_booster"]["model"];
  EXPECT_EQ(model["tree_info"], Json({0, 1, 2}));
  EXPECT_EQ(model["trees"][0]["left_children"].size(), 3u);
  EXPECT_EQ(model["trees"][1]["split_conditions"], Json::array({0.0}));
  EXPECT_EQ(model["trees"][2]["split_conditions"], Json::array({1.0}));
}

TEST(XgboostTest, NumbersSayWhatTheyAreCutTo) {
  const Json learner =
      Learner(OneSplit(ExportedRegression(), NumericSplit(0, 0.1), {0, 0.5}, {0, 2}));
  EXPECT_EQ(learner["objective"]["name"], "reg:squarederror");
  EXPECT_EQ(learner["learner_model_param"]["base_score"], "-10E0");
  EXPECT_EQ(learner["attributes"]["coppice.cut"], "[-10.0,40.0]");
  EXPECT_EQ(learner["gradient_booster"]["model"]["trees"][0]["split_conditions"][2], 100.0);
}

// Every float32 is on the same side of the file's cut as of the model's.
TEST(XgboostTest, CutsAreTheNextFloat) {
  for (const double cut : {0.1, 0.3, 1.0 / 3, 0.5, 0x1p-130, 0.99999999999}) {
    const float near = TreeOf(NumericSplit(0, cut))["split_conditions"][0].get<float>();
    EXPECT_GE(static_cast<double>(near), cut);
    EXPECT_LT(static_cast<double>(std::nextafter(near, -1.0f)), cut);
  }
}

TEST(XgboostTest, CutsOfWholeFeaturesRoundAsTheReaderDoes) {
  const auto cut = [](double threshold) {
    return TreeOf(NumericSplit(1, threshold))["split_conditions"][0].get<double>();
  };
  EXPECT_EQ(cut(37), 36.5);
  EXPECT_EQ(cut(36.2), 36.5);
  EXPECT_EQ(cut(36.5), 36.5);
  EXPECT_EQ(cut(0.1), 0.5);
}

TEST(XgboostTest, CutsBeyondBoundsHaveEveryValueOnOneSide) {
  const Json below = TreeOf(NumericSplit(0, 0, /*missing_left=*/true));
  EXPECT_EQ(below["split_conditions"][0].get<float>(), kNothingBelow);
  EXPECT_EQ(below["default_left"][0], 1);
  EXPECT_EQ(below["split_conditions"][2], 2.0);  // our right leaf
  const Json above = TreeOf(NumericSplit(0, 1.5, /*missing_left=*/true));
  EXPECT_EQ(above["split_conditions"][0].get<float>(), kNothingBelow);
  EXPECT_EQ(above["default_left"][0], 0);
  EXPECT_EQ(above["split_conditions"][2], -3.0);  // our left leaf
}

TEST(XgboostTest, ACategoryGoesRight) {
  const Json tree = TreeOf(CategorySplit(1));
  EXPECT_EQ(tree["categories"], Json::array({1}));
  EXPECT_EQ(tree["categories_nodes"], Json::array({0}));
  EXPECT_EQ(tree["split_type"][0], 1);
  EXPECT_EQ(tree["default_left"][0], 1);  // our right
  EXPECT_EQ(tree["split_conditions"][2], -3.0);
}

// XGBoost dumps no numeric split of a categorical column, as one below which there is nothing is.
TEST(XgboostTest, AMissingCategoryIsApartByACategoryThatThereIsNot) {
  const Json tree = TreeOf({.kind = SplitKind::kMissing, .feature = 2, .left = 1, .right = 2});
  EXPECT_EQ(tree["split_type"][0], 1);
  EXPECT_EQ(tree["categories"], Json::array({3}));  // two values, and other
  EXPECT_EQ(tree["default_left"][0], 0);
  EXPECT_EQ(tree["split_conditions"][1], 2.0);   // our right: all values
  EXPECT_EQ(tree["split_conditions"][2], -3.0);  // our left: no value
}

TEST(XgboostTest, ChildrenAreSideBySide) {
  const Schema schema = ExportedSchema();
  Node root = NumericSplit(0, 0.5), left = NumericSplit(0, 0.2), right = NumericSplit(1, 50);
  left.left = 3, left.right = 4, right.left = 5, right.right = 6;
  const Tree tree = *Tree::Create({root, left, right, Node{}, Node{}, Node{}, Node{}}, schema);
  std::vector<LeafPrediction> leaves;
  for (uint32_t l = 0; l < 4; ++l) {
    leaves.push_back({.probabilities = {0, l * 1.0}, .source_node = tree.leaf_node(l)});
  }
  const Model model = *Model::Create(schema, {tree}, {leaves}, Certificate{}, LeafKind::kScores);
  const Json written = Learner(model)["gradient_booster"]["model"]["trees"][0];
  EXPECT_EQ(written["left_children"], Json({1, 3, 5, -1, -1, -1, -1}));
  EXPECT_EQ(written["right_children"], Json({2, 4, 6, -1, -1, -1, -1}));
  EXPECT_EQ(written["parents"], Json({2147483647, 0, 0, 1, 1, 2, 2}));
  EXPECT_EQ(written["sum_hessian"], Json({4.0, 2.0, 2.0, 1.0, 1.0, 1.0, 1.0}));
  EXPECT_EQ(written["base_weights"], Json({1.5, 0.5, 2.5, 0.0, 1.0, 2.0, 3.0}));
}

TEST(XgboostTest, RefusesWhatItCannotSay) {
  const auto refusal = [](const Model& model) {
    const Status status = ToXgboost(model, "m1").status();
    EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(status.message()), HasSubstr("onnx, c or json"));
    return std::string(status.message());
  };
  const Node split = NumericSplit(0, 0.5);
  EXPECT_THAT(refusal(OneSplit(ExportedSchema(), split, {1, 2}, {2, 1}, LeafKind::kWeights)),
              HasSubstr("weights"));
  EXPECT_THAT(refusal(OneSplit(ExportedSchema({"a", "b", "c"}), split, {1, 0, 0}, {0, 1, 0},
                               LeafKind::kProbabilities)),
              HasSubstr("three or more classes"));
  EXPECT_THAT(refusal(OneSplit(ExportedSchema(), NumericSplit(3, 0.5), {1, 0}, {0, 1},
                               LeafKind::kScores, {SumOfTwo()})),
              HasSubstr("sums of features"));
  const Schema vast = *Schema::CreateRegression(coppice::testing::ExportedFeatures(), "price",
                                                {.min = -1e30, .max = 1e30});
  EXPECT_THAT(refusal(OneSplit(vast, split, {0, 1}, {0, 0})), HasSubstr("target's bounds"));
  // Its right leaf votes for the first class too.
  EXPECT_THAT(refusal(OneSplit(ExportedSchema(), split, {1, 0}, {0, 1}, LeafKind::kProbabilities)),
              HasSubstr("most probable"));
}

TEST(XgboostTest, NamesThatItRefusesAreLeftOut) {
  std::vector<Feature> features = coppice::testing::ExportedFeatures();
  features[0].name = "x [m]";
  const Schema schema = *Schema::Create(features, "buys", {"no", "yes"});
  EXPECT_EQ(Learner(OneSplit(schema, NumericSplit(0, 0.5), {1, 0}, {0, 1}))["feature_names"],
            Json::array());
}

}  // namespace
}  // namespace coppice::formats
