#include "server/service/training_handlers.h"

#include <string>
#include <vector>

#include "common/base/status_macros.h"
#include "common/wire/convert.h"
#include "server/central/job_record.h"
#include "server/service/central_messages.h"
#include "server/service/job_stream.h"
#include "server/service/messages.h"
#include "server/service/unary.h"

namespace coppice::service {
namespace {

// The id in `name`, of a job that the caller may see.
absl::StatusOr<std::string> VisibleId(const central::Jobs& jobs, const std::string& name,
                                      const central::Caller& caller) {
  COPPICE_ASSIGN_OR_RETURN(std::string id, ParseName(kJobs, name));
  COPPICE_RETURN_IF_ERROR(jobs.CheckVisible(id, caller));
  return id;
}

absl::Status Preview(const central::Datasets& datasets, const central::Jobs& jobs,
                     const v1::PreviewJobRequest& request, const central::Caller& caller,
                     v1::PreviewJobResponse& response) {
  COPPICE_ASSIGN_OR_RETURN(const central::JobSpec spec, FromProto(request.spec()));
  COPPICE_RETURN_IF_ERROR(datasets.CheckVisible(spec.dataset, caller));
  COPPICE_ASSIGN_OR_RETURN(const central::JobPreview preview, jobs.Preview(spec));
  response = ToProto(preview);
  return absl::OkStatus();
}

absl::Status Submit(const central::Datasets& datasets, central::Jobs& jobs,
                    const v1::SubmitJobRequest& request, const central::Caller& caller,
                    v1::SubmitJobResponse& response) {
  COPPICE_ASSIGN_OR_RETURN(const central::JobRequest parsed, FromProto(request));
  COPPICE_RETURN_IF_ERROR(datasets.CheckVisible(parsed.spec.dataset, caller));
  COPPICE_ASSIGN_OR_RETURN(const central::JobInfo info, jobs.Submit(parsed));
  *response.mutable_job() = ToProto(info);
  return absl::OkStatus();
}

absl::Status Get(const central::Jobs& jobs, const v1::GetJobRequest& request,
                 const central::Caller& caller, v1::GetJobResponse& response) {
  COPPICE_ASSIGN_OR_RETURN(const std::string id, VisibleId(jobs, request.name(), caller));
  COPPICE_ASSIGN_OR_RETURN(const central::JobInfo info, jobs.Get(id));
  *response.mutable_job() = ToProto(info);
  return absl::OkStatus();
}

absl::Status List(const central::Jobs& jobs, const v1::ListJobsRequest& request,
                  const central::Caller& caller, v1::ListJobsResponse& response) {
  std::string dataset;
  if (!request.dataset().empty()) {
    COPPICE_ASSIGN_OR_RETURN(dataset, ParseName(kDatasets, request.dataset()));
  }
  COPPICE_ASSIGN_OR_RETURN(const Page page, PageOf(request.page_size(), request.page_token()));
  const std::vector<central::JobInfo> infos = jobs.List(dataset, page, caller);
  for (const central::JobInfo& info : infos) *response.add_jobs() = ToProto(info);
  if (infos.size() == page.size &&
      !jobs.List(dataset, {.size = 1, .after = infos.back().id}, caller).empty()) {
    response.set_next_page_token(infos.back().id);
  }
  return absl::OkStatus();
}

absl::Status Cancel(central::Jobs& jobs, const v1::CancelJobRequest& request,
                    const central::Caller& caller, v1::CancelJobResponse& response) {
  COPPICE_ASSIGN_OR_RETURN(const std::string id, VisibleId(jobs, request.name(), caller));
  COPPICE_ASSIGN_OR_RETURN(const central::JobInfo info, jobs.Cancel(id));
  *response.mutable_job() = ToProto(info);
  return absl::OkStatus();
}

}  // namespace

grpc::ServerUnaryReactor* TrainingServiceImpl::ListAlgorithms(
    grpc::CallbackServerContext* context, const v1::ListAlgorithmsRequest*,
    v1::ListAlgorithmsResponse* response) {
  for (const trainers::AlgorithmInfo* info : jobs_.Algorithms())
    *response->add_algorithms() = ToProto(*info);
  return Reply(context, absl::OkStatus());
}

grpc::ServerUnaryReactor* TrainingServiceImpl::PreviewJob(grpc::CallbackServerContext* context,
                                                          const v1::PreviewJobRequest* request,
                                                          v1::PreviewJobResponse* response) {
  return ReplyLater(pool_, context, [this, request, response, caller = find_caller_(*context)] {
    return Preview(datasets_, jobs_, *request, caller, *response);
  });
}

grpc::ServerUnaryReactor* TrainingServiceImpl::SubmitJob(grpc::CallbackServerContext* context,
                                                         const v1::SubmitJobRequest* request,
                                                         v1::SubmitJobResponse* response) {
  return ReplyLater(pool_, context, [this, request, response, caller = find_caller_(*context)] {
    return Submit(datasets_, jobs_, *request, caller, *response);
  });
}

grpc::ServerWriteReactor<v1::WatchJobResponse>* TrainingServiceImpl::WatchJob(
    grpc::CallbackServerContext* context, const v1::WatchJobRequest* request) {
  return JobStream::Start(jobs_, request->name(), find_caller_(*context));
}

grpc::ServerUnaryReactor* TrainingServiceImpl::GetJob(grpc::CallbackServerContext* context,
                                                      const v1::GetJobRequest* request,
                                                      v1::GetJobResponse* response) {
  return Reply(context, Get(jobs_, *request, find_caller_(*context), *response));
}

grpc::ServerUnaryReactor* TrainingServiceImpl::ListJobs(grpc::CallbackServerContext* context,
                                                        const v1::ListJobsRequest* request,
                                                        v1::ListJobsResponse* response) {
  return Reply(context, List(jobs_, *request, find_caller_(*context), *response));
}

grpc::ServerUnaryReactor* TrainingServiceImpl::CancelJob(grpc::CallbackServerContext* context,
                                                         const v1::CancelJobRequest* request,
                                                         v1::CancelJobResponse* response) {
  return ReplyLater(pool_, context, [this, request, response, caller = find_caller_(*context)] {
    return Cancel(jobs_, *request, caller, *response);
  });
}

}  // namespace coppice::service
