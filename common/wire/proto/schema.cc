#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/wire/proto/convert.h"
#include "common/wire/proto/field_error.h"

namespace coppice {
namespace {

v1::Feature ToProto(const Feature& feature) {
  v1::Feature proto;
  proto.set_name(feature.name);
  proto.set_is_public(feature.is_public);
  proto.set_from_private_rows(feature.from_private_rows);
  if (feature.type == FeatureType::kNumeric) {
    proto.mutable_numeric()->set_min(feature.min);
    proto.mutable_numeric()->set_max(feature.max);
    proto.mutable_numeric()->set_unit(feature.unit);
    proto.mutable_numeric()->set_integer(feature.integer);
  } else {
    proto.mutable_categorical()->mutable_values()->Assign(feature.values.begin(),
                                                          feature.values.end());
  }
  return proto;
}

StatusOr<Feature> FromProto(const v1::Feature& proto) {
  Feature feature;
  feature.name = proto.name();
  feature.is_public = proto.is_public();
  feature.from_private_rows = proto.from_private_rows();
  switch (proto.type_case()) {
    case v1::Feature::kNumeric:
      feature.type = FeatureType::kNumeric;
      feature.min = proto.numeric().min();
      feature.max = proto.numeric().max();
      feature.unit = proto.numeric().unit();
      feature.integer = proto.numeric().integer();
      return feature;
    case v1::Feature::kCategorical:
      feature.type = FeatureType::kCategorical;
      feature.values.assign(proto.categorical().values().begin(),
                            proto.categorical().values().end());
      return feature;
    case v1::Feature::TYPE_NOT_SET:
      break;
  }
  return InvalidArgumentError("must be numeric or categorical");
}

}  // namespace

v1::Schema ToProto(const Schema& schema) {
  v1::Schema proto;
  for (const Feature& feature : schema.features()) *proto.add_features() = ToProto(feature);
  proto.set_label(schema.label());
  proto.mutable_classes()->Assign(schema.classes().begin(), schema.classes().end());
  if (schema.target()) {
    proto.mutable_target()->set_min(schema.target()->min);
    proto.mutable_target()->set_max(schema.target()->max);
    proto.mutable_target()->set_unit(schema.target()->unit);
  }
  proto.set_answers_from_private_rows(schema.answers_from_private_rows());
  return proto;
}

StatusOr<Schema> FromProto(const v1::Schema& proto) {
  std::vector<Feature> features;
  features.reserve(proto.features_size());
  for (const v1::Feature& feature_proto : proto.features()) {
    StatusOr<Feature> feature = FromProto(feature_proto);
    if (!feature.ok()) {
      return InField(ElementName("schema.features", features.size()), feature.status());
    }
    features.push_back(*std::move(feature));
  }
  if (proto.has_target() && proto.classes_size() > 0) {
    return InvalidArgumentError("schema: must have classes or a target, not both");
  }
  if (proto.target().integer()) {
    return InvalidArgumentError(
        "schema.target: a target is not declared integer: leave it "
        "unset");
  }
  StatusOr<Schema> schema = proto.has_target()
                                ? Schema::CreateRegression(std::move(features), proto.label(),
                                                           {.min = proto.target().min(),
                                                            .max = proto.target().max(),
                                                            .unit = proto.target().unit()})
                                : Schema::Create(std::move(features), proto.label(),
                                                 {proto.classes().begin(), proto.classes().end()});
  if (!schema.ok()) return InField("schema", schema.status());
  if (proto.answers_from_private_rows()) return schema->WithAnswersFromPrivateRows();
  return schema;
}

v1::Row ToProto(RowView row) {
  v1::Row proto;
  proto.mutable_values()->Assign(row.begin(), row.end());
  return proto;
}

StatusOr<Row> FromProto(const v1::Row& proto, const Schema& schema) {
  Row row(proto.values().begin(), proto.values().end());
  COPPICE_RETURN_IF_ERROR(InField("row", schema.Validate(row)));
  return row;
}

}  // namespace coppice
