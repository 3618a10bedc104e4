// Writes and reads the record of a model. docs/storage.md has the format.
//
// A study's model has the key model/STUDY/MODEL, a job's trained/JOB/MODEL. Deleting a study thus
// deletes its models.
//
// Errors  DataLoss, naming the key, for a record in another form.

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

// SetModelRecord() sets the whole message except the model itself, ToProto() all of it.
void SetModelRecord(const ModelInfo& info, v1::Model& proto);
v1::Model ToProto(const ModelInfo& info);

absl::StatusOr<ModelInfo> DecodeModel(absl::string_view key, absl::string_view bytes);

}  // namespace coppice::models

#endif  // COPPICE_SERVER_MODELS_MODEL_RECORD_H_
