#include "server/serving/calls/worker_pool.h"

#include <string_view>
#include <utility>

#include "common/base/status.h"
#include "server/serving/access/method_table.h"

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

Status WorkerPool::Run(std::function<void()> work, const std::string& owner) {
  {
    const MutexLock lock(mutex_);
    const auto found = queues_.find(owner);
    const size_t of_owner = found == queues_.end() ? 0 : found->second.size();
    if (of_owner >= max_waiting_ - waiting_) {
      return ResourceExhaustedError("the curator is busy; try again later");
    }
    if (of_owner == 0) turns_.push_back(owner);
    queues_[owner].push_back(std::move(work));
    ++waiting_;
  }
  changed_.NotifyOne();
  return OkStatus();
}

void WorkerPool::Loop() {
  const MutexLock lock(mutex_);
  while (true) {
    while (!closing_ && waiting_ == 0) changed_.Wait(mutex_);
    if (waiting_ == 0) return;
    std::function<void()> work = TakeNext();
    mutex_.Unlock();
    work();
    work = nullptr;  // what it holds may be slow to destroy, or use the pool
    mutex_.Lock();
  }
}

std::function<void()> WorkerPool::TakeNext() {
  std::string owner = std::move(turns_.front());
  turns_.pop_front();
  const auto queue = queues_.find(owner);
  std::function<void()> work = std::move(queue->second.front());
  queue->second.pop_front();
  --waiting_;
  if (queue->second.empty()) {
    queues_.erase(queue);
  } else {
    turns_.push_back(std::move(owner));
  }
  return work;
}

WorkerPool* Lanes::Of(std::string_view path) const {
  const access::Method* const entry = access::FindMethod(path);
  switch (entry != nullptr ? entry->lane : access::Lane::kPool) {
    case access::Lane::kInline:
      return nullptr;
    case access::Lane::kBuilds:
      return &builds;
    case access::Lane::kPreviews:
      return &previews;
    case access::Lane::kPlans:
      return &plans;
    case access::Lane::kOpenings:
      return &openings;
    case access::Lane::kEvaluations:
      return &evaluations;
    case access::Lane::kPool:
      break;
  }
  return &pool;
}

}  // namespace coppice::service
