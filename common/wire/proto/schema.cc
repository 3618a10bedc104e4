#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/wire/field_error.h"
#include "common/wire/proto/convert.h"
#include "common/wire/terms.h"

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

StatusOr<Schema> ParseSchema(const v1::Schema& proto) {
  return ReadSchemaMessage(proto.SerializeAsString());
}

v1::Row ToProto(RowView row) {
  v1::Row proto;
  proto.mutable_values()->Assign(row.begin(), row.end());
  return proto;
}

StatusOr<Row> ParseRow(const v1::Row& proto, const Schema& schema) {
  Row row(proto.values().begin(), proto.values().end());
  COPPICE_RETURN_IF_ERROR(InField("row", schema.Validate(row)));
  return row;
}

}  // namespace coppice
