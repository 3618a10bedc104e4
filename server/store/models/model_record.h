// Writes and reads the records of a model. docs/storage.md has the format.
//
// A study's model has the key model/STUDY/MODEL, a job's trained/JOB/MODEL, and beside it each has
// its summary, under "summary/" and the same key: a start reads those alone, so it does not depend
// on how large the models are. Both are written and removed together.
//
// Errors  DataLoss, naming the key, for a record in another form.

#ifndef COPPICE_SERVER_STORE_MODELS_MODEL_RECORD_H_
#define COPPICE_SERVER_STORE_MODELS_MODEL_RECORD_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "common/base/text.h"
#include "coppice/v1/model.pb.h"
#include "server/store/models/model_info.h"
#include "server/store/store.h"

namespace coppice::models {

inline constexpr std::string_view kStudyModelsPrefix = "model/";
inline constexpr std::string_view kJobModelsPrefix = "trained/";
inline std::string StudyModelsPrefix(std::string_view study) {
  return StrCat(kStudyModelsPrefix, study, "/");
}

// `source` is "studies/ID" or "jobs/ID".
std::string ModelKey(std::string_view source, std::string_view model);

bool IsModelKey(std::string_view key);

inline constexpr std::string_view kSummariesPrefix = "summary/";
inline std::string SummaryKey(std::string_view model_key) {
  return StrCat(kSummariesPrefix, model_key);
}

// About the bytes that a model takes in memory.
uint64_t MemoryOf(const Model& model);

// Puts both records into the batch, and returns the summary.
ModelSummary PutModel(const ModelInfo& info, storage::StoreBatch& batch);
// Removes both records of the model with that key, or of all models of a study.
void DeleteModel(std::string_view model_key, storage::StoreBatch& batch);
void DeleteStudyModels(std::string_view study, storage::StoreBatch& batch);

// The summary of a model whose record has `bytes` bytes.
ModelSummary Summarize(const ModelInfo& info, uint64_t bytes);
std::string EncodeSummary(const ModelSummary& summary);
StatusOr<ModelSummary> DecodeSummary(std::string_view key, std::string_view bytes);

// SetModelRecord() sets the whole message except the model itself, ToProto() all of it.
void SetModelRecord(const ModelSummary& summary, v1::Model& proto);
v1::Model ToProto(const ModelInfo& info);

StatusOr<ModelInfo> DecodeModel(std::string_view key, std::string_view bytes);

}  // namespace coppice::models

#endif  // COPPICE_SERVER_STORE_MODELS_MODEL_RECORD_H_
