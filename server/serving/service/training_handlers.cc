#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/wire/proto/convert.h"
#include "coppice/v1/training.pb.h"
#include "server/datasets/job_record.h"
#include "server/datasets/jobs.h"
#include "server/serving/calls/stream_call.h"
#include "server/serving/calls/unchanged.h"
#include "server/serving/service/central_messages.h"
#include "server/serving/service/handlers.h"
#include "server/serving/service/messages.h"

namespace coppice::service {
namespace {

v1::Job DescribeJob(const central::JobInfo& info, const central::Datasets& datasets) {
  v1::Job job = ToProto(info);
  if (!datasets.CountsRho(info.spec.dataset)) job.mutable_cost()->clear_rho_pico();
  return job;
}

// Writes the job at each change until it has ended. A client that reads slowly misses progress,
// never a state. Jobs may report a change while the call ends, so the call (until OnDone()) and the
// reporting thread share the stream.
//
// Threads    as ReportStream.
class JobStream final : public StreamHandler, public central::JobWatcher {
 public:
  JobStream(StreamCall& call, const central::Datasets& datasets)
      : call_(call), datasets_(datasets) {}

  void OnJob(const central::JobInfo& job) override;
  void OnStop() override;

  void OnWritten(bool sent) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  // Ends the call after the waiting messages are written.
  void End(const Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Starts every operation that may start now.
  void Advance() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  StreamCall& call_;  // until OnDone(); not used once closed_
  const central::Datasets& datasets_;

  Mutex mutex_;
  std::deque<central::JobInfo> waiting_ ABSL_GUARDED_BY(mutex_);
  std::optional<Status> end_ ABSL_GUARDED_BY(mutex_);
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;  // the call was ended
};

void JobStream::OnJob(const central::JobInfo& job) {
  const MutexLock lock(mutex_);
  if (!waiting_.empty() && waiting_.back().state == job.state) waiting_.pop_back();
  waiting_.push_back(job);
  if (central::HasEnded(job.state)) end_ = OkStatus();
  Advance();
}

void JobStream::OnStop() {
  const MutexLock lock(mutex_);
  End(UnavailableError("the daemon is stopping; watch the job again later"));
}

void JobStream::OnWritten(bool sent) {
  const MutexLock lock(mutex_);
  writing_ = false;
  if (!sent) {
    waiting_.clear();
    end_ = CancelledError();
  }
  Advance();
}

void JobStream::OnCancel() {
  const MutexLock lock(mutex_);
  waiting_.clear();
  End(CancelledError());
}

void JobStream::OnDone() {
  const MutexLock lock(mutex_);  // orders earlier work of all threads before this
}

void JobStream::End(const Status& status) {
  end_ = status;
  Advance();
}

void JobStream::Advance() {
  if (writing_ || closed_) return;
  if (!waiting_.empty()) {
    v1::WatchJobResponse response;
    *response.mutable_job() = DescribeJob(waiting_.front(), datasets_);
    waiting_.pop_front();
    const Status writing = call_.Write(response);
    writing_ = writing.ok();
    if (writing_) return;
    end_ = writing;
  }
  if (!end_.has_value()) return;
  closed_ = true;
  call_.End(*end_);
}

}  // namespace

void TrainingHandlers::Register(HandlerRegistry& registry) {
  registry.Add(*this, &TrainingHandlers::ListAlgorithms);
  registry.Add(*this, &TrainingHandlers::MeasureCurve);
  registry.Add(*this, &TrainingHandlers::PreviewJob);
  registry.Add(*this, &TrainingHandlers::SubmitJob);
  registry.Add(*this, &TrainingHandlers::WatchJob);
  registry.Add(*this, &TrainingHandlers::GetJob);
  registry.Add(*this, &TrainingHandlers::ListJobs);
  registry.Add(*this, &TrainingHandlers::CancelJob);
  registry.Add(*this, &TrainingHandlers::PreviewEvaluation);
  registry.Add(*this, &TrainingHandlers::EvaluateModel);
  registry.Add(*this, &TrainingHandlers::GetEvaluation);
}

Status TrainingHandlers::ListAlgorithms(const Caller& /*caller*/,
                                        const v1::ListAlgorithmsRequest& /*request*/,
                                        v1::ListAlgorithmsResponse* response) const {
  for (const trainers::AlgorithmInfo* info : jobs_.Algorithms()) {
    *response->add_algorithms() = ToProto(*info);
  }
  return OkStatus();
}

Status TrainingHandlers::PreviewJob(const Caller& /*caller*/, const v1::PreviewJobRequest& request,
                                    v1::PreviewJobResponse* response) const {
  COPPICE_ASSIGN_OR_RETURN(const central::JobSpec spec, ParseJobSpec(request.spec()));
  COPPICE_ASSIGN_OR_RETURN(const central::JobPreview preview, jobs_.Preview(spec));
  *response = ToProto(preview);
  if (!datasets_.CountsRho(spec.dataset)) response->mutable_cost()->clear_rho_pico();
  return OkStatus();
}

Status TrainingHandlers::SubmitJob(const Caller& caller, const v1::SubmitJobRequest& request,
                                   v1::SubmitJobResponse* response) {
  COPPICE_ASSIGN_OR_RETURN(central::JobRequest parsed, ParseJobRequest(request));
  parsed.submitter = caller.name;
  parsed.may_draw =
      request.model_id().empty() ? MayDraw(caller, {kJobs, kModels}) : MayDraw(caller, {kJobs});
  const owners::Quota quota = quotas_(datasets_.OwnerOf(parsed.spec.dataset).value_or(""));
  parsed.most_at_once = quota.jobs;
  parsed.most_models = quota.models;
  parsed.most_model_bytes = quota.model_bytes;
  // If the request names no model, the model gets the job's id.
  if (request.model_id().empty() && !request.job_id().empty()) {
    COPPICE_RETURN_IF_ERROR(ResourceGuard::CheckMayMake(caller, kModels, request.job_id()));
  }
  const bool was_made = jobs_.WasSubmitted(parsed);
  COPPICE_ASSIGN_OR_RETURN(const central::JobInfo info, jobs_.Submit(parsed));
  if (was_made) NoteUnchanged();
  *response->mutable_job() = DescribeJob(info, datasets_);
  return OkStatus();
}

StatusOr<StreamHandlerPtr> TrainingHandlers::WatchJob(const Caller& /*caller*/,
                                                      const v1::WatchJobRequest& request,
                                                      StreamCall& call) {
  COPPICE_ASSIGN_OR_RETURN(const std::string id, ParseName(kJobs, request.name()));
  const auto stream = std::make_shared<JobStream>(call, datasets_);
  COPPICE_RETURN_IF_ERROR(jobs_.Watch(id, stream));
  return stream;
}

Status TrainingHandlers::GetJob(const Caller& /*caller*/, const v1::GetJobRequest& request,
                                v1::GetJobResponse* response) const {
  COPPICE_ASSIGN_OR_RETURN(const std::string id, ParseName(kJobs, request.name()));
  COPPICE_ASSIGN_OR_RETURN(const central::JobInfo info, jobs_.Get(id));
  *response->mutable_job() = DescribeJob(info, datasets_);
  return OkStatus();
}

Status TrainingHandlers::ListJobs(const Caller& caller, const v1::ListJobsRequest& request,
                                  v1::ListJobsResponse* response) const {
  std::string dataset;
  if (!request.dataset().empty()) {
    COPPICE_ASSIGN_OR_RETURN(dataset, ParseName(kDatasets, request.dataset()));
  }
  COPPICE_ASSIGN_OR_RETURN(const Page page, PageOf(request.page_size(), request.page_token()));
  const auto shows = [&](const std::string& owner) { return caller.Owns(owner); };
  response->set_next_page_token(AddPage(
      page, [&](const Page& part) { return jobs_.List(dataset, part, shows); },
      [](const central::JobInfo&) { return true; },
      [&](const central::JobInfo& info) { *response->add_jobs() = DescribeJob(info, datasets_); }));
  return OkStatus();
}

Status TrainingHandlers::CancelJob(const Caller& /*caller*/, const v1::CancelJobRequest& request,
                                   v1::CancelJobResponse* response) {
  COPPICE_ASSIGN_OR_RETURN(const std::string id, ParseName(kJobs, request.name()));
  const StatusOr<central::JobInfo> before = jobs_.Get(id);
  const bool had_ended = before.ok() && central::HasEnded(before->state);
  COPPICE_ASSIGN_OR_RETURN(const central::JobInfo info, jobs_.Cancel(id));
  if (had_ended) NoteUnchanged();
  *response->mutable_job() = DescribeJob(info, datasets_);
  return OkStatus();
}

Status TrainingHandlers::PreviewEvaluation(const Caller& /*caller*/,
                                           const v1::PreviewEvaluationRequest& request,
                                           v1::PreviewEvaluationResponse* response) const {
  COPPICE_ASSIGN_OR_RETURN(const central::EvaluationSpec spec, ParseEvaluationSpec(request.spec()));
  COPPICE_ASSIGN_OR_RETURN(const central::EvaluationPreview preview,
                           evaluations_.Preview(spec, request.rows()));
  *response = ToProto(preview);
  if (!datasets_.CountsRho(spec.dataset)) response->mutable_cost()->clear_rho_pico();
  return OkStatus();
}

Status TrainingHandlers::EvaluateModel(const Caller& caller,
                                       const v1::EvaluateModelRequest& request,
                                       v1::EvaluateModelResponse* response) {
  COPPICE_ASSIGN_OR_RETURN(central::EvaluationSpec spec, ParseEvaluationSpec(request.spec()));
  const central::EvaluationRequest parsed{.request_id = request.request_id(),
                                          .spec = std::move(spec),
                                          .submitter = caller.name,
                                          .may_draw = MayDraw(caller, {kEvaluations})};
  const bool was_made = evaluations_.WasMade(parsed);
  COPPICE_ASSIGN_OR_RETURN(*response->mutable_evaluation(), evaluations_.Evaluate(parsed));
  if (was_made) NoteUnchanged();
  if (!datasets_.CountsRho(parsed.spec.dataset)) {
    response->mutable_evaluation()->mutable_cost()->clear_rho_pico();
  }
  return OkStatus();
}

Status TrainingHandlers::GetEvaluation(const Caller& /*caller*/,
                                       const v1::GetEvaluationRequest& request,
                                       v1::GetEvaluationResponse* response) const {
  COPPICE_ASSIGN_OR_RETURN(const std::string id, ParseName(kEvaluations, request.name()));
  COPPICE_ASSIGN_OR_RETURN(*response->mutable_evaluation(), evaluations_.Get(id));
  if (!datasets_.CountsRho(evaluations_.DatasetOf(id).value_or(""))) {
    response->mutable_evaluation()->mutable_cost()->clear_rho_pico();
  }
  return OkStatus();
}

}  // namespace coppice::service
