#include "server/service/job_stream.h"

#include "common/wire/convert.h"
#include "server/central/job_record.h"

namespace coppice::service {

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

void JobStream::OnWritten(bool sent) {
  const MutexLock lock(mutex_);
  writing_ = false;
  if (!sent) {
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
  const MutexLock lock(mutex_);  // Whatever any thread did here happened before.
}

void JobStream::End(const absl::Status& status) {
  end_ = status;
  Advance();
}

void JobStream::Advance() {
  if (writing_ || closed_) return;
  if (!waiting_.empty()) {
    v1::WatchJobResponse response;
    *response.mutable_job() = ToProto(waiting_.front());
    waiting_.pop_front();
    const absl::Status writing = call_.Write(response);
    writing_ = writing.ok();
    if (writing_) return;
    end_ = writing;
  }
  if (!end_.has_value()) return;
  closed_ = true;
  call_.End(*end_);
}

}  // namespace coppice::service
