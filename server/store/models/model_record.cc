#include "server/store/models/model_record.h"

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/wire/model.h"
#include "common/wire/proto/convert.h"
#include "common/wire/proto/model_signature.h"
#include "coppice/v1/storage.pb.h"
#include "server/store/store_record.h"

namespace coppice::models {
namespace {

bool IsOfJob(std::string_view source) { return ParseName(kJobs, source).ok(); }

// What the allocator adds to each block that it gives.
constexpr uint64_t kBlock = 16;

template <typename T>
uint64_t MemoryOf(const std::vector<T>& values) {
  return values.empty() ? 0 : values.size() * sizeof(T) + kBlock;
}

uint64_t MemoryOf(const Tree& tree) {
  constexpr uint64_t kIndexes = 4;  // parent, depth and leaves of each node
  return tree.nodes().size() * (sizeof(Node) + kIndexes * sizeof(uint32_t)) +
         tree.num_leaves() * sizeof(uint32_t) + (kIndexes + 2) * kBlock;
}

// The name and the source of a model's record or summary. DataLoss unless they are those of `key`.
struct Origin {
  std::string id, source;
};
StatusOr<Origin> OriginIn(const v1::Model& proto, std::string_view key) {
  const std::string& source = proto.job().empty() ? proto.study() : proto.job();
  const StatusOr<std::string> id = ParseName(kModels, proto.name());
  const bool named = ParseName(kStudies, source).ok() || IsOfJob(source);
  if (!id.ok() || !named || key != ModelKey(source, *id)) {
    return storage::CorruptRecord(key, "has the model of another key");
  }
  return Origin{.id = *id, .source = source};
}

}  // namespace

std::string ModelKey(std::string_view source, std::string_view model) {
  std::string_view id = source;
  const bool of_job = ConsumePrefix(&id, StrCat(kJobs, "/"));
  if (!of_job) ConsumePrefix(&id, StrCat(kStudies, "/"));
  return StrCat(of_job ? kJobModelsPrefix : kStudyModelsPrefix, id, "/", model);
}

bool IsModelKey(std::string_view key) {
  return StartsWith(key, kStudyModelsPrefix) || StartsWith(key, kJobModelsPrefix);
}

uint64_t MemoryOf(const Model& model) {
  uint64_t bytes = sizeof(Model);
  for (const Tree& tree : model.forest()) bytes += sizeof(Tree) + MemoryOf(tree);
  for (const std::vector<LeafPrediction>& leaves : model.leaves()) {
    bytes += MemoryOf(leaves);
    for (const LeafPrediction& leaf : leaves) {
      bytes += MemoryOf(leaf.probabilities) + MemoryOf(leaf.noise);
    }
  }
  // The schema is there twice, and its names are short.
  return bytes + 2 * ToProto(model.tree_schema()).ByteSizeLong();
}

ModelSummary PutModel(const ModelInfo& info, storage::StoreBatch& batch) {
  const std::string key = ModelKey(info.source, info.id);
  std::string bytes = ToProto(info).SerializeAsString();
  ModelSummary summary = Summarize(info, bytes.size());
  batch.Put(SummaryKey(key), EncodeSummary(summary));
  batch.Put(key, std::move(bytes));
  return summary;
}

void DeleteModel(std::string_view model_key, storage::StoreBatch& batch) {
  batch.Delete(model_key);
  batch.Delete(SummaryKey(model_key));
}

void DeleteStudyModels(std::string_view study, storage::StoreBatch& batch) {
  batch.DeletePrefix(StudyModelsPrefix(study));
  batch.DeletePrefix(SummaryKey(StudyModelsPrefix(study)));
}

ModelSummary Summarize(const ModelInfo& info, uint64_t bytes) {
  return {.id = info.id,
          .source = info.source,
          .created_unix_seconds = info.created_unix_seconds,
          .certificate = std::make_shared<const Certificate>(info.model->certificate()),
          .bytes = bytes,
          .memory = MemoryOf(*info.model)};
}

std::string EncodeSummary(const ModelSummary& summary) {
  v1::ModelSummaryRecord record;
  SetModelRecord(summary, *record.mutable_model());
  *record.mutable_model()->mutable_certificate() = ToProto(*summary.certificate);
  record.set_bytes(summary.bytes);
  record.set_memory(summary.memory);
  return record.SerializeAsString();
}

StatusOr<ModelSummary> DecodeSummary(std::string_view key, std::string_view bytes) {
  COPPICE_ASSIGN_OR_RETURN(const auto record,
                           storage::ParseRecord<v1::ModelSummaryRecord>(key, bytes));
  const v1::Model& model = record.model();
  StatusOr<Origin> origin = OriginIn(model, StripPrefix(key, kSummariesPrefix));
  if (!origin.ok()) return storage::CorruptRecord(key, "has the summary of another key");
  return ModelSummary{
      .id = std::move(origin->id),
      .source = std::move(origin->source),
      .created_unix_seconds = model.created_unix_seconds(),
      .certificate = std::make_shared<const Certificate>(ParseCertificate(model.certificate())),
      .bytes = record.bytes(),
      .memory = record.memory()};
}

void SetModelRecord(const ModelSummary& summary, v1::Model& proto) {
  proto.set_name(MakeName(kModels, summary.id));
  if (IsOfJob(summary.source)) {
    proto.set_job(summary.source);
  } else {
    proto.set_study(summary.source);
  }
  proto.set_created_unix_seconds(summary.created_unix_seconds);
}

v1::Model ToProto(const ModelInfo& info) {
  v1::Model proto = ToProto(*info.model);
  SetModelRecord({.id = info.id,
                  .source = info.source,
                  .created_unix_seconds = info.created_unix_seconds,
                  .certificate = nullptr},
                 proto);
  if (info.signature) *proto.mutable_signature() = ToProto(*info.signature);
  return proto;
}

namespace {

// What a record says of its model besides the model itself.
StatusOr<ModelInfo> DecodeAllButModel(std::string_view key, std::string_view bytes) {
  COPPICE_ASSIGN_OR_RETURN(const v1::Model proto, storage::ParseRecord<v1::Model>(key, bytes));
  COPPICE_ASSIGN_OR_RETURN(Origin origin, OriginIn(proto, key));
  ModelInfo info{.id = std::move(origin.id),
                 .source = std::move(origin.source),
                 .created_unix_seconds = proto.created_unix_seconds(),
                 .model = nullptr};
  if (!proto.has_signature()) return info;
  const StatusOr<ModelSignature> signature = ParseModelSignature(proto.signature());
  if (!signature.ok()) return storage::CorruptRecord(key, signature.status().message());
  info.signature = *signature;
  return info;
}

}  // namespace

// The message is gone before the model is read from the same bytes: models are large, and a message
// takes more memory than its model.
StatusOr<ModelInfo> DecodeModel(std::string_view key, std::string_view bytes) {
  COPPICE_ASSIGN_OR_RETURN(ModelInfo info, DecodeAllButModel(key, bytes));
  StatusOr<Model> model = ReadModel(bytes);
  if (!model.ok()) return storage::CorruptRecord(key, model.status().message());
  info.model = std::make_shared<const Model>(*std::move(model));
  return info;
}

}  // namespace coppice::models
