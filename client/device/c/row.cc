// coppice_device.h: schemas and rows.

#include <algorithm>
#include <cmath>
#include <string_view>

#include "client/device/c/coppice_device.h"
#include "client/device/c/handles.h"
#include "common/base/printable.h"
#include "common/base/status.h"
#include "common/schema/encode_number.h"
#include "common/terms/public_values.h"

namespace coppice {
namespace {

// Columns are what is asked for: the features, or in their place the id that the study is joined
// by, and the label.
uint32_t NumFeatures(const coppice_schema& schema) {
  return schema.joined_by == nullptr ? static_cast<uint32_t>(schema.schema->num_features()) : 0;
}

bool IsId(const coppice_schema& schema, uint32_t column) {
  return schema.joined_by != nullptr && column == 0;
}

uint32_t NumColumns(const coppice_schema& schema) {
  return schema.joined_by == nullptr ? NumFeatures(schema) + 1 : 2;
}

coppice_column ColumnOf(const Feature& feature) {
  coppice_column column{};
  column.name = feature.name.c_str();
  const bool is_number = feature.type == FeatureType::kNumeric;
  column.kind = is_number ? COPPICE_COLUMN_NUMBER : COPPICE_COLUMN_CATEGORY;
  column.is_public = feature.is_public ? 1 : 0;
  column.min = feature.min;
  column.max = feature.max;
  column.num_values = static_cast<uint32_t>(feature.values.size());
  return column;
}

coppice_column LabelColumnOf(const Schema& schema) {
  coppice_column column{};
  column.name = schema.label().c_str();
  column.kind = schema.target().has_value() ? COPPICE_COLUMN_TARGET : COPPICE_COLUMN_CLASS;
  if (schema.target().has_value()) {
    column.min = schema.target()->min;
    column.max = schema.target()->max;
  }
  column.num_values = schema.num_classes();
  return column;
}

coppice_column ColumnAt(const coppice_schema& schema, uint32_t column) {
  if (column < NumFeatures(schema)) return ColumnOf(schema.schema->features()[column]);
  if (!IsId(schema, column)) return LabelColumnOf(*schema.schema);
  coppice_column id{};
  id.name = schema.joined_by;
  id.kind = COPPICE_COLUMN_ID;
  id.is_public = 1;
  return id;
}

// The position of the feature, or the number of features. Columns are few, and a schema has no
// index by name.
size_t FindFeature(const Schema& schema, std::string_view name) {
  const auto found = std::find_if(schema.features().begin(), schema.features().end(),
                                  [&](const Feature& feature) { return feature.name == name; });
  return static_cast<size_t>(found - schema.features().begin());
}

// An id that is too long is no id of the study, whatever follows after the first byte too many.
void SetId(std::string_view text, LabelledRow& row) {
  const std::string_view kept = text.substr(0, kMaxJoinIdBytes + 1);
  row.id.assign(kept.data(), kept.size());
}

void SetLabel(std::string_view text, coppice_row& row) {
  const Schema& schema = *row.schema->schema;
  if (schema.target().has_value()) {
    row.values.number = schema.EncodeTargetOrMissing(text).value;
  } else {
    row.values.label = schema.ClassOrUnlabelled(text);
  }
}

void SetText(coppice_row& row, std::string_view column, std::string_view text) {
  const Schema& schema = *row.schema->schema;
  if (column == schema.label()) SetLabel(text, row);
  if (row.schema->joined_by != nullptr) {
    // The features of such a study are the curator's already, and not looked at.
    if (column == row.schema->joined_by) SetId(text, row.values);
    return;
  }
  const size_t feature = FindFeature(schema, column);
  if (feature < schema.num_features()) {
    row.values.row[feature] = schema.EncodeOrMissing(feature, text).value;
  }
}

void SetNumber(coppice_row& row, std::string_view column, double number) {
  const Schema& schema = *row.schema->schema;
  if (column == schema.label()) {
    row.values.label = kUnlabelled;
    row.values.number = schema.target().has_value() && std::isfinite(number)
                            ? std::clamp(number, schema.target()->min, schema.target()->max)
                            : kMissingValue;
  }
  if (row.schema->joined_by != nullptr) {
    if (column == row.schema->joined_by) row.values.id.clear();
    return;
  }
  const size_t at = FindFeature(schema, column);
  if (at == schema.num_features()) return;
  const Feature& feature = schema.features()[at];
  double& value = row.values.row[at];
  if (!std::isfinite(number)) {
    value = kMissingValue;
  } else if (feature.type == FeatureType::kNumeric) {
    value = EncodeNumber(feature, number).value;
  } else {
    value = feature.other();
  }
}

}  // namespace

coppice_row EmptyRow(const coppice_schema& schema) {
  coppice_row row{.schema = &schema};
  row.values.row.assign(schema.schema->num_features(), kMissingValue);
  row.values.id.reserve(kMaxJoinIdBytes + 1);
  return row;
}

int32_t Report(const Status& status, coppice_error* error) {
  const auto code = static_cast<int32_t>(status.code());
  if (error == nullptr) return code;
  error->code = code;
  const std::string text = Printable(status.message());
  size_t size = std::min(text.size(), sizeof(error->text) - 1);
  // Not within a character.
  while (size < text.size() && size > 0 && (static_cast<uint8_t>(text[size]) & 0xC0) == 0x80) {
    --size;
  }
  std::copy_n(text.data(), size, error->text);
  error->text[size] = '\0';
  return code;
}

}  // namespace coppice

using namespace coppice;  // NOLINT: below is C, which has no prefixes

uint32_t coppice_schema_num_columns(const coppice_schema* schema) {
  return schema == nullptr ? 0 : NumColumns(*schema);
}

int32_t coppice_schema_column(const coppice_schema* schema, uint32_t column, coppice_column* out) {
  if (schema == nullptr || out == nullptr || column >= NumColumns(*schema)) {
    return COPPICE_INVALID_ARGUMENT;
  }
  *out = ColumnAt(*schema, column);
  return COPPICE_OK;
}

const char* coppice_schema_value(const coppice_schema* schema, uint32_t column, uint32_t value) {
  if (schema == nullptr || column >= NumColumns(*schema) || IsId(*schema, column)) return nullptr;
  const bool is_feature = column < NumFeatures(*schema);
  const std::vector<std::string>& values =
      is_feature ? schema->schema->features()[column].values : schema->schema->classes();
  return value < values.size() ? values[value].c_str() : nullptr;
}

void coppice_row_set_text(coppice_row* row, const char* column, const char* text,
                          size_t text_size) {
  if (row == nullptr || column == nullptr || text == nullptr) return;
  SetText(*row, column, {text, text_size});  // takes no memory, so that nothing is thrown
}

void coppice_row_set_number(coppice_row* row, const char* column, double number) {
  if (row == nullptr || column == nullptr) return;
  SetNumber(*row, column, number);  // takes no memory
}
