// DatasetService over the curator's Datasets.

#ifndef COPPICE_SERVER_SERVICE_DATASET_HANDLERS_H_
#define COPPICE_SERVER_SERVICE_DATASET_HANDLERS_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coppice/v1/dataset.pb.h"
#include "server/central/datasets.h"
#include "server/service/calls/handler_registry.h"

namespace coppice::service {

// Rows are neither logged nor quoted in errors. A dataset that the caller may not see is not there.
//
// Errors     those of Datasets, and InvalidArgument that names the field.
// Threads    safe to share. `datasets` must outlive it.
class DatasetHandlers {
 public:
  explicit DatasetHandlers(central::Datasets& datasets) : datasets_(datasets) {}

  void Register(HandlerRegistry& registry);

  absl::Status CreateDataset(const Caller& caller, const v1::CreateDatasetRequest& request,
                             v1::CreateDatasetResponse* response);
  absl::StatusOr<StreamHandlerPtr> UploadRows(const Caller& caller, StreamCall& call);
  absl::Status GetDataset(const Caller& caller, const v1::GetDatasetRequest& request,
                          v1::GetDatasetResponse* response) const;
  absl::Status ListDatasets(const Caller& caller, const v1::ListDatasetsRequest& request,
                            v1::ListDatasetsResponse* response) const;
  absl::Status DeleteDataset(const Caller& caller, const v1::DeleteDatasetRequest& request,
                             v1::DeleteDatasetResponse* response);
  absl::Status ConfirmLedger(const Caller& caller, const v1::ConfirmLedgerRequest& request,
                             v1::ConfirmLedgerResponse* response);
  absl::Status WriteOffLedger(const Caller& caller, const v1::WriteOffLedgerRequest& request,
                              v1::WriteOffLedgerResponse* response);
  absl::Status FreeDatasetName(const Caller& caller, const v1::FreeDatasetNameRequest& request,
                               v1::FreeDatasetNameResponse* response);

 private:
  central::Datasets& datasets_;
};

}  // namespace coppice::service

#endif  // COPPICE_SERVER_SERVICE_DATASET_HANDLERS_H_
