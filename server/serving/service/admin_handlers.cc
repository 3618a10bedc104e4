#include <memory>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "coppice/v1/admin.pb.h"
#include "server/process/retry_after.h"
#include "server/serving/calls/progress_stream.h"
#include "server/serving/service/handlers.h"
#include "server/store/store.h"

namespace coppice::service {
namespace {

v1::BackupDone MakeBackupDone(const storage::StoreBackup& backup) {
  v1::BackupDone proto;
  proto.set_backup_id(backup.id);
  proto.set_created_unix_seconds(backup.unix_seconds);
  proto.set_bytes(backup.bytes);
  proto.set_files(backup.files);
  return proto;
}

Status CheckHasFolder(const BackupSettings& backups) {
  if (!backups.folder.empty()) return OkStatus();
  return FailedPreconditionError("backups are off: start the daemon with --backup-dir DIR");
}

// Null unless a backup was made.
std::unique_ptr<v1::BackupResponse> DoneOf(const StatusOr<storage::StoreBackup>& made) {
  if (!made.ok()) return nullptr;
  auto response = std::make_unique<v1::BackupResponse>();
  *response->mutable_done() = MakeBackupDone(*made);
  return response;
}

}  // namespace

void AdminHandlers::Register(HandlerRegistry& registry) {
  registry.Add(*this, &AdminHandlers::Backup);
  registry.Add(*this, &AdminHandlers::ListBackups);
  registry.Add(*this, &AdminHandlers::GetStatus);
  registry.Add(*this, &AdminHandlers::ReadAuditLog);
  registry.Add(*this, &AdminHandlers::ListTokens);
}

StatusOr<StreamHandlerPtr> AdminHandlers::Backup(const Caller& /*caller*/,
                                                 const v1::BackupRequest& /*request*/,
                                                 StreamCall& call) {
  COPPICE_RETURN_IF_ERROR(CheckHasFolder(backups_));
  if (busy_.exchange(true)) {
    return FailedPreconditionError("a backup is being made: wait for it to end");
  }
  const auto stream = std::make_shared<ProgressStream>(call);
  const Status queued = pool_.Run([this, stream] {
    const StatusOr<storage::StoreBackup> made = store_.Backup(
        {.folder = backups_.folder, .keep = backups_.keep, .progress = [&](uint64_t bytes) {
           auto response = std::make_unique<v1::BackupResponse>();
           response->mutable_progress()->set_bytes_written(bytes);
           return stream->Tell(std::move(response)) && !pool_.IsDraining();
         }});
    busy_ = false;  // before the caller hears of the end, as it may request another
    stream->End(made.status(), DoneOf(made));
  });
  if (queued.ok()) return stream;
  busy_ = false;
  return AskToWaitForLoad(queued);
}

Status AdminHandlers::ListBackups(const Caller& /*caller*/,
                                  const v1::ListBackupsRequest& /*request*/,
                                  v1::ListBackupsResponse* response) const {
  COPPICE_RETURN_IF_ERROR(CheckHasFolder(backups_));
  COPPICE_ASSIGN_OR_RETURN(const std::vector<storage::StoreBackup> oldest_first,
                           store_.ListBackups(backups_.folder));
  for (auto it = oldest_first.rbegin(); it != oldest_first.rend(); ++it) {
    *response->add_backups() = MakeBackupDone(*it);
  }
  return OkStatus();
}

Status AdminHandlers::GetStatus(const Caller& /*caller*/, const v1::GetStatusRequest& /*request*/,
                                v1::GetStatusResponse* response) const {
  if (status_ == nullptr) return FailedPreconditionError("this curator keeps no status");
  *response = status_();
  response->set_has_backups(!backups_.folder.empty());
  response->set_has_policy(tokens_ != nullptr);
  return OkStatus();
}

Status AdminHandlers::ReadAuditLog(const Caller& /*caller*/, const v1::ReadAuditLogRequest& request,
                                   v1::ReadAuditLogResponse* response) const {
  if (audit_ == nullptr) return FailedPreconditionError("this curator keeps no audit log");
  COPPICE_ASSIGN_OR_RETURN(*response, audit_->Read(request.first(), request.max_entries()));
  return OkStatus();
}

Status AdminHandlers::ListTokens(const Caller& /*caller*/, const v1::ListTokensRequest& /*request*/,
                                 v1::ListTokensResponse* response) const {
  if (tokens_ == nullptr) {
    return FailedPreconditionError("this daemon has no policy: start it with --policy FILE");
  }
  *response = tokens_();
  return OkStatus();
}

}  // namespace coppice::service
