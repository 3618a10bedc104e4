// DatasetService over the curator's Datasets. Whatever writes to the disk runs on the worker pool.
// Rows are neither logged nor quoted in errors. What is not the caller's is not there.
//
// Errors     those of Datasets, and InvalidArgument that names the field.
// Threads    safe to share. `datasets` and `pool` must outlive the server.

#ifndef COPPICE_SERVER_SERVICE_DATASET_HANDLERS_H_
#define COPPICE_SERVER_SERVICE_DATASET_HANDLERS_H_

#include <utility>

#include "coppice/v1/dataset.grpc.pb.h"
#include "server/central/datasets.h"
#include "server/service/caller_finder.h"
#include "server/service/calls/worker_pool.h"

namespace coppice::service {

// Uploads are read as bytes, so that one that does not parse is told from the end of its stream.
using DatasetServiceBase = v1::DatasetService::WithCallbackMethod_CreateDataset<
    v1::DatasetService::WithRawCallbackMethod_UploadRows<
        v1::DatasetService::WithCallbackMethod_GetDataset<
            v1::DatasetService::WithCallbackMethod_ListDatasets<
                v1::DatasetService::WithCallbackMethod_DeleteDataset<
                    v1::DatasetService::WithCallbackMethod_ConfirmLedger<
                        v1::DatasetService::WithCallbackMethod_WriteOffLedger<
                            v1::DatasetService::WithCallbackMethod_FreeDatasetName<
                                v1::DatasetService::Service>>>>>>>>;

class DatasetServiceImpl final : public DatasetServiceBase {
 public:
  DatasetServiceImpl(central::Datasets& datasets, WorkerPool& pool, CallerFinder find_caller)
      : datasets_(datasets), pool_(pool), find_caller_(std::move(find_caller)) {}

  grpc::ServerUnaryReactor* CreateDataset(grpc::CallbackServerContext* context,
                                          const v1::CreateDatasetRequest* request,
                                          v1::CreateDatasetResponse* response) override;
  grpc::ServerReadReactor<grpc::ByteBuffer>* UploadRows(grpc::CallbackServerContext* context,
                                                        grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* GetDataset(grpc::CallbackServerContext* context,
                                       const v1::GetDatasetRequest* request,
                                       v1::GetDatasetResponse* response) override;
  grpc::ServerUnaryReactor* ListDatasets(grpc::CallbackServerContext* context,
                                         const v1::ListDatasetsRequest* request,
                                         v1::ListDatasetsResponse* response) override;
  grpc::ServerUnaryReactor* DeleteDataset(grpc::CallbackServerContext* context,
                                          const v1::DeleteDatasetRequest* request,
                                          v1::DeleteDatasetResponse* response) override;
  grpc::ServerUnaryReactor* ConfirmLedger(grpc::CallbackServerContext* context,
                                          const v1::ConfirmLedgerRequest* request,
                                          v1::ConfirmLedgerResponse* response) override;
  grpc::ServerUnaryReactor* WriteOffLedger(grpc::CallbackServerContext* context,
                                           const v1::WriteOffLedgerRequest* request,
                                           v1::WriteOffLedgerResponse* response) override;
  grpc::ServerUnaryReactor* FreeDatasetName(grpc::CallbackServerContext* context,
                                            const v1::FreeDatasetNameRequest* request,
                                            v1::FreeDatasetNameResponse* response) override;

 private:
  central::Datasets& datasets_;
  WorkerPool& pool_;
  const CallerFinder find_caller_;
};

}  // namespace coppice::service

#endif  // COPPICE_SERVER_SERVICE_DATASET_HANDLERS_H_
