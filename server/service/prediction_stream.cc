#include "server/service/prediction_stream.h"

#include "common/base/status_macros.h"
#include "common/wire/field_error.h"
#include "server/service/predictions.h"

namespace coppice::service {

std::shared_ptr<PredictionStream> PredictionStream::Start(const models::Models& models,
                                                          const models::Endpoints& endpoints,
                                                          StreamCall& call) {
  // The constructor is private, out of make_shared's reach.
  std::shared_ptr<PredictionStream> stream(new PredictionStream(models, endpoints, call));
  call.Read();
  return stream;
}

void PredictionStream::OnMessage() {
  const absl::StatusOr<bool> quick = Begin();
  if (!quick.ok()) return call_.End(quick.status());
  if (*quick) return AnswerAndGoOn();
  const absl::Status queued = call_.RunOnLane([this] { AnswerAndGoOn(); });
  if (!queued.ok()) call_.End(queued);
}

absl::StatusOr<bool> PredictionStream::Begin() {
  const MutexLock lock(mutex_);
  response_.Clear();
  COPPICE_RETURN_IF_ERROR(call_.ParseTo(request_));
  if (served_ == nullptr) {
    name_ = request_.name();
    COPPICE_ASSIGN_OR_RETURN(served_, FindModel(models_, endpoints_, name_));
    SetAnsweringModel(*served_, response_);
  } else if (!request_.name().empty() && request_.name() != name_) {
    return FieldError("name", "must be the same in all of a stream, or set in the first request");
  }
  COPPICE_RETURN_IF_ERROR(CheckRowCount(request_.rows(), kMaxRowsPerPredict));
  return IsQuick(*served_->model.model, request_.rows());
}

void PredictionStream::AnswerAndGoOn() {
  absl::Status status;
  {
    const MutexLock lock(mutex_);
    status = PredictRows(*served_->model.model, request_.rows(), *response_.mutable_predictions());
    if (status.ok()) status = call_.Write(response_);
  }
  if (!status.ok()) call_.End(status);
}

void PredictionStream::OnWritten(bool sent) {
  if (!sent) return call_.End(absl::CancelledError());
  call_.Read();
}

}  // namespace coppice::service
