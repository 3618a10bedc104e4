// AdminService over the curator's store.

#ifndef COPPICE_SERVER_SERVICE_ADMIN_HANDLERS_H_
#define COPPICE_SERVER_SERVICE_ADMIN_HANDLERS_H_

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "coppice/v1/admin.pb.h"
#include "server/service/calls/handler_registry.h"
#include "server/service/calls/worker_pool.h"
#include "server/storage/store.h"

namespace coppice::service {

struct BackupSettings {
  std::string folder{};  // empty: no backups
  uint32_t keep = 0;     // this many of the newest; 0: all
};

// A backup runs on a thread of its own, one at a time, into a folder that the operator chose when
// the daemon started: a caller names no path.
//
// Errors     those of Store::Backup(); FailedPrecondition without a folder, or while one is made.
// Threads    safe to share. `store` must outlive it.
class AdminHandlers {
 public:
  AdminHandlers(storage::Store& store, BackupSettings backups)
      : store_(store), backups_(std::move(backups)) {}

  void Register(HandlerRegistry& registry);

  absl::StatusOr<StreamHandlerPtr> Backup(const Caller& caller, const v1::BackupRequest& request,
                                          StreamCall& call);

  // Stops the backup that is being made, if there is one.
  void Drain() { pool_.Drain(); }

 private:
  storage::Store& store_;
  const BackupSettings backups_;
  std::atomic<bool> busy_{false};
  WorkerPool pool_{/*threads=*/1, /*max_waiting=*/1};  // last: ends what it runs before the rest
};

}  // namespace coppice::service

#endif  // COPPICE_SERVER_SERVICE_ADMIN_HANDLERS_H_
