// A few threads for handlers that compute for too long to run on gRPC's own threads.

#ifndef COPPICE_SERVER_SERVING_CALLS_WORKER_POOL_H_
#define COPPICE_SERVER_SERVING_CALLS_WORKER_POOL_H_

#include <atomic>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "common/base/mutex.h"
#include "common/base/status.h"

namespace coppice::service {

// Owners share the threads: each has a queue, and a free thread takes the first piece of the queue
// whose turn it is, one queue after another. So an owner waits for at most one piece of every other
// owner, however many pieces those have queued.
//
// Guarantee  An owner's work starts in the order it was given. The destructor finishes all work
//            first. No owner can take all the room: its queue may grow to as much as is then free,
//            which is half of the room for one owner alone, and a third each for two.
// Errors     Run(): ResourceExhausted if too much already waits; the work is then dropped.
// Threads    safe to share.
class WorkerPool {
 public:
  // `threads` must be at least 1. At most `max_waiting` pieces of work wait for a thread.
  WorkerPool(size_t threads, size_t max_waiting);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  // `owner` is the name of the caller; the daemon's own work, and everybody's without a policy, has
  // none.
  Status Run(std::function<void()> work, const std::string& owner = "");

  // Work that checks IsDraining() should stop; all other work goes on.
  void Drain() { draining_.store(true, std::memory_order_relaxed); }
  bool IsDraining() const { return draining_.load(std::memory_order_relaxed); }

 private:
  using Queue = std::deque<std::function<void()>>;

  void Loop();
  // Takes the next piece of work; some must wait.
  std::function<void()> TakeNext() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const size_t max_waiting_;
  std::atomic<bool> draining_{false};
  Mutex mutex_;
  CondVar changed_;
  std::map<std::string, Queue> queues_ ABSL_GUARDED_BY(mutex_);  // none is empty
  std::deque<std::string> turns_ ABSL_GUARDED_BY(mutex_);        // their owners, next first
  size_t waiting_ ABSL_GUARDED_BY(mutex_) = 0;                   // in all queues
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

class MessageIntake;

// The threads of the method table's lanes, except the first, which is the transport's own, and what
// parses large messages.
struct Lanes {
  WorkerPool& pool;
  WorkerPool& builds;
  WorkerPool& previews;
  WorkerPool& plans;
  WorkerPool& openings;
  WorkerPool& evaluations;
  MessageIntake& intake;

  // The lane of the method's entry; null for kInline. With a policy, nobody may call a method
  // without an entry.
  WorkerPool* Of(std::string_view path) const;
};

}  // namespace coppice::service

#endif  // COPPICE_SERVER_SERVING_CALLS_WORKER_POOL_H_
