// Deadlines of calls that the server itself keeps, whatever their clients asked for.

#ifndef COPPICE_SERVER_DAEMON_TRANSPORT_DEADLINES_H_
#define COPPICE_SERVER_DAEMON_TRANSPORT_DEADLINES_H_

#include <grpcpp/server_context.h>

#include <chrono>
#include <map>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "common/base/mutex.h"

namespace coppice::daemon {

// Ends calls that last longer than they may, whoever is to blame: a handler that hangs, or a client
// that does not read its answer.
//
// Guarantee  a call that was added is cancelled within a second of its deadline, unless it was
//            removed; after Remove() nothing touches its context any more.
// Threads    safe to share. Remove() waits while this call is being cancelled, except on the thread
//            that cancels, where gRPC may end the call at once.
class CallDeadlines {
 public:
  class Call;

  CallDeadlines();
  ~CallDeadlines();
  CallDeadlines(const CallDeadlines&) = delete;
  CallDeadlines& operator=(const CallDeadlines&) = delete;

  // Both must stay until Remove(). Once a call; a call without end has no deadline.
  void Add(Call& call, grpc::ServerContextBase& context, absl::Duration most);
  // Also of a call that was not added, and again.
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
  std::thread thread_;  // last: it uses all of the above

 public:
  // A call's place among the others.
  class Call {
   private:
    friend class CallDeadlines;
    grpc::ServerContextBase* context_ = nullptr;
    bool listed_ = false;
    ByDeadline::iterator place_;
  };
};

}  // namespace coppice::daemon

#endif  // COPPICE_SERVER_DAEMON_TRANSPORT_DEADLINES_H_
