// TrainingService over the curator's Jobs.

#ifndef COPPICE_SERVER_SERVICE_TRAINING_HANDLERS_H_
#define COPPICE_SERVER_SERVICE_TRAINING_HANDLERS_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coppice/v1/training.pb.h"
#include "server/central/datasets.h"
#include "server/central/jobs.h"
#include "server/service/calls/handler_registry.h"

namespace coppice::service {

// Training has threads of its own. A job that the caller may not see is not there.
//
// Errors     those of Jobs, and InvalidArgument that names the field.
// Threads    safe to share. `datasets` and `jobs` must outlive it.
class TrainingHandlers {
 public:
  TrainingHandlers(const central::Datasets& datasets, central::Jobs& jobs)
      : datasets_(datasets), jobs_(jobs) {}

  void Register(HandlerRegistry& registry);

  absl::Status ListAlgorithms(const Caller& caller, const v1::ListAlgorithmsRequest& request,
                              v1::ListAlgorithmsResponse* response) const;
  absl::Status PreviewJob(const Caller& caller, const v1::PreviewJobRequest& request,
                          v1::PreviewJobResponse* response) const;
  absl::Status SubmitJob(const Caller& caller, const v1::SubmitJobRequest& request,
                         v1::SubmitJobResponse* response);
  absl::StatusOr<StreamHandlerPtr> WatchJob(const Caller& caller,
                                            const v1::WatchJobRequest& request, StreamCall& call);
  absl::Status GetJob(const Caller& caller, const v1::GetJobRequest& request,
                      v1::GetJobResponse* response) const;
  absl::Status ListJobs(const Caller& caller, const v1::ListJobsRequest& request,
                        v1::ListJobsResponse* response) const;
  absl::Status CancelJob(const Caller& caller, const v1::CancelJobRequest& request,
                         v1::CancelJobResponse* response);

 private:
  const central::Datasets& datasets_;
  central::Jobs& jobs_;
};

}  // namespace coppice::service

#endif  // COPPICE_SERVER_SERVICE_TRAINING_HANDLERS_H_
