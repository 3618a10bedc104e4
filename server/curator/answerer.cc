#include "server/curator/answerer.h"

#include <utility>

namespace coppice {
void AnswerGroup(CommittedGroup& group) {
  for (Submission& batch : group.batches) {
    const absl::Status& against = batch.refused.ok() ? group.status : batch.refused;
    if (against.ok()) {
      batch.done(std::move(batch.outcomes));
    } else {
      batch.done(against);
    }
  }
  group.batches.clear();  // before their bytes count as free
  group.answered();
}

Answerer::~Answerer() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  posted_.notify_one();
  thread_.join();
}

void Answerer::Post(CommittedGroup group) {
  {
    const std::lock_guard lock(mutex_);
    groups_.push_back(std::move(group));
  }
  posted_.notify_one();
}

void Answerer::Run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    posted_.wait(lock, [this] { return stopping_ || !groups_.empty(); });
    if (groups_.empty()) return;
    CommittedGroup group = std::move(groups_.front());
    groups_.pop_front();
    lock.unlock();
    AnswerGroup(group);
    lock.lock();
  }
}

}  // namespace coppice
