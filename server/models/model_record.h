// How a model is stored, and read back. docs/storage.md has the format.
//
// The key of a study's model is model/STUDY/MODEL, of a job's trained/JOB/MODEL: to delete a study
// is to delete its models with it.
//
// Errors  DataLoss for what was not written so, naming the key.

#ifndef COPPICE_SERVER_MODELS_MODEL_RECORD_H_
#define COPPICE_SERVER_MODELS_MODEL_RECORD_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "coppice/v1/model.pb.h"
#include "server/models/model_info.h"

namespace coppice::models {

inline constexpr absl::string_view kStudyModelsPrefix = "model/";
inline constexpr absl::string_view kJobModelsPrefix = "trained/";
inline std::string StudyModelsPrefix(absl::string_view study) {
  return absl::StrCat(kStudyModelsPrefix, study, "/");
}

// `source` is "studies/ID" or "jobs/ID".
std::string ModelKey(absl::string_view source, absl::string_view model);

// SetModelRecord() sets all of the message but the model itself, ToProto() all of it.
void SetModelRecord(const ModelInfo& info, v1::Model& proto);
v1::Model ToProto(const ModelInfo& info);

absl::StatusOr<ModelInfo> DecodeModel(absl::string_view key, absl::string_view bytes);

}  // namespace coppice::models

#endif  // COPPICE_SERVER_MODELS_MODEL_RECORD_H_
