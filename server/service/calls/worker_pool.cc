#include "server/service/calls/worker_pool.h"

#include <utility>

#include "server/access/method_table.h"

namespace coppice::service {

WorkerPool::WorkerPool(size_t threads, size_t max_waiting) : max_waiting_(max_waiting) {
  threads_.reserve(threads);
  for (size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { Loop(); });
}

WorkerPool::~WorkerPool() {
  {
    const MutexLock lock(mutex_);
    closing_ = true;
  }
  changed_.NotifyAll();
  for (std::thread& thread : threads_) thread.join();
}

absl::Status WorkerPool::Run(std::function<void()> work) {
  {
    const MutexLock lock(mutex_);
    if (waiting_.size() >= max_waiting_) {
      return absl::ResourceExhaustedError(
          "the curator is busy with other requests; try again later");
    }
    waiting_.push_back(std::move(work));
  }
  changed_.NotifyOne();
  return absl::OkStatus();
}

void WorkerPool::Loop() {
  const MutexLock lock(mutex_);
  while (true) {
    while (!closing_ && waiting_.empty()) changed_.Wait(mutex_);
    if (waiting_.empty()) return;
    std::function<void()> work = std::move(waiting_.front());
    waiting_.pop_front();
    mutex_.Unlock();
    work();
    work = nullptr;  // what it holds may be slow to destroy, or use the pool
    mutex_.Lock();
  }
}

WorkerPool* Lanes::Of(absl::string_view path) const {
  const access::Method* const entry = access::FindMethod(path);
  switch (entry != nullptr ? entry->lane : access::Lane::kPool) {
    case access::Lane::kInline:
      return nullptr;
    case access::Lane::kBuilds:
      return &builds;
    case access::Lane::kPreviews:
      return &previews;
    case access::Lane::kPool:
      break;
  }
  return &pool;
}

}  // namespace coppice::service
