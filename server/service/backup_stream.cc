#include "server/service/backup_stream.h"

#include <utility>

#include "server/service/status_conversion.h"

namespace coppice::service {

std::shared_ptr<BackupStream> BackupStream::Make() {
  // The constructor is private, out of make_shared's reach.
  const std::shared_ptr<BackupStream> stream(new BackupStream());
  stream->held_by_grpc_ = stream;
  return stream;
}

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

void BackupStream::OnWriteDone(bool ok) {
  const MutexLock lock(mutex_);
  writing_ = false;
  if (!ok) cancelled_ = true;
  Advance();
}

// The backup stops at its next progress, and ends the call.
void BackupStream::OnCancel() { cancelled_ = true; }

void BackupStream::OnDone() {
  std::shared_ptr<BackupStream> until_return;
  const MutexLock lock(mutex_);  // Whatever any thread did here happened before.
  until_return = std::move(held_by_grpc_);
}

void BackupStream::Advance() {
  if (writing_ || closed_) return;
  if (waiting_.has_value() && !cancelled_) {
    response_ = *std::exchange(waiting_, std::nullopt);
    writing_ = true;
    return StartWrite(&response_);
  }
  if (!end_.has_value()) return;
  closed_ = true;
  Finish(ToGrpcStatus(*end_));
}

}  // namespace coppice::service
