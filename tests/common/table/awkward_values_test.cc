// Walks tests/support/awkward_values.json for CSV files: what is read under a schema, and what a
// schema is inferred from them. Other doors walk the same file.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <string>

#include "common/base/read_file.h"
#include "common/base/status.h"
#include "common/base/text.h"
#include "common/table/tables.h"
#include "nlohmann/json.hpp"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_file.h"

namespace coppice {
namespace {

using ::coppice::testing::TempFile;
using nlohmann::json;
using ::testing::Contains;
using ::testing::HasSubstr;

json Cases(const char* kind) {
  const auto text =
      ReadFile(StrCat(std::getenv("COPPICE_SOURCE_DIR"), "/tests/support/awkward_values.json"));
  EXPECT_OK(text);
  return json::parse(*text)[kind];
}

std::string Quoted(const std::string& cell) { return StrCat("\"", cell, "\""); }

// The schema of a case: its feature x, and classes y.
SchemaFile SchemaOf(const json& one) {
  json feature = one["feature"];
  feature["name"] = "x";
  json schema = {{"label", "y"}, {"classes", {"no", "yes"}}, {"features", {feature}}};
  if (one.contains("missing")) schema["missing"] = one["missing"];
  const StatusOr<SchemaFile> file = ParseSchema(schema.dump());
  EXPECT_OK(file);
  return *file;
}

// What a case says that a cell becomes, as a row holds it.
double Encoded(const json& value, const Feature& feature) {
  if (value.is_null()) return kMissingValue;
  if (value.is_array()) return feature.other();
  if (value.is_number()) return value.get<double>();
  const auto found = std::find(feature.values.begin(), feature.values.end(), value);
  return static_cast<double>(found - feature.values.begin());
}

void ExpectRead(const json& one, const SchemaFile& schema, const TempFile& csv) {
  const StatusOr<TableFile> file = ReadTable(csv.path(), schema.schema, {.format = schema.format});
  const StatusOr<TableCheck> check = CheckTable(csv.path(), schema, {.lenient = true});
  ASSERT_OK(check);
  if (one.contains("refusal")) {
    ASSERT_FALSE(file.ok());
    EXPECT_THAT(std::string(file.status().message()), HasSubstr(one["refusal"]));
    EXPECT_FALSE(StrContains(file.status().message(), one["cell"].get<std::string>()));
    EXPECT_EQ(check->columns[0].unreadable, 1u);
    return;
  }
  ASSERT_OK(file);
  const double value = file->table.value(0, 0);
  const double wanted = Encoded(one["value"], schema.schema->features()[0]);
  EXPECT_TRUE(value == wanted || (std::isnan(value) && std::isnan(wanted))) << value;
  const std::string note = one.value("note", "");
  EXPECT_EQ(file->notes.clamped, note == "clamped" ? 1u : 0u);
  EXPECT_EQ(file->notes.rounded, note == "rounded" ? 1u : 0u);
  EXPECT_EQ(file->notes.unknown_categories, note == "unknown" ? 1u : 0u);
  EXPECT_EQ(check->columns[0].clamped, file->notes.clamped);
  EXPECT_EQ(check->columns[0].unknown, file->notes.unknown_categories);
}

TEST(AwkwardValuesTest, ACsvFileIsReadAsTheTableSays) {
  for (const json& one : Cases("reading")) {
    SCOPED_TRACE(one["name"].get<std::string>());
    const TempFile csv(".csv", StrCat("x,y\n", Quoted(one["cell"]), ",no\n"));
    ExpectRead(one, SchemaOf(one), csv);
  }
}

std::string Warnings(const InferredSchema& inferred) { return StrJoin(inferred.warnings, "\n"); }

// Rows whose column x repeats the cells of a case.
std::string RowsOf(const json& cells) {
  constexpr size_t kRows = 60;
  std::string text = "x,z,y\n";
  for (size_t i = 0; i < kRows; ++i) {
    const std::string cell = cells[i % cells.size()];
    StrAppend(&text, Quoted(cell), ",", i % 7, ",", i % 2, "\n");
  }
  return text;
}

InferOptions OptionsOf(const json& one) {
  InferOptions options{.label = "y"};
  if (one.value("categorical", false)) options.categorical = {"x"};
  if (one.contains("number_format")) {
    options.number_formats["x"] = *ParseNumberFormat(one["number_format"].get<std::string>());
  }
  return options;
}

TEST(AwkwardValuesTest, ASchemaIsInferredAsTheTableSays) {
  for (const json& one : Cases("inferring")) {
    SCOPED_TRACE(one["name"].get<std::string>());
    const TempFile csv(".csv", RowsOf(one["column"]));
    ASSERT_OK_AND_ASSIGN(const InferredSchema inferred, InferSchema(csv.path(), OptionsOf(one)));
    for (const std::string part : one.value("says", json::array())) {
      EXPECT_THAT(inferred.warnings, Contains(HasSubstr(part))) << Warnings(inferred);
    }
    if (!one.contains("says")) {
      EXPECT_EQ(Warnings(inferred), "");
    }
    if (one["as"] == "left out") {
      EXPECT_THAT(inferred.left_out, Contains("x"));
      continue;
    }
    const Feature& x = inferred.file.schema->features()[0];
    ASSERT_EQ(x.name, "x") << Warnings(inferred);
    EXPECT_EQ(x.type == FeatureType::kNumeric ? "numeric" : "categorical", one["as"]);
    if (one.contains("values")) {
      EXPECT_EQ(json(x.values), one["values"]);
    }
    // The schema reads its own rows, and a check of them says the same of their numbers.
    ASSERT_OK(ReadTable(csv.path(), inferred.file.schema,
                        {.strict = true, .format = inferred.file.format}));
    ASSERT_OK_AND_ASSIGN(const TableCheck check, CheckTable(csv.path(), inferred.file, {}));
    EXPECT_EQ(check.num_problems, 0u);
    EXPECT_EQ(check.warnings.empty(), x.type == FeatureType::kCategorical || !one.contains("says"));
  }
}

}  // namespace
}  // namespace coppice
