#include "server/service/upload_stream.h"

#include <memory>
#include <utility>

#include "common/base/status_macros.h"
#include "common/wire/convert.h"
#include "common/wire/field_error.h"
#include "server/central/row_block.h"
#include "server/service/central_messages.h"
#include "server/service/load_limits.h"
#include "server/service/raw_message.h"
#include "server/service/status_conversion.h"

namespace coppice::service {

UploadStream* UploadStream::Start(central::Datasets& datasets, WorkerPool& pool,
                                  central::Caller caller, grpc::CallbackServerContext& context,
                                  grpc::ByteBuffer& response) {
  auto* stream = new UploadStream(datasets, pool, std::move(caller), context, response);
  stream->StartRead(&stream->request_);
  return stream;
}

void UploadStream::OnReadDone(bool ok) {
  if (!ok) return Finish(ToGrpcStatus(End()));
  const absl::Status queued = pool_.Run([this] { StoreAndGoOn(); });
  if (!queued.ok()) Finish(ToLoadStatus(context_, queued));
}

void UploadStream::StoreAndGoOn() {
  const absl::Status stored = StoreRows();
  if (!stored.ok()) return Finish(ToGrpcStatus(stored));
  StartRead(&request_);
}

absl::Status UploadStream::StoreRows() {
  const MutexLock lock(mutex_);
  if (complete_) return FieldError("complete", "nothing may follow the message that sets it");
  v1::UploadRowsRequest request;
  COPPICE_RETURN_IF_ERROR(ParseMessage(request_, request));
  request_.Clear();
  if (!request.dataset().empty()) dataset_ = request.dataset();
  const absl::StatusOr<std::string> id = ParseName(kDatasets, dataset_);
  if (!id.ok()) return InField("dataset", id.status());
  COPPICE_RETURN_IF_ERROR(datasets_.CheckVisible(*id, caller_));
  COPPICE_ASSIGN_OR_RETURN(const std::shared_ptr<const Schema> schema, datasets_.GetSchema(*id));
  COPPICE_ASSIGN_OR_RETURN(const Table rows, central::RowsFromProto(request.rows(), schema));
  COPPICE_ASSIGN_OR_RETURN(const central::DatasetInfo info,
                           datasets_.Upload(*id, request.first_row(), rows, request.complete()));
  complete_ = request.complete();
  *stored_.mutable_dataset() = ToProto(info);
  return absl::OkStatus();
}

absl::Status UploadStream::End() {
  const MutexLock lock(mutex_);
  if (dataset_.empty()) return FieldError("dataset", "must be set in some message");
  const grpc::Slice answer = ToSlice(stored_);
  response_ = grpc::ByteBuffer(&answer, 1);
  return absl::OkStatus();
}

}  // namespace coppice::service
