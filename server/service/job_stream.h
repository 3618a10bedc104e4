// The stream of a WatchJob call.

#ifndef COPPICE_SERVER_SERVICE_JOB_STREAM_H_
#define COPPICE_SERVER_SERVICE_JOB_STREAM_H_

#include <deque>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "common/base/mutex.h"
#include "coppice/v1/training.pb.h"
#include "server/central/jobs.h"
#include "server/service/calls/stream_call.h"

namespace coppice::service {

// Writes the job at each change until it has ended. A client that reads slowly misses progress,
// never a state. Jobs may tell of a change while the call ends, so the call, until OnDone(), and
// whoever is telling it something share it.
//
// Threads    as ReportStream.
class JobStream final : public StreamHandler, public central::JobWatcher {
 public:
  explicit JobStream(StreamCall& call) : call_(call) {}

  void OnJob(const central::JobInfo& job) override;
  void OnStop() override;

  void OnWritten(bool sent) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  // Once what waits is written.
  void End(const absl::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Starts whatever may be started now.
  void Advance() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  StreamCall& call_;  // until OnDone(), and so not once it is closed

  Mutex mutex_;
  std::deque<central::JobInfo> waiting_ ABSL_GUARDED_BY(mutex_);
  std::optional<absl::Status> end_ ABSL_GUARDED_BY(mutex_);
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;  // the call was ended
};

}  // namespace coppice::service

#endif  // COPPICE_SERVER_SERVICE_JOB_STREAM_H_
