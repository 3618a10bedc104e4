// Writes schema files; schema_file.cc reads them.

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "common/base/text.h"
#include "common/table/schema_file.h"
#include "nlohmann/json.hpp"

namespace coppice {

absl::Span<const char* const> BoundsOriginTexts() {
  static constexpr const char* kTexts[] = {"declared", "from public rows", "from private rows",
                                           "from these rows"};
  return kTexts;
}

namespace {

using OrderedJson = nlohmann::ordered_json;

void AddNotes(bool integer, const std::string& unit, BoundsOrigin origin, OrderedJson& object) {
  if (integer) object["integer"] = true;
  if (!unit.empty()) object["unit"] = unit;
  object["bounds"] = BoundsOriginTexts()[static_cast<size_t>(origin)];
}

// A mark in the schema holds where the notes have none, as for a schema without a file.
BoundsOrigin OriginOf(const ColumnNotes& notes, bool from_private_rows) {
  return from_private_rows && !MayLeak(notes.bounds) ? BoundsOrigin::kPrivateRows : notes.bounds;
}

// Writes a bound that is a whole number as one: 4, not 4.0.
OrderedJson BoundToJson(double bound) {
  constexpr double kExact = 9e15;
  if (bound == std::floor(bound) && std::abs(bound) < kExact) return static_cast<int64_t>(bound);
  return bound;
}

void AddNumberFormat(const TableFormat& format, const std::string& column, OrderedJson& object) {
  const auto found = format.numbers.find(column);
  if (found != format.numbers.end()) object["number_format"] = found->second.ToText();
}

OrderedJson ToJson(const Feature& feature, const ColumnNotes& notes, const TableFormat& format) {
  OrderedJson object = {{"name", feature.name}};
  if (feature.type == FeatureType::kNumeric) {
    object["type"] = "numeric";
    object["min"] = BoundToJson(feature.min);
    object["max"] = BoundToJson(feature.max);
    AddNumberFormat(format, feature.name, object);
  } else {
    object["type"] = "categorical";
    object["values"] = feature.values;
  }
  if (feature.is_public) object["public"] = true;
  AddNotes(feature.integer, feature.unit, OriginOf(notes, feature.from_private_rows), object);
  return object;
}

}  // namespace

std::string ToText(const SchemaFile& file) {
  const Schema& schema = *file.schema;
  OrderedJson root = {{"label", schema.label()}};
  if (schema.target()) {
    root["target_min"] = BoundToJson(schema.target()->min);
    root["target_max"] = BoundToJson(schema.target()->max);
    AddNumberFormat(file.format, schema.label(), root);
  } else {
    root["classes"] = schema.classes();
  }
  AddNotes(file.label.integer, schema.target() ? schema.target()->unit : "",
           OriginOf(file.label, schema.answers_from_private_rows()), root);
  if (!file.rows_sha256.empty()) root["rows_sha256"] = file.rows_sha256;
  const char delimiter = file.format.delimiter;
  if (delimiter != kFindDelimiter) root["delimiter"] = std::string(1, delimiter);
  if (!file.format.missing.empty()) root["missing"] = file.format.missing;
  std::vector<std::string> lines;
  for (const auto& [name, value] : root.items()) {
    lines.push_back(StrCat("  ", OrderedJson(name).dump(), ": ", value.dump()));
  }
  std::vector<std::string> features;
  for (size_t f = 0; f < schema.num_features(); ++f) {
    features.push_back("    " + ToJson(schema.features()[f], file.features[f], file.format).dump());
  }
  lines.push_back(StrCat("  \"features\": [\n", StrJoin(features, ",\n"), "\n  ]"));
  return StrCat("{\n", StrJoin(lines, ",\n"), "\n}\n");
}

}  // namespace coppice
