#include "server/serving/calls/progress_stream.h"

#include <utility>

#include "common/base/status.h"

namespace coppice::service {

bool ProgressStream::Tell(std::unique_ptr<const google::protobuf::Message> progress) {
  const MutexLock lock(mutex_);
  waiting_ = std::move(progress);
  Advance();
  return IsWanted();
}

void ProgressStream::End(const Status& status,
                         std::unique_ptr<const google::protobuf::Message> result) {
  const MutexLock lock(mutex_);
  if (result != nullptr) waiting_ = std::move(result);
  end_ = status;
  Advance();
}

void ProgressStream::OnWritten(bool sent) {
  const MutexLock lock(mutex_);
  writing_ = false;
  if (!sent) cancelled_ = true;
  Advance();
}

// The work stops at its next progress and ends the call.
void ProgressStream::OnCancel() { cancelled_ = true; }

void ProgressStream::OnDone() {
  const MutexLock lock(mutex_);  // orders earlier work of all threads before this
}

void ProgressStream::Advance() {
  if (writing_ || closed_) return;
  if (waiting_ != nullptr && !cancelled_) {
    const auto message = std::exchange(waiting_, nullptr);
    const Status writing = call_.Write(*message);
    writing_ = writing.ok();
    if (writing_) return;
    end_ = writing;
  }
  if (!end_.has_value()) return;
  closed_ = true;
  call_.End(*end_);
}

}  // namespace coppice::service
