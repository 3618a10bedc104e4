#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/substitute.h"
#include "common/data/read_table.h"
#include "tests/support/data_dir.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_file.h"

namespace coppice {
namespace {

using ::coppice::testing::StatusIs;
using ::coppice::testing::TempFile;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kIncome[] = R"({
  "label": "income", "classes": ["low", "high"], "rows": 7,
  "features": [{"name": "age", "type": "numeric", "min": 17, "max": 90.5},
               {"name": "sex", "type": "categorical", "values": ["Female", "Male"]}]})";

MATCHER_P(IsRefusedSchema, message, "") {
  return ::testing::ExplainMatchResult(
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(message)), ParseSchema(arg),
      result_listener);
}

// A schema with one feature, given as JSON.
std::string With(absl::string_view feature) {
  return absl::StrCat(R"({"label": "y", "classes": ["a", "b"], "features": [)", feature, "]}");
}

TEST(SchemaJsonTest, ReadsFeaturesLabelAndClassesAndIgnoresTheRest) {
  ASSERT_OK_AND_ASSIGN(const auto schema, ParseSchema(kIncome));
  EXPECT_EQ(schema->label(), "income");
  EXPECT_THAT(schema->classes(), ElementsAre("low", "high"));
  EXPECT_EQ(schema->features()[0].max, 90.5);
  EXPECT_THAT(schema->features()[1].values, ElementsAre("Female", "Male"));
}

TEST(SchemaJsonTest, ATargetWithBoundsStandsInForClasses) {
  ASSERT_OK_AND_ASSIGN(const auto schema, ParseSchema(R"({
    "label": "rings", "target_min": 1, "target_max": 29,
    "features": [{"name": "x", "type": "numeric", "min": 0, "max": 1}]})"));
  EXPECT_EQ(schema->target(), (Target{.min = 1, .max = 29}));
  EXPECT_THAT(R"({"label": "y", "target_min": 1})", IsRefusedSchema("\"target_max\""));
  EXPECT_THAT(R"({"label": "y", "target_min": 1, "target_max": 2, "classes": ["a", "b"]})",
              IsRefusedSchema("not both"));
}

TEST(SchemaJsonTest, MoreFeaturesOrClassesThanThereMayBeAreRefused) {
  const std::string feature = R"({"name": "f$0", "type": "numeric", "min": 0, "max": 1})";
  std::vector<std::string> features, classes;
  for (size_t i = 0; i <= kMaxFeatures; ++i) features.push_back(absl::Substitute(feature, i));
  EXPECT_THAT(With(absl::StrJoin(features, ",")), IsRefusedSchema("at most 65536 features"));
  for (size_t i = 0; i <= kMaxClasses; ++i) classes.push_back(absl::StrCat("\"c", i, "\""));
  EXPECT_THAT(absl::StrCat(R"({"label": "y", "features": [)", features[0], R"(], "classes": [)",
                           absl::StrJoin(classes, ","), "]}"),
              IsRefusedSchema("at most 4096 classes"));
}

TEST(SchemaJsonTest, StudiesNeedClasses) {
  const TempFile file(".json", R"({
    "label": "rings", "target_min": 1, "target_max": 29,
    "features": [{"name": "x", "type": "numeric", "min": 0, "max": 1}]})");
  EXPECT_OK(ReadSchema(file.path()));
  EXPECT_THAT(ReadClassSchema(file.path()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("\"classes\"")));
}

TEST(SchemaJsonTest, RefusesWhatIsNoJsonObject) {
  EXPECT_THAT("", IsRefusedSchema("not valid JSON"));
  EXPECT_THAT("{\"label\": ", IsRefusedSchema("not valid JSON"));
  EXPECT_THAT(std::string(100'000, '['), IsRefusedSchema("not valid JSON"));
  EXPECT_THAT("[]", IsRefusedSchema("must be a JSON object"));
}

TEST(SchemaJsonTest, NamesTheMemberThatIsMissingOrOfTheWrongType) {
  EXPECT_THAT("{}", IsRefusedSchema("\"label\""));
  EXPECT_THAT(R"({"label": 3})", IsRefusedSchema("\"label\""));
  EXPECT_THAT(R"({"label": "y", "classes": "a"})", IsRefusedSchema("\"classes\", a list of texts"));
  EXPECT_THAT(R"({"label": "y", "classes": [0, 1]})",
              IsRefusedSchema("\"classes\", a list of texts"));
  EXPECT_THAT(R"({"label": "y", "classes": ["a", "b"]})", IsRefusedSchema("\"features\", a list"));
}

TEST(SchemaJsonTest, NamesTheFeatureThatIsWrong) {
  EXPECT_THAT(With("3"), IsRefusedSchema("feature 1 must be a JSON object"));
  EXPECT_THAT(With("{}"), IsRefusedSchema("feature 1 needs the text member \"name\""));
  EXPECT_THAT(With(R"({"name": "x"})"),
              IsRefusedSchema("feature \"x\" needs the text member \"type\""));
  EXPECT_THAT(With(R"({"name": "x", "type": "date"})"), IsRefusedSchema("\"numeric\" or"));
  EXPECT_THAT(With(R"({"name": "x", "type": "numeric", "min": 0})"), IsRefusedSchema("\"max\""));
  EXPECT_THAT(With(R"({"name": "x", "type": "numeric", "min": "0", "max": 1})"),
              IsRefusedSchema("number member \"min\""));
  EXPECT_THAT(With(R"({"name": "x", "type": "numeric", "min": 0, "max": 1e999})"),
              IsRefusedSchema("not valid JSON"));
  EXPECT_THAT(With(R"({"name": "x", "type": "categorical"})"), IsRefusedSchema("\"values\""));
}

TEST(SchemaJsonTest, AppliesTheRulesOfSchemas) {
  EXPECT_THAT(With(""), IsRefusedSchema("at least one feature"));
  EXPECT_THAT(With(R"({"name": "x", "type": "numeric", "min": 2, "max": 1})"),
              IsRefusedSchema("min must not exceed max"));
}

TEST(SchemaJsonTest, FileErrorsNameTheFile) {
  EXPECT_THAT(ReadSchema("/nonexistent/schema.json"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("/nonexistent/schema.json")));
  const TempFile broken(".json", "{");
  EXPECT_THAT(ReadSchema(broken.path()),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr(broken.path()), HasSubstr("not valid JSON"))));
  const TempFile good(".json", kIncome);
  EXPECT_OK(ReadSchema(good.path()));
}

TEST(SchemaJsonTest, ReadsARealSchema) {
  COPPICE_NEEDS_DATA_SET(folder, "mushroom");
  ASSERT_OK_AND_ASSIGN(const auto schema, ReadSchema(folder + "/schema.json"));
  EXPECT_EQ(schema->num_features(), 22u);
  EXPECT_THAT(schema->classes(), ElementsAre("e", "p"));
}

}  // namespace
}  // namespace coppice
