// A few threads for handlers that compute for longer than gRPC's own threads should be kept.

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

// Guarantee  work is started in the order it was given. The destructor finishes all of it first.
// Errors     Run(): ResourceExhausted if too much waits already; the work is then dropped.
// Threads    safe to share.
class WorkerPool {
 public:
  // `threads` at least 1; at most `max_waiting` pieces of work wait for one of them.
  WorkerPool(size_t threads, size_t max_waiting);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  absl::Status Run(std::function<void()> work);

  // Work that asks IsDraining() is to stop; nothing else ends.
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

// The threads of each lane of the method table but the first, which is the transport's own.
struct Lanes {
  WorkerPool& pool;
  WorkerPool& builds;
  WorkerPool& previews;

  // That of the method's entry; null for kInline. Without an entry nobody may call the method where
  // there is a policy.
  WorkerPool* Of(absl::string_view path) const;
};

}  // namespace coppice::service

#endif  // COPPICE_SERVER_SERVICE_CALLS_WORKER_POOL_H_
