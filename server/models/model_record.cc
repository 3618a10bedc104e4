#include "server/models/model_record.h"

#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "common/base/status_macros.h"
#include "common/wire/convert.h"
#include "server/storage/store_record.h"

namespace coppice::models {
namespace {

bool IsOfJob(absl::string_view source) { return ParseName(kJobs, source).ok(); }

}  // namespace

std::string ModelKey(absl::string_view source, absl::string_view model) {
  absl::string_view id = source;
  const bool of_job = absl::ConsumePrefix(&id, absl::StrCat(kJobs, "/"));
  if (!of_job) absl::ConsumePrefix(&id, absl::StrCat(kStudies, "/"));
  return absl::StrCat(of_job ? kJobModelsPrefix : kStudyModelsPrefix, id, "/", model);
}

void SetModelRecord(const ModelInfo& info, v1::Model& proto) {
  proto.set_name(MakeName(kModels, info.id));
  if (IsOfJob(info.source)) {
    proto.set_job(info.source);
  } else {
    proto.set_study(info.source);
  }
  proto.set_created_unix_seconds(info.created_unix_seconds);
}

v1::Model ToProto(const ModelInfo& info) {
  v1::Model proto = ToProto(*info.model);
  SetModelRecord(info, proto);
  if (info.signature) *proto.mutable_signature() = ToProto(*info.signature);
  return proto;
}

absl::StatusOr<ModelInfo> DecodeModel(absl::string_view key, absl::string_view bytes) {
  COPPICE_ASSIGN_OR_RETURN(const v1::Model proto, storage::ParseRecord<v1::Model>(key, bytes));
  const std::string& source = proto.job().empty() ? proto.study() : proto.job();
  const absl::StatusOr<std::string> id = ParseName(kModels, proto.name());
  const bool named = ParseName(kStudies, source).ok() || IsOfJob(source);
  if (!id.ok() || !named || key != ModelKey(source, *id)) {
    return storage::CorruptRecord(key, "has the model of another key");
  }
  absl::StatusOr<Model> model = FromProto(proto);
  if (!model.ok()) return storage::CorruptRecord(key, model.status().message());
  ModelInfo info{.id = *id,
                 .source = source,
                 .created_unix_seconds = proto.created_unix_seconds(),
                 .model = std::make_shared<const Model>(*std::move(model))};
  if (!proto.has_signature()) return info;
  const absl::StatusOr<ModelSignature> signature = FromProto(proto.signature());
  if (!signature.ok()) return storage::CorruptRecord(key, signature.status().message());
  info.signature = *signature;
  return info;
}

}  // namespace coppice::models
