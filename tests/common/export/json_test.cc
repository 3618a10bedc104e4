#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

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
using ::coppice::testing::kHostileText;
using ::coppice::testing::NumericSplit;
using ::coppice::testing::OneSplit;
using ::coppice::testing::SumOfTwo;
using ::testing::HasSubstr;
using Json = nlohmann::json;

Json Exported(const Model& model) { return Json::parse(*ToJson(model, "m1")); }

TEST(FormatsTest, AreKnownByName) {
  EXPECT_THAT(FormatNames(), ::testing::ElementsAre("json", "onnx", "xgboost", "c", "sql"));
  const Model model = OneSplit(ExportedSchema(), NumericSplit(0, 0.5), {1, -1}, {-1, 1});
  for (const std::string& name : FormatNames()) {
    EXPECT_TRUE(ExportModel(model, "m1", name).ok()) << name;
  }
  const Status status = ExportModel(model, "m1", "pmml").status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("json, onnx, xgboost, c"));
}

TEST(JsonTest, SaysWhatTheModelIs) {
  const Json json =
      Exported(OneSplit(ExportedSchema(), NumericSplit(0, 0.1, true), {1, -1}, {-1, 1}));
  EXPECT_EQ(json["format"], "coppice.model");
  EXPECT_EQ(json["version"], 1);
  EXPECT_EQ(json["id"], "m1");
  EXPECT_EQ(json["leaf_kind"], "scores");
  EXPECT_EQ(json["classes"], Json({"no", kHostileText}));
  EXPECT_EQ(
      json["features"][1],
      Json(
          {{"name", "age"}, {"type", "numeric"}, {"min", 0.0}, {"max", 100.0}, {"integer", true}}));
  EXPECT_EQ(json["certificate"]["epsilon_nanos"], 1'500'000'000);
  EXPECT_EQ(json["certificate"]["delta"], 7e-18);
  EXPECT_EQ(json["certificate"]["releases"][0]["what"], kHostileText);
  const Json& nodes = json["trees"][0]["nodes"];
  EXPECT_EQ(
      nodes[0],
      Json({{"feature", "x"}, {"below", 0.1}, {"missing", "left"}, {"left", 1}, {"right", 2}}));
  EXPECT_EQ(nodes[1], Json({{"outputs", {1, -1}}}));
}

TEST(JsonTest, NamesCategories) {
  const auto root = [](const Node& split) {
    return Exported(OneSplit(ExportedSchema(), split, {1, -1}, {-1, 1}))["trees"][0]["nodes"][0];
  };
  EXPECT_EQ(root(CategorySplit(1))["is"], kHostileText);
  EXPECT_EQ(root(CategorySplit(2))["is_other"], true);
  const Json missing = root({.kind = SplitKind::kMissing, .feature = 2, .left = 1, .right = 2});
  EXPECT_EQ(missing, Json({{"feature", "job"}, {"is_missing", true}, {"left", 1}, {"right", 2}}));
}

TEST(JsonTest, ALeafThatDecidesHasItsLabelAndAnErrorThatMayBeUnknown) {
  const Json nodes = Exported(OneSplit(ExportedSchema(), NumericSplit(0, 0.5), {1, 0}, {0.5, 0.5},
                                       LeafKind::kProbabilities))["trees"][0]["nodes"];
  EXPECT_EQ(nodes[1], Json({{"outputs", {1, 0}}, {"standard_error", nullptr}, {"label", "no"}}));
  EXPECT_EQ(nodes[2]["standard_error"], 0.5);
}

TEST(JsonTest, HasTargetsAndDerivedFeatures) {
  const Json json = Exported(OneSplit(ExportedRegression(), NumericSplit(3, 0.25), {0, 1}, {0, 0.5},
                                      LeafKind::kScores, {SumOfTwo()}));
  EXPECT_EQ(json["target"], Json({{"min", -10.0}, {"max", 40.0}}));
  EXPECT_FALSE(json.contains("classes"));
  EXPECT_EQ(json["derived"][0]["terms"],
            Json({{{"feature", "x"}, {"sign", 1}}, {{"feature", "age"}, {"sign", -1}}}));
  EXPECT_EQ(json["trees"][0]["nodes"][0]["feature"], json["derived"][0]["name"]);
}

}  // namespace
}  // namespace coppice::formats
