#include <algorithm>
#include <climits>
#include <memory>
#include <string_view>
#include <tuple>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/wire/proto/convert.h"
#include "common/wire/proto/field_error.h"

namespace coppice {

v1::Mechanism ToProto(MechanismKind kind) {
  return static_cast<v1::Mechanism>(kind);  // MechanismKind has the numbers of the wire
}

StatusOr<MechanismKind> FromProto(v1::Mechanism proto) {
  for (const MechanismKind kind : AllMechanismKinds()) {
    if (ToProto(kind) == proto) return kind;
  }
  return FieldError("mechanism", "must be set, to one that this version knows");
}

v1::NumberRange ToProto(const NumberRange& range) {
  v1::NumberRange proto;
  proto.set_low(range.low);
  proto.set_high(range.high);
  return proto;
}

NumberRange FromProto(const v1::NumberRange& proto) {
  return {.low = proto.low(), .high = proto.high()};
}

v1::Terms ToProto(const Terms& terms) {
  v1::Terms proto;
  proto.set_study(terms.study);
  *proto.mutable_schema() = ToProto(*terms.schema);
  proto.set_trees(terms.trees);
  proto.mutable_forest_root()->assign(terms.forest_root.begin(), terms.forest_root.end());
  proto.set_epsilon_nanos(terms.epsilon.nanos());
  proto.set_mechanism(ToProto(terms.mechanism));
  if (terms.rounding.has_value()) *proto.mutable_rounding() = ToProto(*terms.rounding);
  proto.set_joined_by(terms.joined_by);
  return proto;
}

StatusOr<Terms> FromProto(const v1::Terms& proto) {
  COPPICE_ASSIGN_OR_RETURN(Schema schema, FromProto(proto.schema()));
  COPPICE_ASSIGN_OR_RETURN(const MechanismKind mechanism, FromProto(proto.mechanism()));
  const StatusOr<Budget> epsilon = Budget::FromNanos(proto.epsilon_nanos());
  if (!epsilon.ok()) return InField("epsilon_nanos", epsilon.status());
  if (proto.forest_root().size() != std::tuple_size_v<Sha256Digest>) {
    return FieldError("forest_root", StrCat("must have ", std::tuple_size_v<Sha256Digest>,
                                            " bytes, has ", proto.forest_root().size()));
  }
  Terms terms{.study = proto.study(),
              .schema = std::make_shared<const Schema>(std::move(schema)),
              .trees = proto.trees(),
              .epsilon = *epsilon,
              .mechanism = mechanism,
              .joined_by = proto.joined_by()};
  if (proto.has_rounding()) terms.rounding = FromProto(proto.rounding());
  std::copy(proto.forest_root().begin(), proto.forest_root().end(), terms.forest_root.begin());
  COPPICE_RETURN_IF_ERROR(ValidateTerms(terms));
  return terms;
}

std::string SerializeTerms(const Terms& terms) { return ToProto(terms).SerializeAsString(); }

StatusOr<Terms> ParseTerms(std::string_view bytes) {
  v1::Terms proto;
  if (bytes.size() > INT_MAX ||
      !proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return FieldError("terms", "are not a coppice.v1.Terms message");
  }
  StatusOr<Terms> terms = FromProto(proto);
  if (!terms.ok()) return InField("terms", terms.status());
  return terms;
}

std::string MakeName(std::string_view collection, std::string_view id) {
  return StrCat(collection, "/", id);
}

StatusOr<std::string> ParseName(std::string_view collection, std::string_view name) {
  if (!ConsumePrefix(&name, collection) || !ConsumePrefix(&name, "/") || !IsValidId(name)) {
    return InvalidArgumentError(
        StrCat("a name here is \"", collection,
               "/ID\", its ID 1 to 63 of a-z 0-9 - _, starting with a letter or digit"));
  }
  return std::string(name);
}

}  // namespace coppice
