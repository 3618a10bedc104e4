// A few threads for handlers that compute for too long to run on gRPC's own threads.

#ifndef COPPICE_SERVER_SERVICE_CALLS_WORKER_POOL_H_
#define COPPICE_SERVER_SERVICE_CALLS_WORKER_POOL_H_

#include <atomic>
#include <cstddef>
#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/base/mutex.h"

namespace coppice::service {

// Guarantee  Work starts in the order it was given. The destructor finishes all of it first.
// Errors     Run(): ResourceExhausted if too much already waits; the work is then dropped.
// Threads    safe to share.
class WorkerPool {
 public:
  // `threads` must be at least 1. At most `max_waiting` pieces of work wait for a thread.
  WorkerPool(size_t threads, size_t max_waiting);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  absl::Status Run(std::function<void()> work);

  // Work that checks IsDraining() should stop; all other work goes on.
  void Drain() { draining_.store(true, std::memory_order_relaxed); }
  bool IsDraining() const { return draining_.load(std::memory_order_relaxed); }

 private:
  void Loop();

  const size_t max_waiting_;
  std::atomic<bool> draining_{false};
  Mutex mutex_;
  CondVar changed_;
  std::deque<std::function<void()>> waiting_ ABSL_GUARDED_BY(mutex_);
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

// The threads of the method table's lanes, except the first, which is the transport's own.
struct Lanes {
  WorkerPool& pool;
  WorkerPool& builds;
  WorkerPool& previews;

  // The lane of the method's entry; null for kInline. With a policy, nobody may call a method
  // without an entry.
  WorkerPool* Of(absl::string_view path) const;
};

}  // namespace coppice::service

#endif  // COPPICE_SERVER_SERVICE_CALLS_WORKER_POOL_H_
