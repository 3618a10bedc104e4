#include "common/wire/terms.h"

#include <algorithm>
#include <climits>
#include <memory>
#include <string_view>
#include <tuple>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/wire/field_error.h"
#include "common/wire/proto/convert.h"

namespace coppice {

v1::Mechanism ToProto(MechanismKind kind) {
  return static_cast<v1::Mechanism>(kind);  // MechanismKind has the numbers of the wire
}

StatusOr<MechanismKind> ParseMechanism(v1::Mechanism proto) { return MakeMechanismKind(proto); }

v1::NumberRange ToProto(const NumberRange& range) {
  v1::NumberRange proto;
  proto.set_low(range.low);
  proto.set_high(range.high);
  return proto;
}

NumberRange ParseNumberRange(const v1::NumberRange& proto) {
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
  if (terms.window.has_value()) {
    proto.mutable_window()->set_reach(terms.window->reach);
    proto.mutable_window()->set_half_width(terms.window->half_width);
  }
  return proto;
}

StatusOr<Terms> ParseTerms(const v1::Terms& proto) { return ReadTerms(proto.SerializeAsString()); }

std::string SerializeTerms(const Terms& terms) { return ToProto(terms).SerializeAsString(); }

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
