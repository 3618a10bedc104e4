// One WatchJob call: writes the job at each change until it has ended. A client that reads slowly
// misses progress, never a state.
//
// Lifetime   Jobs may tell of a change while gRPC ends the call, so the stream is shared by gRPC,
//            until OnDone(), and by whoever is telling it something.
// Threads    as in report_stream.h.

#ifndef COPPICE_SERVER_SERVICE_JOB_STREAM_H_
#define COPPICE_SERVER_SERVICE_JOB_STREAM_H_

#include <grpcpp/support/server_callback.h>

#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "common/base/mutex.h"
#include "coppice/v1/training.pb.h"
#include "server/central/jobs.h"

namespace coppice::service {

class JobStream final : public grpc::ServerWriteReactor<v1::WatchJobResponse>,
                        public central::JobWatcher,
                        public std::enable_shared_from_this<JobStream> {
 public:
  // Belongs to gRPC until OnDone(). `jobs` must outlive the server.
  static JobStream* Start(central::Jobs& jobs, const std::string& name,
                          const central::Caller& caller);

  void OnJob(const central::JobInfo& job) override;
  void OnStop() override;

  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  JobStream() = default;

  // Once what waits is written.
  void End(const absl::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Starts whatever may be started now.
  void Advance() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  std::shared_ptr<JobStream> held_by_grpc_;

  Mutex mutex_;
  std::deque<central::JobInfo> waiting_ ABSL_GUARDED_BY(mutex_);
  v1::WatchJobResponse response_ ABSL_GUARDED_BY(mutex_);  // of the write that is under way
  std::optional<absl::Status> end_ ABSL_GUARDED_BY(mutex_);
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;  // Finish() was called
};

}  // namespace coppice::service

#endif  // COPPICE_SERVER_SERVICE_JOB_STREAM_H_
