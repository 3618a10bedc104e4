#include "server/service/dataset_handlers.h"

#include <algorithm>
#include <string>
#include <vector>

#include "common/base/status_macros.h"
#include "common/wire/convert.h"
#include "common/wire/field_error.h"
#include "server/service/central_messages.h"
#include "server/service/messages.h"
#include "server/service/unary.h"
#include "server/service/upload_stream.h"

namespace coppice::service {
namespace {

// The id in `name`, of a dataset that the caller may see.
absl::StatusOr<std::string> VisibleId(const central::Datasets& datasets, const std::string& name,
                                      const central::Caller& caller) {
  COPPICE_ASSIGN_OR_RETURN(std::string id, ParseName(kDatasets, name));
  COPPICE_RETURN_IF_ERROR(datasets.CheckVisible(id, caller));
  return id;
}

absl::Status Create(central::Datasets& datasets, const v1::CreateDatasetRequest& request,
                    const central::Caller& caller, v1::CreateDatasetResponse& response) {
  COPPICE_ASSIGN_OR_RETURN(central::DatasetSpec spec, FromProto(request));
  spec.owner = caller.name;
  COPPICE_ASSIGN_OR_RETURN(const central::DatasetInfo info, datasets.Create(spec));
  *response.mutable_dataset() = ToProto(info);
  return absl::OkStatus();
}

absl::Status Get(const central::Datasets& datasets, const v1::GetDatasetRequest& request,
                 const central::Caller& caller, v1::GetDatasetResponse& response) {
  COPPICE_ASSIGN_OR_RETURN(const std::string id, VisibleId(datasets, request.name(), caller));
  COPPICE_ASSIGN_OR_RETURN(const central::DatasetInfo info, datasets.Get(id));
  *response.mutable_dataset() = WithLedger(info);
  return absl::OkStatus();
}

absl::Status List(const central::Datasets& datasets, const v1::ListDatasetsRequest& request,
                  const central::Caller& caller, v1::ListDatasetsResponse& response) {
  COPPICE_ASSIGN_OR_RETURN(const Page page, PageOf(request.page_size(), request.page_token()));
  const std::vector<central::DatasetInfo> infos = datasets.List(page, caller);
  for (const central::DatasetInfo& info : infos) *response.add_datasets() = SummaryOf(info);
  if (infos.size() == page.size &&
      !datasets.List({.size = 1, .after = infos.back().id}, caller).empty()) {
    response.set_next_page_token(infos.back().id);
  }
  return absl::OkStatus();
}

absl::Status Delete(central::Datasets& datasets, const v1::DeleteDatasetRequest& request,
                    const central::Caller& caller) {
  COPPICE_ASSIGN_OR_RETURN(const std::string id, VisibleId(datasets, request.name(), caller));
  return datasets.Delete(id);
}

absl::Status Confirm(central::Datasets& datasets, const v1::ConfirmLedgerRequest& request,
                     v1::ConfirmLedgerResponse& response) {
  COPPICE_ASSIGN_OR_RETURN(const std::string id, ParseName(kDatasets, request.name()));
  Sha256Digest head;
  if (request.head().size() != head.size()) {
    return FieldError("head", "must have 32 bytes: the hash of the ledger's last entry");
  }
  std::copy(request.head().begin(), request.head().end(), head.begin());
  COPPICE_ASSIGN_OR_RETURN(const central::DatasetInfo info, datasets.ConfirmLedger(id, head));
  *response.mutable_dataset() = ToProto(info);
  return absl::OkStatus();
}

absl::Status WriteOff(central::Datasets& datasets, const v1::WriteOffLedgerRequest& request,
                      v1::WriteOffLedgerResponse& response) {
  COPPICE_ASSIGN_OR_RETURN(const std::string id, ParseName(kDatasets, request.name()));
  COPPICE_ASSIGN_OR_RETURN(
      const central::DatasetInfo info,
      datasets.WriteOffLedger(id, request.epsilon_nanos(), request.delta_atto()));
  *response.mutable_dataset() = ToProto(info);
  return absl::OkStatus();
}

absl::Status FreeName(central::Datasets& datasets, const v1::FreeDatasetNameRequest& request) {
  COPPICE_ASSIGN_OR_RETURN(const std::string id, ParseName(kDatasets, request.name()));
  return datasets.FreeName(id);
}

}  // namespace

grpc::ServerUnaryReactor* DatasetServiceImpl::CreateDataset(grpc::CallbackServerContext* context,
                                                            const v1::CreateDatasetRequest* request,
                                                            v1::CreateDatasetResponse* response) {
  return ReplyLater(pool_, context, [this, request, response, caller = find_caller_(*context)] {
    return Create(datasets_, *request, caller, *response);
  });
}

grpc::ServerReadReactor<grpc::ByteBuffer>* DatasetServiceImpl::UploadRows(
    grpc::CallbackServerContext* context, grpc::ByteBuffer* response) {
  return UploadStream::Start(datasets_, pool_, find_caller_(*context), *context, *response);
}

grpc::ServerUnaryReactor* DatasetServiceImpl::GetDataset(grpc::CallbackServerContext* context,
                                                         const v1::GetDatasetRequest* request,
                                                         v1::GetDatasetResponse* response) {
  return Reply(context, Get(datasets_, *request, find_caller_(*context), *response));
}

grpc::ServerUnaryReactor* DatasetServiceImpl::ListDatasets(grpc::CallbackServerContext* context,
                                                           const v1::ListDatasetsRequest* request,
                                                           v1::ListDatasetsResponse* response) {
  return Reply(context, List(datasets_, *request, find_caller_(*context), *response));
}

grpc::ServerUnaryReactor* DatasetServiceImpl::DeleteDataset(grpc::CallbackServerContext* context,
                                                            const v1::DeleteDatasetRequest* request,
                                                            v1::DeleteDatasetResponse*) {
  return ReplyLater(pool_, context, [this, request, caller = find_caller_(*context)] {
    return Delete(datasets_, *request, caller);
  });
}

grpc::ServerUnaryReactor* DatasetServiceImpl::ConfirmLedger(grpc::CallbackServerContext* context,
                                                            const v1::ConfirmLedgerRequest* request,
                                                            v1::ConfirmLedgerResponse* response) {
  return ReplyLater(pool_, context,
                    [this, request, response] { return Confirm(datasets_, *request, *response); });
}

grpc::ServerUnaryReactor* DatasetServiceImpl::WriteOffLedger(
    grpc::CallbackServerContext* context, const v1::WriteOffLedgerRequest* request,
    v1::WriteOffLedgerResponse* response) {
  return ReplyLater(pool_, context,
                    [this, request, response] { return WriteOff(datasets_, *request, *response); });
}

grpc::ServerUnaryReactor* DatasetServiceImpl::FreeDatasetName(
    grpc::CallbackServerContext* context, const v1::FreeDatasetNameRequest* request,
    v1::FreeDatasetNameResponse*) {
  return ReplyLater(pool_, context, [this, request] { return FreeName(datasets_, *request); });
}

}  // namespace coppice::service
