#include "server/service/prediction_stream.h"

#include "common/base/status_macros.h"
#include "common/wire/field_error.h"
#include "server/service/load_limits.h"
#include "server/service/predict_rows.h"
#include "server/service/raw_message.h"
#include "server/service/status_conversion.h"

namespace coppice::service {

PredictionStream* PredictionStream::Start(const models::Models& models,
                                          const models::Endpoints& endpoints, WorkerPool& pool,
                                          grpc::CallbackServerContext& context) {
  auto* stream = new PredictionStream(models, endpoints, pool, context);
  stream->StartRead(&stream->request_bytes_);
  return stream;
}

void PredictionStream::OnReadDone(bool ok) {
  if (!ok) return Finish(grpc::Status::OK);
  const absl::StatusOr<bool> quick = Begin();
  if (!quick.ok()) return Finish(ToGrpcStatus(quick.status()));
  if (*quick) return AnswerAndGoOn();
  const absl::Status queued = pool_.Run([this] { AnswerAndGoOn(); });
  if (!queued.ok()) Finish(ToLoadStatus(context_, queued));
}

absl::StatusOr<bool> PredictionStream::Begin() {
  const MutexLock lock(mutex_);
  response_.Clear();
  COPPICE_RETURN_IF_ERROR(ParseMessage(request_bytes_, request_));
  request_bytes_.Clear();
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
    const grpc::Slice answer = ToSlice(response_);
    response_bytes_ = grpc::ByteBuffer(&answer, 1);
  }
  if (!status.ok()) return Finish(ToGrpcStatus(status));
  StartWrite(&response_bytes_);
}

void PredictionStream::OnWriteDone(bool ok) {
  if (!ok) return Finish(grpc::Status::CANCELLED);
  StartRead(&request_bytes_);
}

}  // namespace coppice::service
