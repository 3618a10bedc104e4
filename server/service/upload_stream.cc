#include "server/service/upload_stream.h"

#include <memory>
#include <utility>

#include "common/base/status_macros.h"
#include "common/wire/convert.h"
#include "common/wire/field_error.h"
#include "server/central/row_block.h"
#include "server/service/central_messages.h"

namespace coppice::service {

std::shared_ptr<UploadStream> UploadStream::Start(central::Datasets& datasets,
                                                  central::Caller caller, StreamCall& call) {
  // The constructor is private, out of make_shared's reach.
  std::shared_ptr<UploadStream> stream(new UploadStream(datasets, std::move(caller), call));
  call.Read();
  return stream;
}

void UploadStream::OnMessage() {
  const absl::Status queued = call_.RunOnLane([this] { StoreAndGoOn(); });
  if (!queued.ok()) call_.End(queued);
}

void UploadStream::OnNoMoreMessages() {
  const MutexLock lock(mutex_);
  if (dataset_.empty()) return call_.End(FieldError("dataset", "must be set in some message"));
  call_.EndWith(stored_);
}

void UploadStream::StoreAndGoOn() {
  const absl::Status stored = StoreRows();
  if (!stored.ok()) return call_.End(stored);
  call_.Read();
}

absl::Status UploadStream::StoreRows() {
  const MutexLock lock(mutex_);
  if (complete_) return FieldError("complete", "nothing may follow the message that sets it");
  v1::UploadRowsRequest request;
  COPPICE_RETURN_IF_ERROR(call_.ParseTo(request));
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

}  // namespace coppice::service
