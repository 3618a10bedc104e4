// Bounds every call, whatever its method: its time, the bytes of answers that wait to be read, and
// requests that do not parse.

#ifndef COPPICE_SERVER_DAEMON_TRANSPORT_BOUNDS_H_
#define COPPICE_SERVER_DAEMON_TRANSPORT_BOUNDS_H_

#include <grpcpp/server_context.h>
#include <grpcpp/support/server_interceptor.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string_view>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "common/base/mutex.h"
#include "server/process/byte_load.h"

namespace coppice::daemon {

// Ends calls that exceed their time, whatever the reason: a handler that hangs, or a client that
// does not read its answer.
//
// Guarantee  An added call is cancelled within a second of its deadline unless it was removed;
//            nothing touches its context after Remove().
// Threads    safe to share. Remove() waits while this call is being cancelled, except on the thread
//            that cancels, where gRPC may end the call at once.
class CallDeadlines {
 public:
  class Call;

  CallDeadlines();
  ~CallDeadlines();
  CallDeadlines(const CallDeadlines&) = delete;
  CallDeadlines& operator=(const CallDeadlines&) = delete;

  // Both must live until Remove(). Call it once per call. An infinite `most` sets no deadline.
  void Add(Call& call, grpc::ServerContextBase& context, absl::Duration most);
  // May be called repeatedly, and for a call that was not added.
  void Remove(Call& call);

 private:
  using Clock = std::chrono::steady_clock;
  using ByDeadline = std::multimap<Clock::time_point, Call*>;

  void Run();
  void CancelDue() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Mutex mutex_;
  CondVar changed_;
  ByDeadline calls_ ABSL_GUARDED_BY(mutex_);
  const Call* cancelling_ ABSL_GUARDED_BY(mutex_) = nullptr;
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // last: uses all other members

 public:
  // A call's entry in the list.
  class Call {
   private:
    friend class CallDeadlines;
    grpc::ServerContextBase* context_ = nullptr;
    bool listed_ = false;
    ByDeadline::iterator place_;
  };
};

// The bounds that all calls of a server share.
//
// Threads    safe to share.
class CallBounds {
 public:
  // The time limit of the method with this path.
  using DeadlineOf = std::function<absl::Duration(std::string_view path)>;

  // `answers` must outlive the bounds.
  CallBounds(calls::ByteLoad& answers, DeadlineOf deadline_of)
      : answers_(answers), deadline_of_(std::move(deadline_of)) {}

  calls::ByteLoad& answers() const { return answers_; }
  CallDeadlines& deadlines() { return deadlines_; }
  absl::Duration DeadlineFor(std::string_view path) const { return deadline_of_(path); }

 private:
  calls::ByteLoad& answers_;
  const DeadlineOf deadline_of_;
  CallDeadlines deadlines_;
};

// Bounds each call of a server.
//
// Guarantee  A call of one request and one answer is cancelled when it exceeds its method's time,
//            from the request until the answer was read.
// Errors     Cancelled to the client of such a call, and IsCancelled() to its handler.
//            ResourceExhausted, with the time to wait in the trailing metadata
//            grpc-retry-pushback-ms, instead of a large answer beyond the limit. InvalidArgument
//            for a request that does not parse, where gRPC would say Unimplemented; our own
//            methods parse theirs themselves (server/serving/grpc) and return the same.
//
// `bounds` must outlive the server. Comes before interceptors that look at how calls end.
std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> BoundCalls(
    CallBounds& bounds);

}  // namespace coppice::daemon

#endif  // COPPICE_SERVER_DAEMON_TRANSPORT_BOUNDS_H_
