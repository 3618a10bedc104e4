// TrainingService over the curator's Jobs. Planning, and whatever writes to the disk, runs on the
// worker pool; training has threads of its own.
//
// Errors     those of Jobs, and InvalidArgument that names the field.
// Threads    safe to share. `datasets`, `jobs` and `pool` must outlive the server.

#ifndef COPPICE_SERVER_SERVICE_TRAINING_HANDLERS_H_
#define COPPICE_SERVER_SERVICE_TRAINING_HANDLERS_H_

#include <utility>

#include "coppice/v1/training.grpc.pb.h"
#include "server/central/datasets.h"
#include "server/central/jobs.h"
#include "server/service/caller_finder.h"
#include "server/service/calls/worker_pool.h"

namespace coppice::service {

class TrainingServiceImpl final : public v1::TrainingService::CallbackService {
 public:
  TrainingServiceImpl(const central::Datasets& datasets, central::Jobs& jobs, WorkerPool& pool,
                      CallerFinder find_caller)
      : datasets_(datasets), jobs_(jobs), pool_(pool), find_caller_(std::move(find_caller)) {}

  grpc::ServerUnaryReactor* ListAlgorithms(grpc::CallbackServerContext* context,
                                           const v1::ListAlgorithmsRequest* request,
                                           v1::ListAlgorithmsResponse* response) override;
  grpc::ServerUnaryReactor* PreviewJob(grpc::CallbackServerContext* context,
                                       const v1::PreviewJobRequest* request,
                                       v1::PreviewJobResponse* response) override;
  grpc::ServerUnaryReactor* SubmitJob(grpc::CallbackServerContext* context,
                                      const v1::SubmitJobRequest* request,
                                      v1::SubmitJobResponse* response) override;
  grpc::ServerWriteReactor<v1::WatchJobResponse>* WatchJob(
      grpc::CallbackServerContext* context, const v1::WatchJobRequest* request) override;
  grpc::ServerUnaryReactor* GetJob(grpc::CallbackServerContext* context,
                                   const v1::GetJobRequest* request,
                                   v1::GetJobResponse* response) override;
  grpc::ServerUnaryReactor* ListJobs(grpc::CallbackServerContext* context,
                                     const v1::ListJobsRequest* request,
                                     v1::ListJobsResponse* response) override;
  grpc::ServerUnaryReactor* CancelJob(grpc::CallbackServerContext* context,
                                      const v1::CancelJobRequest* request,
                                      v1::CancelJobResponse* response) override;

 private:
  const central::Datasets& datasets_;
  central::Jobs& jobs_;
  WorkerPool& pool_;
  const CallerFinder find_caller_;
};

}  // namespace coppice::service

#endif  // COPPICE_SERVER_SERVICE_TRAINING_HANDLERS_H_
