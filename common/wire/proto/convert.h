// Converts between protobuf's messages and checked values, for programs that have protobuf: daemon,
// terminal, Python.
//
// Parse...() treats its input as hostile and returns InvalidArgument that names the field; its
// results satisfy the invariants of their types. What a device reads as well, it reads by the
// reader over bytes (common/wire), so that both check the same. ToProto() cannot fail. No gRPC
// here.

#ifndef COPPICE_COMMON_WIRE_PROTO_CONVERT_H_
#define COPPICE_COMMON_WIRE_PROTO_CONVERT_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "common/ldp/local_mechanism.h"
#include "common/model/explain.h"
#include "common/model/model.h"
#include "common/model/tree.h"
#include "common/schema/schema.h"
#include "common/terms/terms.h"
#include "coppice/v1/forest.pb.h"
#include "coppice/v1/model.pb.h"
#include "coppice/v1/schema.pb.h"
#include "coppice/v1/study.pb.h"

namespace coppice {

v1::Schema ToProto(const Schema& schema);
StatusOr<Schema> ParseSchema(const v1::Schema& proto);

v1::Row ToProto(RowView row);
StatusOr<Row> ParseRow(const v1::Row& proto, const Schema& schema);

v1::Tree ToProto(const Tree& tree);
StatusOr<Tree> ParseTree(const v1::Tree& proto, const Schema& schema);
v1::Forest ToProto(const Forest& forest);
StatusOr<Forest> ParseForest(const v1::Forest& proto, const Schema& schema);

v1::Mechanism ToProto(MechanismKind kind);
StatusOr<MechanismKind> ParseMechanism(v1::Mechanism proto);

v1::NumberRange ToProto(const NumberRange& range);
NumberRange ParseNumberRange(const v1::NumberRange& proto);
v1::Terms ToProto(const Terms& terms);
StatusOr<Terms> ParseTerms(const v1::Terms& proto);
// The bytes that are sent and hashed; ReadTerms() reads them.
std::string SerializeTerms(const Terms& terms);

v1::Release ToProto(const Release& release);
std::vector<Release> ParseReleases(const google::protobuf::RepeatedPtrField<v1::Release>& releases);
v1::Certificate ToProto(const Certificate& certificate);
Certificate ParseCertificate(const v1::Certificate& proto);  // unchecked: use CheckCertificate()

// InvalidArgument if the model says no format, or needs a later reader.
Status CheckReadable(const v1::Model& proto);

// Sets everything except name, study, time and signature, which belong to the curator's record of
// the model.
v1::Model ToProto(const Model& model);
StatusOr<Model> ParseModel(const v1::Model& proto);

v1::Prediction ToProto(const Prediction& prediction);
// `tree_schema` must be the explained model's.
v1::Explanation ToProto(const Explanation& explanation, const Schema& tree_schema);

// MakeName() returns "studies/ID" and so on. ParseName() returns the ID, or InvalidArgument.
inline constexpr std::string_view kStudies = "studies";
inline constexpr std::string_view kModels = "models";
inline constexpr std::string_view kEndpoints = "endpoints";
inline constexpr std::string_view kDatasets = "datasets";
inline constexpr std::string_view kJobs = "jobs";
inline constexpr std::string_view kEvaluations = "evaluations";
std::string MakeName(std::string_view collection, std::string_view id);
StatusOr<std::string> ParseName(std::string_view collection, std::string_view name);

}  // namespace coppice

#endif  // COPPICE_COMMON_WIRE_PROTO_CONVERT_H_
