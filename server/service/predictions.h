// What Predict and StreamPredictions share: which model a name stands for, and its answers to the
// rows of one message.
//
// Errors  InvalidArgument that names the field, and never quotes a value of a row.
// Threads plain functions.

#ifndef COPPICE_SERVER_SERVICE_PREDICTIONS_H_
#define COPPICE_SERVER_SERVICE_PREDICTIONS_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/wire/convert.h"
#include "coppice/v1/model.pb.h"
#include "server/models/endpoints.h"
#include "server/models/models.h"

namespace coppice::service {

inline constexpr int kMaxRowsPerPredict = 10'000;
inline constexpr int kMaxRowsPerExplain = 100;
// A response of explanations stays below what any gRPC client takes by default.
inline constexpr size_t kMaxExplanationBytes = 4'000'000;

// Of "models/ID", with version 0, or "endpoints/ID". Whoever holds it is answered by this model,
// whatever is switched meanwhile.
absl::StatusOr<std::shared_ptr<const models::ServedModel>> FindModel(
    const models::Models& models, const models::Endpoints& endpoints, const std::string& name);

using Rows = google::protobuf::RepeatedPtrField<v1::Row>;
using Predictions = google::protobuf::RepeatedPtrField<v1::Prediction>;

// 1 to `most` rows.
absl::Status CheckRowCount(const Rows& rows, int most);

// Whether the rows are answered sooner than another thread would have begun: some 0.1 ms.
bool IsQuick(const Model& model, const Rows& rows);

absl::Status PredictRows(const Model& model, const Rows& rows, Predictions& predictions);

// `model`, `version` and `classes` of a response.
template <typename Response>
void SetAnsweringModel(const models::ServedModel& served, Response& response) {
  response.set_model(MakeName(kModels, served.model.id));
  response.set_version(served.version);
  const std::vector<std::string>& classes = served.model.model->schema().classes();
  response.mutable_classes()->Assign(classes.begin(), classes.end());
}

// The whole answer to `request`, explanations included.
absl::Status AnswerPredict(const models::ServedModel& served, const v1::PredictRequest& request,
                           v1::PredictResponse& response);

}  // namespace coppice::service

#endif  // COPPICE_SERVER_SERVICE_PREDICTIONS_H_
