// One Backup call: progress as the client reads it, then what was made. A client that reads slowly
// misses progress, never the end.
//
// Lifetime   the thread that makes the backup and gRPC share the stream, as in job_stream.h.
// Threads    as in report_stream.h.

#ifndef COPPICE_SERVER_SERVICE_BACKUP_STREAM_H_
#define COPPICE_SERVER_SERVICE_BACKUP_STREAM_H_

#include <grpcpp/support/server_callback.h>

#include <atomic>
#include <memory>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/mutex.h"
#include "coppice/v1/admin.pb.h"
#include "server/storage/store.h"

namespace coppice::service {

class BackupStream final : public grpc::ServerWriteReactor<v1::BackupResponse> {
 public:
  // gRPC holds one share until OnDone().
  static std::shared_ptr<BackupStream> Make();

  // False once nobody waits for it any more.
  bool Tell(uint64_t bytes);
  void End(const absl::StatusOr<storage::StoreBackup>& made);

  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  BackupStream() = default;

  // Starts whatever may be started now.
  void Advance() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  std::shared_ptr<BackupStream> held_by_grpc_;
  std::atomic<bool> cancelled_{false};

  Mutex mutex_;
  std::optional<v1::BackupResponse> waiting_ ABSL_GUARDED_BY(mutex_);
  v1::BackupResponse response_ ABSL_GUARDED_BY(mutex_);  // of the write that is under way
  std::optional<absl::Status> end_ ABSL_GUARDED_BY(mutex_);
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;  // Finish() was called
};

}  // namespace coppice::service

#endif  // COPPICE_SERVER_SERVICE_BACKUP_STREAM_H_
