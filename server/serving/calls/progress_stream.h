// A stream that reports the progress of long work and its result.

#ifndef COPPICE_SERVER_SERVING_CALLS_PROGRESS_STREAM_H_
#define COPPICE_SERVER_SERVING_CALLS_PROGRESS_STREAM_H_

#include <google/protobuf/message.h>

#include <atomic>
#include <memory>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "server/serving/calls/stream_call.h"

namespace coppice::service {

// Writes what it is told as the client reads. A client that reads slowly misses progress, never the
// end. The call and the working thread share it.
//
// Threads    safe to share.
class ProgressStream final : public StreamHandler {
 public:
  explicit ProgressStream(StreamCall& call) : call_(call) {}

  // False once nobody waits any more: then the work must stop and call End().
  bool IsWanted() const { return !cancelled_; }

  // Replaces progress that was not yet written. Returns IsWanted().
  bool Tell(std::unique_ptr<const google::protobuf::Message> progress);
  // Call it once, last. `result`, unless null, is the last message.
  void End(const Status& status, std::unique_ptr<const google::protobuf::Message> result = nullptr);

  void OnWritten(bool sent) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  // Starts every operation that may start now.
  void Advance() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  StreamCall& call_;  // until OnDone(); not used once closed_
  std::atomic<bool> cancelled_{false};

  Mutex mutex_;
  std::unique_ptr<const google::protobuf::Message> waiting_ ABSL_GUARDED_BY(mutex_);
  std::optional<Status> end_ ABSL_GUARDED_BY(mutex_);
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;  // the call was ended
};

}  // namespace coppice::service

#endif  // COPPICE_SERVER_SERVING_CALLS_PROGRESS_STREAM_H_
