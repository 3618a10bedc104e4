// A schema file's notes about files are not signed, stored or sent, but for the mark of what was
// read from private rows.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "common/base/status.h"
#include "common/table/schema_file.h"
#include "common/wire/proto/convert.h"
#include "common/wire/terms.h"
#include "tests/common/wire/proto/wire_fixtures.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

constexpr char kPlain[] = R"({"label": "edible", "classes": ["no", "yes"], "features": [
  {"name": "age", "type": "numeric", "min": 0, "max": 100},
  {"name": "odor", "type": "categorical", "values": ["almond", "none"]}]})";

constexpr char kWithUnit[] = R"({"label": "edible", "classes": ["no", "yes"], "features": [
  {"name": "age", "type": "numeric", "min": 0, "max": 100, "unit": "years"},
  {"name": "odor", "type": "categorical", "values": ["almond", "none"]}]})";

constexpr char kNoted[] = R"({"label": "edible", "classes": ["no", "yes"],
  "bounds": "from public rows", "missing": ["NA"], "delimiter": ";", "source": "a forest",
  "features": [
  {"name": "age", "type": "numeric", "min": 0, "max": 100, "integer": false,
   "bounds": "from public rows", "number_format": "1,234.5"},
  {"name": "odor", "type": "categorical", "values": ["almond", "none"], "bounds": "declared"}]})";

constexpr char kWhole[] = R"({"label": "edible", "classes": ["no", "yes"], "features": [
  {"name": "age", "type": "numeric", "min": 0, "max": 100, "integer": true},
  {"name": "odor", "type": "categorical", "values": ["almond", "none"]}]})";

constexpr char kLeaking[] = R"({"label": "edible", "classes": ["no", "yes"],
  "bounds": "from these rows", "features": [
  {"name": "age", "type": "numeric", "min": 0, "max": 100, "bounds": "from private rows"},
  {"name": "odor", "type": "categorical", "values": ["almond", "none"]}]})";

std::string TermsOf(const char* schema) {
  Terms terms = testing::MakeTerms();
  terms.schema = ParseSchema(schema)->schema;
  return SerializeTerms(terms);
}

// Recorded before notes and units existed.
constexpr char kFingerprint[] = "8634269008eff33034ebdb53b298ee50f7c9465efbea1a5d7a884e3d0ecee32a";

TEST(SchemaNotesTest, TheTermsAndTheirFingerprintStayAsTheyWere) {
  EXPECT_EQ(TermsOf(kNoted), TermsOf(kPlain));
  EXPECT_EQ(ToHex(FingerprintOf(TermsOf(kNoted))), kFingerprint);
}

TEST(SchemaNotesTest, AUnitIsOfTheTerms) {
  EXPECT_NE(TermsOf(kWithUnit), TermsOf(kPlain));
  ASSERT_OK_AND_ASSIGN(const Terms terms, ReadTerms(TermsOf(kWithUnit)));
  EXPECT_EQ(terms.schema->features()[0].unit, "years");
}

TEST(SchemaNotesTest, WhatIsFromPrivateRowsIsMarkedWhereverTheSchemaGoes) {
  ASSERT_OK_AND_ASSIGN(const Terms terms, ReadTerms(TermsOf(kLeaking)));
  EXPECT_THAT(terms.schema->ColumnsFromPrivateRows(), ::testing::ElementsAre("age", "edible"));
  ASSERT_OK_AND_ASSIGN(const SchemaFile file, ParseSchema(kLeaking));
  ASSERT_OK_AND_ASSIGN(const Schema received, ParseSchema(ToProto(*file.schema)));
  EXPECT_EQ(received, *file.schema);
}

TEST(SchemaNotesTest, WholeNumbersAreOfTheTerms) {
  EXPECT_NE(TermsOf(kWhole), TermsOf(kPlain));
  ASSERT_OK_AND_ASSIGN(const Terms terms, ReadTerms(TermsOf(kWhole)));
  EXPECT_TRUE(terms.schema->features()[0].integer);
}

TEST(SchemaNotesTest, ATargetIsNotDeclaredWholeOnTheWire) {
  v1::Schema proto = ToProto(*Schema::CreateRegression({ParseSchema(kPlain)->schema->features()[0]},
                                                       "y", {.min = 0, .max = 9}));
  EXPECT_OK(ParseSchema(proto));
  proto.mutable_target()->set_integer(true);
  EXPECT_THAT(ParseSchema(proto), testing::StatusIs(StatusCode::kInvalidArgument,
                                                    ::testing::HasSubstr("schema: target")));
}

TEST(SchemaNotesTest, MessagesOfDatasetsAndModelsDoNotHoldThem) {
  ASSERT_OK_AND_ASSIGN(const SchemaFile plain, ParseSchema(kPlain));
  ASSERT_OK_AND_ASSIGN(const SchemaFile noted, ParseSchema(kNoted));
  EXPECT_NE(noted.features, plain.features);
  EXPECT_EQ(ToProto(*noted.schema).SerializeAsString(), ToProto(*plain.schema).SerializeAsString());
}

}  // namespace
}  // namespace coppice
