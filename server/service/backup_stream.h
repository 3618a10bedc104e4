// The stream of a Backup call.

#ifndef COPPICE_SERVER_SERVICE_BACKUP_STREAM_H_
#define COPPICE_SERVER_SERVICE_BACKUP_STREAM_H_

#include <atomic>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/mutex.h"
#include "coppice/v1/admin.pb.h"
#include "server/service/calls/stream_call.h"
#include "server/storage/store.h"

namespace coppice::service {

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

}  // namespace coppice::service

#endif  // COPPICE_SERVER_SERVICE_BACKUP_STREAM_H_
