// Converts between messages and checked values, one pair of functions per message.
//
// FromProto() treats its input as hostile and returns InvalidArgument that names the field; its
// results satisfy the invariants of their types. ToProto() cannot fail. No gRPC here.

#ifndef COPPICE_COMMON_WIRE_PROTO_CONVERT_H_
#define COPPICE_COMMON_WIRE_PROTO_CONVERT_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/ldp/local_mechanism.h"
#include "common/schema/schema.h"
#include "common/terms/terms.h"
#include "common/model/explain.h"
#include "common/model/model.h"
#include "common/model/tree.h"
#include "coppice/v1/forest.pb.h"
#include "coppice/v1/model.pb.h"
#include "coppice/v1/schema.pb.h"
#include "coppice/v1/study.pb.h"

namespace coppice {

v1::Schema ToProto(const Schema& schema);
absl::StatusOr<Schema> FromProto(const v1::Schema& proto);

v1::Row ToProto(RowView row);
absl::StatusOr<Row> FromProto(const v1::Row& proto, const Schema& schema);

v1::Tree ToProto(const Tree& tree);
absl::StatusOr<Tree> FromProto(const v1::Tree& proto, const Schema& schema);
v1::Forest ToProto(const Forest& forest);
absl::StatusOr<Forest> FromProto(const v1::Forest& proto, const Schema& schema);

v1::Mechanism ToProto(MechanismKind kind);
absl::StatusOr<MechanismKind> FromProto(v1::Mechanism proto);

v1::NumberRange ToProto(const NumberRange& range);
NumberRange FromProto(const v1::NumberRange& proto);
v1::Terms ToProto(const Terms& terms);
absl::StatusOr<Terms> FromProto(const v1::Terms& proto);
// The bytes that are sent and hashed, and back.
std::string SerializeTerms(const Terms& terms);
absl::StatusOr<Terms> ParseTerms(absl::string_view bytes);

v1::Release ToProto(const Release& release);
std::vector<Release> FromProto(const google::protobuf::RepeatedPtrField<v1::Release>& releases);
v1::Certificate ToProto(const Certificate& certificate);
Certificate FromProto(const v1::Certificate& proto);  // unchecked: use CheckCertificate()

// InvalidArgument, which says to upgrade, if the model needs a later reader.
absl::Status CheckReadable(const v1::Model& proto);

// Sets everything except name, study, time and signature, which belong to the curator's record of
// the model.
v1::Model ToProto(const Model& model);
absl::StatusOr<Model> FromProto(const v1::Model& proto);

v1::Prediction ToProto(const Prediction& prediction);
// `tree_schema` must be the explained model's.
v1::Explanation ToProto(const Explanation& explanation, const Schema& tree_schema);

// MakeName() returns "studies/ID" and so on. ParseName() returns the ID, or InvalidArgument.
inline constexpr absl::string_view kStudies = "studies";
inline constexpr absl::string_view kModels = "models";
inline constexpr absl::string_view kEndpoints = "endpoints";
inline constexpr absl::string_view kDatasets = "datasets";
inline constexpr absl::string_view kJobs = "jobs";
std::string MakeName(absl::string_view collection, absl::string_view id);
absl::StatusOr<std::string> ParseName(absl::string_view collection, absl::string_view name);

}  // namespace coppice

#endif  // COPPICE_COMMON_WIRE_PROTO_CONVERT_H_
