#include "server/service/job_stream.h"

#include <utility>

#include "common/base/status_macros.h"
#include "common/wire/convert.h"
#include "server/central/job_record.h"
#include "server/service/status_conversion.h"

namespace coppice::service {
namespace {

absl::Status Watch(central::Jobs& jobs, const std::string& name, const central::Caller& caller,
                   const std::shared_ptr<JobStream>& stream) {
  COPPICE_ASSIGN_OR_RETURN(const std::string id, ParseName(kJobs, name));
  COPPICE_RETURN_IF_ERROR(jobs.CheckVisible(id, caller));
  return jobs.Watch(id, stream);
}

}  // namespace

JobStream* JobStream::Start(central::Jobs& jobs, const std::string& name,
                            const central::Caller& caller) {
  // The constructor is private, out of make_shared's reach.
  const std::shared_ptr<JobStream> stream(new JobStream());
  stream->held_by_grpc_ = stream;
  const absl::Status watched = Watch(jobs, name, caller, stream);
  const MutexLock lock(stream->mutex_);
  if (!watched.ok()) stream->End(watched);
  return stream.get();
}

void JobStream::OnJob(const central::JobInfo& job) {
  const MutexLock lock(mutex_);
  if (!waiting_.empty() && waiting_.back().state == job.state) waiting_.pop_back();
  waiting_.push_back(job);
  if (central::HasEnded(job.state)) end_ = absl::OkStatus();
  Advance();
}

void JobStream::OnStop() {
  const MutexLock lock(mutex_);
  End(absl::UnavailableError("the daemon is stopping; watch the job again later"));
}

void JobStream::OnWriteDone(bool ok) {
  const MutexLock lock(mutex_);
  writing_ = false;
  if (!ok) {
    waiting_.clear();
    end_ = absl::CancelledError();
  }
  Advance();
}

void JobStream::OnCancel() {
  const MutexLock lock(mutex_);
  waiting_.clear();
  End(absl::CancelledError());
}

void JobStream::OnDone() {
  std::shared_ptr<JobStream> until_return;
  const MutexLock lock(mutex_);  // Whatever any thread did here happened before.
  until_return = std::move(held_by_grpc_);
}

void JobStream::End(const absl::Status& status) {
  end_ = status;
  Advance();
}

void JobStream::Advance() {
  if (writing_ || closed_) return;
  if (!waiting_.empty()) {
    *response_.mutable_job() = ToProto(waiting_.front());
    waiting_.pop_front();
    writing_ = true;
    return StartWrite(&response_);
  }
  if (!end_.has_value()) return;
  closed_ = true;
  Finish(ToGrpcStatus(*end_));
}

}  // namespace coppice::service
