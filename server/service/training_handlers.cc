#include "server/service/training_handlers.h"

#include <memory>
#include <string>
#include <vector>

#include "common/base/status_macros.h"
#include "common/wire/convert.h"
#include "server/central/job_record.h"
#include "server/service/central_messages.h"
#include "server/service/job_stream.h"
#include "server/service/messages.h"

namespace coppice::service {
namespace {

// The id in `name`, of a job that the caller may see.
absl::StatusOr<std::string> VisibleId(const central::Jobs& jobs, const std::string& name,
                                      const central::Caller& caller) {
  COPPICE_ASSIGN_OR_RETURN(std::string id, ParseName(kJobs, name));
  COPPICE_RETURN_IF_ERROR(jobs.CheckVisible(id, caller));
  return id;
}

}  // namespace

void TrainingHandlers::Register(HandlerRegistry& registry) {
  registry.Add(*this, &TrainingHandlers::ListAlgorithms);
  registry.Add(*this, &TrainingHandlers::PreviewJob);
  registry.Add(*this, &TrainingHandlers::SubmitJob);
  registry.Add(*this, &TrainingHandlers::WatchJob);
  registry.Add(*this, &TrainingHandlers::GetJob);
  registry.Add(*this, &TrainingHandlers::ListJobs);
  registry.Add(*this, &TrainingHandlers::CancelJob);
}

absl::Status TrainingHandlers::ListAlgorithms(const Caller& /*caller*/,
                                              const v1::ListAlgorithmsRequest& /*request*/,
                                              v1::ListAlgorithmsResponse* response) const {
  for (const trainers::AlgorithmInfo* info : jobs_.Algorithms()) {
    *response->add_algorithms() = ToProto(*info);
  }
  return absl::OkStatus();
}

absl::Status TrainingHandlers::PreviewJob(const Caller& caller,
                                          const v1::PreviewJobRequest& request,
                                          v1::PreviewJobResponse* response) const {
  COPPICE_ASSIGN_OR_RETURN(const central::JobSpec spec, FromProto(request.spec()));
  COPPICE_RETURN_IF_ERROR(datasets_.CheckVisible(spec.dataset, caller));
  COPPICE_ASSIGN_OR_RETURN(const central::JobPreview preview, jobs_.Preview(spec));
  *response = ToProto(preview);
  return absl::OkStatus();
}

absl::Status TrainingHandlers::SubmitJob(const Caller& caller, const v1::SubmitJobRequest& request,
                                         v1::SubmitJobResponse* response) {
  COPPICE_ASSIGN_OR_RETURN(const central::JobRequest parsed, FromProto(request));
  COPPICE_RETURN_IF_ERROR(datasets_.CheckVisible(parsed.spec.dataset, caller));
  COPPICE_ASSIGN_OR_RETURN(const central::JobInfo info, jobs_.Submit(parsed));
  *response->mutable_job() = ToProto(info);
  return absl::OkStatus();
}

absl::StatusOr<StreamHandlerPtr> TrainingHandlers::WatchJob(const Caller& caller,
                                                            const v1::WatchJobRequest& request,
                                                            StreamCall& call) {
  COPPICE_ASSIGN_OR_RETURN(const std::string id, VisibleId(jobs_, request.name(), caller));
  const auto stream = std::make_shared<JobStream>(call);
  COPPICE_RETURN_IF_ERROR(jobs_.Watch(id, stream));
  return stream;
}

absl::Status TrainingHandlers::GetJob(const Caller& caller, const v1::GetJobRequest& request,
                                      v1::GetJobResponse* response) const {
  COPPICE_ASSIGN_OR_RETURN(const std::string id, VisibleId(jobs_, request.name(), caller));
  COPPICE_ASSIGN_OR_RETURN(const central::JobInfo info, jobs_.Get(id));
  *response->mutable_job() = ToProto(info);
  return absl::OkStatus();
}

absl::Status TrainingHandlers::ListJobs(const Caller& caller, const v1::ListJobsRequest& request,
                                        v1::ListJobsResponse* response) const {
  std::string dataset;
  if (!request.dataset().empty()) {
    COPPICE_ASSIGN_OR_RETURN(dataset, ParseName(kDatasets, request.dataset()));
  }
  COPPICE_ASSIGN_OR_RETURN(const Page page, PageOf(request.page_size(), request.page_token()));
  const std::vector<central::JobInfo> infos = jobs_.List(dataset, page, caller);
  for (const central::JobInfo& info : infos) *response->add_jobs() = ToProto(info);
  if (infos.size() == page.size &&
      !jobs_.List(dataset, {.size = 1, .after = infos.back().id}, caller).empty()) {
    response->set_next_page_token(infos.back().id);
  }
  return absl::OkStatus();
}

absl::Status TrainingHandlers::CancelJob(const Caller& caller, const v1::CancelJobRequest& request,
                                         v1::CancelJobResponse* response) {
  COPPICE_ASSIGN_OR_RETURN(const std::string id, VisibleId(jobs_, request.name(), caller));
  COPPICE_ASSIGN_OR_RETURN(const central::JobInfo info, jobs_.Cancel(id));
  *response->mutable_job() = ToProto(info);
  return absl::OkStatus();
}

}  // namespace coppice::service
