#include <atomic>
#include <memory>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/mutex.h"
#include "common/base/status_macros.h"
#include "coppice/v1/admin.pb.h"
#include "server/service/calls/retry_after.h"
#include "server/service/calls/stream_call.h"
#include "server/service/handlers.h"
#include "server/storage/store.h"

namespace coppice::service {
namespace {

// Writes progress as the client reads it, then what was made. A client that reads slowly misses
// progress, never the end. The call and the thread that makes the backup share it.
//
// Threads    as ReportStream.
class BackupStream final : public StreamHandler {
 public:
  explicit BackupStream(StreamCall& call) : call_(call) {}

  // False once nobody waits for it any more.
  bool Tell(uint64_t bytes);
  void End(const absl::StatusOr<storage::StoreBackup>& made);

  void OnWritten(bool sent) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  // Starts whatever may be started now.
  void Advance() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  StreamCall& call_;  // until OnDone(), and so not once it is closed
  std::atomic<bool> cancelled_{false};

  Mutex mutex_;
  std::optional<v1::BackupResponse> waiting_ ABSL_GUARDED_BY(mutex_);
  std::optional<absl::Status> end_ ABSL_GUARDED_BY(mutex_);
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;  // the call was ended
};

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

}  // namespace

void AdminHandlers::Register(HandlerRegistry& registry) {
  registry.Add(*this, &AdminHandlers::Backup);
  registry.Add(*this, &AdminHandlers::ReadAuditLog);
  registry.Add(*this, &AdminHandlers::ListTokens);
}

absl::StatusOr<StreamHandlerPtr> AdminHandlers::Backup(const Caller& /*caller*/,
                                                       const v1::BackupRequest& /*request*/,
                                                       StreamCall& call) {
  if (backups_.folder.empty()) {
    return absl::FailedPreconditionError(
        "this daemon makes no backups: start it with --backup-dir DIR");
  }
  if (busy_.exchange(true)) {
    return absl::FailedPreconditionError("a backup is being made: wait for it to end");
  }
  const auto stream = std::make_shared<BackupStream>(call);
  const absl::Status queued = pool_.Run([this, stream] {
    const absl::StatusOr<storage::StoreBackup> made = store_.Backup(
        {.folder = backups_.folder, .keep = backups_.keep, .progress = [&](uint64_t bytes) {
           return stream->Tell(bytes) && !pool_.IsDraining();
         }});
    busy_ = false;  // before the caller hears of the end, and may ask for another
    stream->End(made);
  });
  if (queued.ok()) return stream;
  busy_ = false;
  return AskToWaitForLoad(queued);
}

absl::Status AdminHandlers::ReadAuditLog(const Caller& /*caller*/,
                                         const v1::ReadAuditLogRequest& request,
                                         v1::ReadAuditLogResponse* response) const {
  if (audit_ == nullptr) return absl::FailedPreconditionError("this curator keeps no audit log");
  COPPICE_ASSIGN_OR_RETURN(*response, audit_->Read(request.first(), request.max_entries()));
  return absl::OkStatus();
}

absl::Status AdminHandlers::ListTokens(const Caller& /*caller*/,
                                       const v1::ListTokensRequest& /*request*/,
                                       v1::ListTokensResponse* response) const {
  if (tokens_ == nullptr) {
    return absl::FailedPreconditionError("this daemon has no policy: start it with --policy FILE");
  }
  *response = tokens_();
  return absl::OkStatus();
}

}  // namespace coppice::service
