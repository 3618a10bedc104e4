#include "common/table/schema_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/substitute.h"
#include "common/base/status.h"
#include "common/base/text.h"
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
  return ::testing::ExplainMatchResult(StatusIs(StatusCode::kInvalidArgument, HasSubstr(message)),
                                       ParseSchema(arg), result_listener);
}

// A schema with one feature, given as JSON.
std::string With(std::string_view feature) {
  return StrCat(R"({"label": "y", "classes": ["a", "b"], "features": [)", feature, "]}");
}

TEST(SchemaFileTest, ReadsFeaturesLabelAndClassesAndIgnoresTheRest) {
  ASSERT_OK_AND_ASSIGN(const SchemaFile file, ParseSchema(kIncome));
  EXPECT_EQ(file.schema->label(), "income");
  EXPECT_THAT(file.schema->classes(), ElementsAre("low", "high"));
  EXPECT_EQ(file.schema->features()[0].max, 90.5);
  EXPECT_THAT(file.schema->features()[1].values, ElementsAre("Female", "Male"));
}

TEST(SchemaFileTest, ATargetWithBoundsStandsInForClasses) {
  ASSERT_OK_AND_ASSIGN(const SchemaFile file, ParseSchema(R"({
    "label": "rings", "target_min": 1, "target_max": 29,
    "features": [{"name": "x", "type": "numeric", "min": 0, "max": 1}]})"));
  EXPECT_EQ(file.schema->target(), (Target{.min = 1, .max = 29}));
  EXPECT_THAT(R"({"label": "y", "target_min": 1})", IsRefusedSchema("\"target_max\""));
  EXPECT_THAT(R"({"label": "y", "target_min": 1, "target_max": 2, "classes": ["a", "b"]})",
              IsRefusedSchema("not both"));
}

TEST(SchemaFileTest, MoreFeaturesOrClassesThanThereMayBeAreRefused) {
  const std::string feature = R"({"name": "f$0", "type": "numeric", "min": 0, "max": 1})";
  std::vector<std::string> features, classes;
  for (size_t i = 0; i <= kMaxFeatures; ++i) features.push_back(absl::Substitute(feature, i));
  EXPECT_THAT(With(StrJoin(features, ",")), IsRefusedSchema("at most 65536 features"));
  for (size_t i = 0; i <= kMaxClasses; ++i) classes.push_back(StrCat("\"c", i, "\""));
  EXPECT_THAT(StrCat(R"({"label": "y", "features": [)", features[0], R"(], "classes": [)",
                     StrJoin(classes, ","), "]}"),
              IsRefusedSchema("at most 4096 classes"));
}

TEST(SchemaFileTest, RefusesAFileThatIsNotAJsonObject) {
  EXPECT_THAT("", IsRefusedSchema("not valid JSON"));
  EXPECT_THAT("{\"label\": ", IsRefusedSchema("not valid JSON"));
  EXPECT_THAT(std::string(100'000, '['), IsRefusedSchema("not valid JSON"));
  EXPECT_THAT("[]", IsRefusedSchema("must be a JSON object"));
}

TEST(SchemaFileTest, NamesTheMemberThatIsMissingOrOfTheWrongType) {
  EXPECT_THAT("{}", IsRefusedSchema("\"label\""));
  EXPECT_THAT(R"({"label": 3})", IsRefusedSchema("\"label\""));
  EXPECT_THAT(R"({"label": "y", "classes": "a"})", IsRefusedSchema("\"classes\", a list of texts"));
  EXPECT_THAT(R"({"label": "y", "classes": [0, 1]})",
              IsRefusedSchema("\"classes\", a list of texts"));
  EXPECT_THAT(R"({"label": "y", "classes": ["a", "b"]})", IsRefusedSchema("\"features\", a list"));
}

TEST(SchemaFileTest, NamesTheFeatureThatIsWrong) {
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

constexpr char kNoted[] = R"({
  "label": "income", "classes": ["low", "high"], "bounds": "from public rows",
  "rows_sha256": "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff",
  "delimiter": ";", "missing": ["NA", "?"],
  "features": [{"name": "age", "type": "numeric", "min": 17, "max": 90.5,
                "unit": "years", "bounds": "declared"},
               {"name": "sex", "type": "categorical", "values": ["Female", "Male"],
                "bounds": "from public rows"}]})";

TEST(SchemaFileTest, ReadsSettingsOfTheFileBesideTheSchema) {
  ASSERT_OK_AND_ASSIGN(const SchemaFile file, ParseSchema(kNoted));
  ASSERT_OK_AND_ASSIGN(const SchemaFile plain, ParseSchema(kIncome));
  EXPECT_TRUE(file.schema->IsSameButForUnsaidUnits(*plain.schema));
  EXPECT_EQ(file.format, (TableFormat{.delimiter = ';', .missing = {"NA", "?"}}));
  EXPECT_EQ(plain.format, TableFormat());
  EXPECT_THAT(file.features,
              ElementsAre(ColumnNotes(), ColumnNotes{.bounds = BoundsOrigin::kPublicRows}));
  EXPECT_EQ(file.label.bounds, BoundsOrigin::kPublicRows);
  EXPECT_THAT(file.rows_sha256, HasSubstr("00112233"));
}

TEST(SchemaFileTest, WhatIsWrittenReadsBackToTheSame) {
  for (const char* text : {kNoted, kIncome}) {
    ASSERT_OK_AND_ASSIGN(const SchemaFile file, ParseSchema(text));
    ASSERT_OK_AND_ASSIGN(const SchemaFile again, ParseSchema(ToText(file)));
    EXPECT_EQ(*again.schema, *file.schema);
    EXPECT_EQ(again.format, file.format);
    EXPECT_EQ(again.features, file.features);
    EXPECT_EQ(again.label, file.label);
    EXPECT_EQ(again.rows_sha256, file.rows_sha256);
  }
  ASSERT_OK_AND_ASSIGN(const SchemaFile file, ParseSchema(kNoted));
  EXPECT_THAT(ToText(file), HasSubstr(R"("min":17,"max":90.5,"unit":"years")"));
}

// A schema of a feature and of classes that are marked so.
std::string Marked(std::string_view feature, std::string_view classes) {
  return StrCat(R"({"label": "ill", "classes": ["no", "yes"], "bounds": ")", classes,
                R"(", "features": [
      {"name": "age", "type": "numeric", "min": 0, "max": 120},
      {"name": "job", "type": "categorical", "values": ["clerk"], "bounds": ")",
                feature, R"("}]})");
}

TEST(SchemaFileTest, BoundsFromPrivateRowsMarkTheSchemaAndAreRefused) {
  for (const char* open : {"declared", "from public rows"}) {
    ASSERT_OK_AND_ASSIGN(const SchemaFile file, ParseSchema(Marked(open, open)));
    EXPECT_OK(file.schema->CheckNothingFromPrivateRows());
  }
  for (const char* leaking : {"from private rows", "from these rows"}) {
    ASSERT_OK_AND_ASSIGN(const SchemaFile feature, ParseSchema(Marked(leaking, "declared")));
    EXPECT_THAT(feature.schema->ColumnsFromPrivateRows(), ElementsAre("job"));
    EXPECT_THAT(feature.schema->CheckNothingFromPrivateRows(),
                testing::StatusIs(StatusCode::kInvalidArgument,
                                  HasSubstr("not marked public: job. A schema is public")));
    ASSERT_OK_AND_ASSIGN(const SchemaFile both, ParseSchema(Marked(leaking, leaking)));
    EXPECT_THAT(both.schema->ColumnsFromPrivateRows(), ElementsAre("job", "ill"));
    EXPECT_THAT(ToText(both), HasSubstr(leaking));
    // Where bounds come from changes no row.
    EXPECT_TRUE(both.schema->IsSameButForUnsaidUnits(*feature.schema));
    EXPECT_OK(both.schema->CheckAgreesWith(*feature.schema));
  }
}

TEST(SchemaFileTest, AMarkOfTheSchemaIsWrittenWithoutAFileThatHasIt) {
  ASSERT_OK_AND_ASSIGN(const SchemaFile marked,
                       ParseSchema(Marked("from these rows", "from private rows")));
  SchemaFile bare{.schema = marked.schema};
  bare.features.resize(2);
  ASSERT_OK_AND_ASSIGN(const SchemaFile again, ParseSchema(ToText(bare)));
  EXPECT_EQ(*again.schema, *marked.schema);
}

TEST(SchemaFileTest, ANumberFormatIsOfTheFile) {
  ASSERT_OK_AND_ASSIGN(
      const SchemaFile file,
      ParseSchema(
          R"({"label": "y", "target_min": 0, "target_max": 9, "number_format": "1234.5%", "features":
          [{"name": "x", "type": "numeric", "min": 0, "max": 5, "number_format": "1.234,5 EUR"}]})"));
  EXPECT_EQ(file.format.numbers.at("x"),
            (NumberFormat{.prefix = "", .suffix = "EUR", .body = "1.234,5"}));
  EXPECT_EQ(file.format.numbers.at("y").ToText(), "1234.5%");
  ASSERT_OK_AND_ASSIGN(const SchemaFile again, ParseSchema(ToText(file)));
  EXPECT_EQ(again.format, file.format);
}

TEST(SchemaFileTest, UnitsAreOfTheSchema) {
  ASSERT_OK_AND_ASSIGN(const SchemaFile file, ParseSchema(kNoted));
  EXPECT_EQ(file.schema->features()[0].unit, "years");
  EXPECT_EQ(file.schema->features()[1].unit, "");
  ASSERT_OK_AND_ASSIGN(
      const SchemaFile number,
      ParseSchema(R"({"label": "y", "target_min": 0, "target_max": 9, "unit": "EUR",
                      "features": [{"name": "x", "type": "numeric", "min": 0, "max": 1}]})"));
  EXPECT_EQ(number.schema->target()->unit, "EUR");
  EXPECT_EQ(*ParseSchema(ToText(number))->schema, *number.schema);
  EXPECT_THAT(With(StrCat(R"({"name": "x", "type": "numeric", "min": 0, "max": 1, "unit": ")",
                          std::string(kMaxUnitBytes + 1, 'm'), R"("})")),
              IsRefusedSchema("at most 64"));
}

TEST(SchemaFileTest, WholeNumbersAreOfTheSchemaAndOfATargetANote) {
  ASSERT_OK_AND_ASSIGN(
      const SchemaFile file,
      ParseSchema(R"({"label": "y", "target_min": 0, "target_max": 9, "integer": true, "features":
          [{"name": "x", "type": "numeric", "min": 0, "max": 5, "integer": true},
           {"name": "z", "type": "numeric", "min": 0, "max": 5, "integer": false}]})"));
  EXPECT_TRUE(file.schema->features()[0].integer);
  EXPECT_FALSE(file.schema->features()[1].integer);
  EXPECT_TRUE(file.label.integer);
  EXPECT_THAT(ToText(file), HasSubstr(R"("min":0,"max":5,"integer":true)"));
  ASSERT_OK_AND_ASSIGN(const SchemaFile again, ParseSchema(ToText(file)));
  EXPECT_EQ(*again.schema, *file.schema);
  EXPECT_EQ(again.label, file.label);
  EXPECT_THAT(With(R"({"name": "x", "type": "numeric", "min": 0, "max": 2.5, "integer": true})"),
              IsRefusedSchema("feature \"x\" has whole numbers only"));
}

TEST(SchemaFileTest, RefusesNotesThatSayNothing) {
  const auto numeric = [](std::string_view member) {
    return With(StrCat(R"({"name": "x", "type": "numeric", "min": 0, "max": 1, )", member, "}"));
  };
  EXPECT_THAT(numeric(R"("integer": "yes")"), IsRefusedSchema("true or false"));
  EXPECT_THAT(numeric(R"("unit": 3)"), IsRefusedSchema("text member \"unit\""));
  EXPECT_THAT(numeric(R"("bounds": "guessed")"),
              IsRefusedSchema("\"declared\" or \"from public rows\" or \"from private rows\""));
  EXPECT_THAT(numeric(R"("number_format": "1,23")"), IsRefusedSchema("how 1234.5 is written"));
  EXPECT_THAT(numeric(R"("number_format": 5)"), IsRefusedSchema("text member"));
  EXPECT_THAT(numeric(R"("missing": ["NA"])"), IsRefusedSchema("declared once for all features"));
  EXPECT_OK(ParseSchema(numeric(R"("missing": 17)")));  // a count, which files from elsewhere have
  EXPECT_THAT(With(R"({"name": "x", "type": "categorical", "values": ["a"], "integer": true})"),
              IsRefusedSchema("for numbers alone"));
  EXPECT_THAT(
      With(R"({"name": "x", "type": "categorical", "values": ["a"], "number_format": "1,234.5"})"),
      IsRefusedSchema("for numbers alone"));
}

// A schema of one feature, with another member next to the list.
std::string WithMember(std::string_view member) {
  return StrCat(R"({"label": "y", "classes": ["a", "b"], )", member,
                R"(, "features": [{"name": "x", "type": "categorical", "values": ["u"]}]})");
}

TEST(SchemaFileTest, RefusesFormatsThatNoFileHas) {
  EXPECT_THAT(WithMember(R"("delimiter": "|")"), IsRefusedSchema(R"(must be "," or ";")"));
  EXPECT_THAT(WithMember(R"("missing": "NA")"), IsRefusedSchema("a list of texts"));
  EXPECT_THAT(WithMember(R"("missing": [""])"), IsRefusedSchema("the empty text"));
  EXPECT_THAT(WithMember(R"("missing": ["NA", "NA"])"), IsRefusedSchema("\"NA\" twice"));
  EXPECT_THAT(WithMember(R"("missing": ["u"])"), IsRefusedSchema("which feature \"x\" lists too"));
  EXPECT_THAT(WithMember(R"("missing": ["b"])"), IsRefusedSchema("which \"classes\" lists too"));
}

TEST(SchemaFileTest, AMisspeltMemberIsRefusedWithThoseThatThereAre) {
  EXPECT_THAT(WithMember(R"("mising": ["NA"])"),
              IsRefusedSchema("\"mising\"; did you mean \"missing\"? There are: label, classes, "));
  EXPECT_THAT(WithMember(R"("Delimiter": ";")"), IsRefusedSchema("did you mean \"delimiter\"?"));
  EXPECT_THAT(With(R"({"name": "x", "type": "numeric", "mni": 0, "min": 0, "max": 1})"),
              IsRefusedSchema("feature \"x\" has the member \"mni\"; did you mean \"min\"? There "
                              "are: name, type, min, max, values"));
  EXPECT_OK(ParseSchema(WithMember(R"("source": "UCI", "rows": 7, "note": "a", "task": "b")")));
}

TEST(SchemaFileTest, EverythingThatIsWrongIsListed) {
  const TempFile file(".json", R"({"classes": ["a", "a"], "delimiter": "|", "features": [
    {"name": "x", "type": "date"}, {"name": "y", "type": "numeric", "min": 2, "max": 1},
    {"name": "z", "type": "categorical", "values": []}]})");
  ASSERT_OK_AND_ASSIGN(const auto errors, FindSchemaErrors(file.path()));
  EXPECT_THAT(errors,
              ElementsAre(HasSubstr("delimiter"), HasSubstr("\"label\""), HasSubstr("not \"date\""),
                          HasSubstr("min must not exceed max"), HasSubstr("at least one value")));
  EXPECT_THAT(ReadSchema(file.path()),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr("(4 more: `coppice schema check --schema FILE` lists them)")));
  const TempFile good(".json", kIncome);
  ASSERT_OK_AND_ASSIGN(const auto none, FindSchemaErrors(good.path()));
  EXPECT_THAT(none, ::testing::IsEmpty());
}

TEST(SchemaFileTest, BrokenJsonIsReportedWhereItIs) {
  EXPECT_THAT("{\n  \"label\": \"y\",\n  \"classes\" [\"a\"]\n}",
              IsRefusedSchema("not valid JSON at line 3, column 13; expected ':'"));
}

TEST(SchemaFileTest, AppliesTheRulesOfSchemas) {
  EXPECT_THAT(With(""), IsRefusedSchema("at least one feature"));
  EXPECT_THAT(With(R"({"name": "x", "type": "numeric", "min": 2, "max": 1})"),
              IsRefusedSchema("min must not exceed max"));
}

TEST(SchemaFileTest, FileErrorsNameTheFile) {
  EXPECT_THAT(ReadSchema("/nonexistent/schema.json"),
              StatusIs(StatusCode::kNotFound, HasSubstr("/nonexistent/schema.json")));
  const TempFile broken(".json", "{");
  EXPECT_THAT(ReadSchema(broken.path()),
              StatusIs(StatusCode::kInvalidArgument,
                       AllOf(HasSubstr(broken.path()), HasSubstr("not valid JSON"))));
  const TempFile good(".json", kIncome);
  EXPECT_OK(ReadSchema(good.path()));
}

TEST(SchemaFileTest, ReadsARealSchema) {
  COPPICE_NEEDS_DATA_SET(folder, "mushroom");
  ASSERT_OK_AND_ASSIGN(const SchemaFile file, ReadSchema(folder + "/schema.json"));
  EXPECT_EQ(file.schema->num_features(), 22u);
  EXPECT_THAT(file.schema->classes(), ElementsAre("e", "p"));
}

}  // namespace
}  // namespace coppice
