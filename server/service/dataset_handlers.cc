#include "server/service/dataset_handlers.h"

#include <algorithm>
#include <string>
#include <vector>

#include "common/base/status_macros.h"
#include "common/wire/convert.h"
#include "common/wire/field_error.h"
#include "server/service/central_messages.h"
#include "server/service/messages.h"
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

}  // namespace

void DatasetHandlers::Register(HandlerRegistry& registry) {
  registry.Add(*this, &DatasetHandlers::CreateDataset);
  registry.AddStreamOf<v1::UploadRowsRequest>(*this, &DatasetHandlers::UploadRows);
  registry.Add(*this, &DatasetHandlers::GetDataset);
  registry.Add(*this, &DatasetHandlers::ListDatasets);
  registry.Add(*this, &DatasetHandlers::DeleteDataset);
  registry.Add(*this, &DatasetHandlers::ConfirmLedger);
  registry.Add(*this, &DatasetHandlers::WriteOffLedger);
  registry.Add(*this, &DatasetHandlers::FreeDatasetName);
}

absl::Status DatasetHandlers::CreateDataset(const Caller& caller,
                                            const v1::CreateDatasetRequest& request,
                                            v1::CreateDatasetResponse* response) {
  COPPICE_ASSIGN_OR_RETURN(central::DatasetSpec spec, FromProto(request));
  spec.owner = caller.name;
  COPPICE_ASSIGN_OR_RETURN(const central::DatasetInfo info, datasets_.Create(spec));
  *response->mutable_dataset() = ToProto(info);
  return absl::OkStatus();
}

absl::StatusOr<StreamHandlerPtr> DatasetHandlers::UploadRows(const Caller& caller,
                                                             StreamCall& call) {
  return UploadStream::Start(datasets_, caller, call);
}

absl::Status DatasetHandlers::GetDataset(const Caller& caller, const v1::GetDatasetRequest& request,
                                         v1::GetDatasetResponse* response) const {
  COPPICE_ASSIGN_OR_RETURN(const std::string id, VisibleId(datasets_, request.name(), caller));
  COPPICE_ASSIGN_OR_RETURN(const central::DatasetInfo info, datasets_.Get(id));
  *response->mutable_dataset() = WithLedger(info);
  return absl::OkStatus();
}

absl::Status DatasetHandlers::ListDatasets(const Caller& caller,
                                           const v1::ListDatasetsRequest& request,
                                           v1::ListDatasetsResponse* response) const {
  COPPICE_ASSIGN_OR_RETURN(const Page page, PageOf(request.page_size(), request.page_token()));
  const std::vector<central::DatasetInfo> infos = datasets_.List(page, caller);
  for (const central::DatasetInfo& info : infos) *response->add_datasets() = SummaryOf(info);
  if (infos.size() == page.size &&
      !datasets_.List({.size = 1, .after = infos.back().id}, caller).empty()) {
    response->set_next_page_token(infos.back().id);
  }
  return absl::OkStatus();
}

absl::Status DatasetHandlers::DeleteDataset(const Caller& caller,
                                            const v1::DeleteDatasetRequest& request,
                                            v1::DeleteDatasetResponse* /*response*/) {
  COPPICE_ASSIGN_OR_RETURN(const std::string id, VisibleId(datasets_, request.name(), caller));
  return datasets_.Delete(id);
}

absl::Status DatasetHandlers::ConfirmLedger(const Caller& /*caller*/,
                                            const v1::ConfirmLedgerRequest& request,
                                            v1::ConfirmLedgerResponse* response) {
  COPPICE_ASSIGN_OR_RETURN(const std::string id, ParseName(kDatasets, request.name()));
  Sha256Digest head;
  if (request.head().size() != head.size()) {
    return FieldError("head", "must have 32 bytes: the hash of the ledger's last entry");
  }
  std::copy(request.head().begin(), request.head().end(), head.begin());
  COPPICE_ASSIGN_OR_RETURN(const central::DatasetInfo info, datasets_.ConfirmLedger(id, head));
  *response->mutable_dataset() = ToProto(info);
  return absl::OkStatus();
}

absl::Status DatasetHandlers::WriteOffLedger(const Caller& /*caller*/,
                                             const v1::WriteOffLedgerRequest& request,
                                             v1::WriteOffLedgerResponse* response) {
  COPPICE_ASSIGN_OR_RETURN(const std::string id, ParseName(kDatasets, request.name()));
  COPPICE_ASSIGN_OR_RETURN(
      const central::DatasetInfo info,
      datasets_.WriteOffLedger(id, request.epsilon_nanos(), request.delta_atto()));
  *response->mutable_dataset() = ToProto(info);
  return absl::OkStatus();
}

absl::Status DatasetHandlers::FreeDatasetName(const Caller& /*caller*/,
                                              const v1::FreeDatasetNameRequest& request,
                                              v1::FreeDatasetNameResponse* /*response*/) {
  COPPICE_ASSIGN_OR_RETURN(const std::string id, ParseName(kDatasets, request.name()));
  return datasets_.FreeName(id);
}

}  // namespace coppice::service
