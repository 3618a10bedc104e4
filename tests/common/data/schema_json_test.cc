#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

MATCHER_P(IsRefused, message, "") {
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
  EXPECT_THAT(R"({"label": "y", "target_min": 1})", IsRefused("\"target_max\""));
  EXPECT_THAT(R"({"label": "y", "target_min": 1, "target_max": 2, "classes": ["a", "b"]})",
              IsRefused("not both"));
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
  EXPECT_THAT("", IsRefused("not valid JSON"));
  EXPECT_THAT("{\"label\": ", IsRefused("not valid JSON"));
  EXPECT_THAT(std::string(100'000, '['), IsRefused("not valid JSON"));
  EXPECT_THAT("[]", IsRefused("must be a JSON object"));
}

TEST(SchemaJsonTest, NamesTheMemberThatIsMissingOrOfTheWrongType) {
  EXPECT_THAT("{}", IsRefused("\"label\""));
  EXPECT_THAT(R"({"label": 3})", IsRefused("\"label\""));
  EXPECT_THAT(R"({"label": "y", "classes": "a"})", IsRefused("\"classes\", a list of texts"));
  EXPECT_THAT(R"({"label": "y", "classes": [0, 1]})", IsRefused("\"classes\", a list of texts"));
  EXPECT_THAT(R"({"label": "y", "classes": ["a", "b"]})", IsRefused("\"features\", a list"));
}

TEST(SchemaJsonTest, NamesTheFeatureThatIsWrong) {
  EXPECT_THAT(With("3"), IsRefused("feature 1 must be a JSON object"));
  EXPECT_THAT(With("{}"), IsRefused("feature 1 needs the text member \"name\""));
  EXPECT_THAT(With(R"({"name": "x"})"), IsRefused("feature \"x\" needs the text member \"type\""));
  EXPECT_THAT(With(R"({"name": "x", "type": "date"})"), IsRefused("\"numeric\" or"));
  EXPECT_THAT(With(R"({"name": "x", "type": "numeric", "min": 0})"), IsRefused("\"max\""));
  EXPECT_THAT(With(R"({"name": "x", "type": "numeric", "min": "0", "max": 1})"),
              IsRefused("number member \"min\""));
  EXPECT_THAT(With(R"({"name": "x", "type": "numeric", "min": 0, "max": 1e999})"),
              IsRefused("not valid JSON"));
  EXPECT_THAT(With(R"({"name": "x", "type": "categorical"})"), IsRefused("\"values\""));
}

TEST(SchemaJsonTest, AppliesTheRulesOfSchemas) {
  EXPECT_THAT(With(""), IsRefused("at least one feature"));
  EXPECT_THAT(With(R"({"name": "x", "type": "numeric", "min": 2, "max": 1})"),
              IsRefused("min must not exceed max"));
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
