#include "server/service/admin_handlers.h"

#include <memory>

#include "absl/time/time.h"
#include "server/service/backup_stream.h"
#include "server/service/load_limits.h"

namespace coppice::service {

grpc::ServerWriteReactor<v1::BackupResponse>* AdminServiceImpl::Backup(
    grpc::CallbackServerContext* context, const v1::BackupRequest*) {
  const std::shared_ptr<BackupStream> stream = BackupStream::Make();
  if (backups_.folder.empty()) {
    stream->End(absl::FailedPreconditionError(
        "this daemon makes no backups: start it with --backup-dir DIR"));
    return stream.get();
  }
  if (busy_.exchange(true)) {
    stream->End(absl::FailedPreconditionError("a backup is being made: wait for it to end"));
    return stream.get();
  }
  const absl::Status queued = pool_.Run([this, stream] {
    const absl::StatusOr<storage::StoreBackup> made = store_.Backup(
        {.folder = backups_.folder, .keep = backups_.keep, .progress = [&](uint64_t bytes) {
           return stream->Tell(bytes) && !pool_.IsDraining();
         }});
    busy_ = false;  // before the caller hears of the end, and may ask for another
    stream->End(made);
  });
  if (!queued.ok()) {
    busy_ = false;
    AskToWait(*context, absl::Seconds(1));
    stream->End(queued);
  }
  return stream.get();
}

}  // namespace coppice::service
