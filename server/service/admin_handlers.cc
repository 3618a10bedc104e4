#include "server/service/admin_handlers.h"

#include <memory>

#include "server/service/backup_stream.h"
#include "server/service/calls/retry_after.h"

namespace coppice::service {

void AdminHandlers::Register(HandlerRegistry& registry) {
  registry.Add(*this, &AdminHandlers::Backup);
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

}  // namespace coppice::service
