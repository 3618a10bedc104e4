#include <utility>

#include "common/base/status_macros.h"
#include "common/wire/field_error.h"
#include "common/wire/terms.h"

namespace coppice {
namespace {

StatusOr<Feature> MakeFeature(FeatureMessage message) {
  if (message.numeric.has_value() == message.categorical.has_value()) {
    return InvalidArgumentError("must be numeric or categorical");
  }
  Feature feature;
  feature.name = std::move(message.name);
  feature.is_public = message.is_public;
  feature.from_private_rows = message.from_private_rows;
  if (message.numeric.has_value()) {
    feature.type = FeatureType::kNumeric;
    feature.min = message.numeric->min;
    feature.max = message.numeric->max;
    feature.unit = std::move(message.numeric->unit);
    feature.integer = message.numeric->integer;
  } else {
    feature.type = FeatureType::kCategorical;
    feature.values = std::move(message.categorical->values);
  }
  return feature;
}

StatusOr<Schema> MakeChecked(std::vector<Feature> features, SchemaMessage message) {
  if (!message.target.has_value()) {
    return Schema::Create(std::move(features), std::move(message.label),
                          std::move(message.classes));
  }
  if (!message.classes.empty()) {
    return InvalidArgumentError("must have classes or a target, not both");
  }
  if (message.target->integer) {
    return FieldError("target", "is not declared integer: leave it unset");
  }
  return Schema::CreateRegression(std::move(features), std::move(message.label),
                                  {.min = message.target->min,
                                   .max = message.target->max,
                                   .unit = std::move(message.target->unit)});
}

}  // namespace

StatusOr<Schema> MakeSchema(SchemaMessage message) {
  std::vector<Feature> features;
  features.reserve(message.features.size());
  for (FeatureMessage& feature : message.features) {
    StatusOr<Feature> made = MakeFeature(std::move(feature));
    if (!made.ok()) {
      return InField(ElementName("schema.features", features.size()), made.status());
    }
    features.push_back(*std::move(made));
  }
  message.features = {};
  const bool answers_from_private_rows = message.answers_from_private_rows;
  StatusOr<Schema> schema = MakeChecked(std::move(features), std::move(message));
  if (!schema.ok()) return InField("schema", schema.status());
  if (answers_from_private_rows) return schema->WithAnswersFromPrivateRows();
  return schema;
}

StatusOr<Schema> ReadSchemaMessage(std::string_view bytes) {
  StatusOr<SchemaMessage> message = ReadFields<SchemaMessage>(bytes);
  if (!message.ok()) return InField("schema", message.status());
  return MakeSchema(*std::move(message));
}

}  // namespace coppice
