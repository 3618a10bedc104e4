#include "server/service/backup_stream.h"

#include <utility>

namespace coppice::service {

bool BackupStream::Tell(uint64_t bytes) {
  const MutexLock lock(mutex_);
  v1::BackupResponse response;
  response.mutable_progress()->set_bytes_written(bytes);
  waiting_ = std::move(response);
  Advance();
  return !cancelled_;
}

void BackupStream::End(const absl::StatusOr<storage::StoreBackup>& made) {
  const MutexLock lock(mutex_);
  if (made.ok()) {
    v1::BackupResponse response;
    v1::BackupDone& done = *response.mutable_done();
    done.set_backup_id(made->id);
    done.set_created_unix_seconds(made->unix_seconds);
    done.set_bytes(made->bytes);
    done.set_files(made->files);
    waiting_ = std::move(response);
  }
  end_ = made.status();
  Advance();
}

void BackupStream::OnWritten(bool sent) {
  const MutexLock lock(mutex_);
  writing_ = false;
  if (!sent) cancelled_ = true;
  Advance();
}

// The backup stops at its next progress, and ends the call.
void BackupStream::OnCancel() { cancelled_ = true; }

void BackupStream::OnDone() {
  const MutexLock lock(mutex_);  // Whatever any thread did here happened before.
}

void BackupStream::Advance() {
  if (writing_ || closed_) return;
  if (waiting_.has_value() && !cancelled_) {
    const absl::Status writing = call_.Write(*std::exchange(waiting_, std::nullopt));
    writing_ = writing.ok();
    if (writing_) return;
    end_ = writing;
  }
  if (!end_.has_value()) return;
  closed_ = true;
  call_.End(*end_);
}

}  // namespace coppice::service
