// coppice_device.h: the schema that a device declares for its own rows.

#include <optional>
#include <utility>

#include "client/device/c/coppice_device.h"
#include "client/device/c/handles.h"
#include "common/base/printable.h"
#include "common/base/status_macros.h"

namespace coppice {
namespace {

bool IsLabel(const coppice_own_column& column) {
  return column.kind == COPPICE_COLUMN_CLASS || column.kind == COPPICE_COLUMN_TARGET;
}

StatusOr<std::vector<std::string>> ValuesOf(const coppice_own_column& column) {
  return ReadNames(StrCat("the values of own column \"", Printable(column.name), "\""),
                   column.values, column.num_values);
}

StatusOr<Feature> FeatureOf(const coppice_own_column& column) {
  Feature feature;
  feature.name = column.name;
  if (column.kind == COPPICE_COLUMN_NUMBER) {
    feature.min = column.min;
    feature.max = column.max;
    feature.integer = column.is_whole != 0;
    if (column.unit != nullptr) feature.unit = column.unit;
    return feature;
  }
  if (column.kind != COPPICE_COLUMN_CATEGORY) {
    return InvalidArgumentError(
        StrCat("own column \"", Printable(column.name), "\" has kind ", column.kind,
               "; take COPPICE_COLUMN_NUMBER, _CATEGORY, _CLASS or _TARGET"));
  }
  feature.type = FeatureType::kCategorical;
  COPPICE_ASSIGN_OR_RETURN(feature.values, ValuesOf(column));
  return feature;
}

StatusOr<Schema> MakeOwnSchema(std::vector<Feature> features, const coppice_own_column& label) {
  if (label.kind == COPPICE_COLUMN_TARGET) {
    return Schema::CreateRegression(
        std::move(features), label.name,
        {.min = label.min, .max = label.max, .unit = label.unit == nullptr ? "" : label.unit});
  }
  COPPICE_ASSIGN_OR_RETURN(std::vector<std::string> classes, ValuesOf(label));
  return Schema::Create(std::move(features), label.name, std::move(classes));
}

}  // namespace

StatusOr<std::vector<std::string>> ReadNames(std::string_view what, const char* const* names,
                                             size_t size) {
  if (size > 0 && names == nullptr) return Missing(what);
  std::vector<std::string> read;
  for (size_t i = 0; i < size; ++i) {
    if (names[i] == nullptr) return Missing(StrCat("a name in ", what));
    read.emplace_back(names[i]);
  }
  return read;
}

StatusOr<std::shared_ptr<const Schema>> ReadOwnSchema(const coppice_own_column* columns,
                                                      size_t size) {
  if (columns == nullptr) return Missing("own_columns");
  std::vector<Feature> features;
  const coppice_own_column* label = nullptr;
  for (size_t i = 0; i < size; ++i) {
    if (columns[i].name == nullptr) return Missing("the name of an own column");
    if (!IsLabel(columns[i])) {
      COPPICE_ASSIGN_OR_RETURN(Feature feature, FeatureOf(columns[i]));
      features.push_back(std::move(feature));
    } else if (label == nullptr) {
      label = &columns[i];
    } else {
      return InvalidArgumentError("own_columns has two labels; one column is to be predicted");
    }
  }
  if (label == nullptr) {
    return InvalidArgumentError(
        "own_columns has no label: give one column COPPICE_COLUMN_CLASS or COPPICE_COLUMN_TARGET");
  }
  COPPICE_ASSIGN_OR_RETURN(Schema schema, MakeOwnSchema(std::move(features), *label));
  return std::make_shared<const Schema>(std::move(schema));
}

}  // namespace coppice
