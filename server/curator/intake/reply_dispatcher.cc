#include "server/curator/intake/reply_dispatcher.h"

#include <algorithm>
#include <utility>

#include "common/base/status.h"

namespace coppice::curator {
namespace {

// If at least this many calls came in while a group was written, the next group is left to calls
// first, for kPatience.
constexpr size_t kMinCallsToLeaveTo = 4;
// A commit takes some milliseconds.
constexpr absl::Duration kPatience = absl::Microseconds(400);
// How many batches a call answers. Each answer lets its client call again, so a few are enough.
constexpr size_t kMaxBatchesPerCall = 8;
// How many batches the dispatcher's own thread begins at once; calls may take those after them.
constexpr size_t kMaxBatchesAtOnce = 16;

void AnswerBatch(Submission batch, const Status& of_group) {
  const Status& status = batch.refused.ok() ? of_group : batch.refused;
  if (status.ok()) {
    batch.done(std::move(batch.outcomes));
  } else {
    batch.done(status);
  }
}

}  // namespace

void AnswerGroup(CommittedGroup& group) {
  for (Submission& batch : group.batches) AnswerBatch(std::move(batch), group.status);
  group.answered();
}

ReplyDispatcher::~ReplyDispatcher() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  posted_.NotifyOne();
  thread_.join();
}

void ReplyDispatcher::Post(CommittedGroup group) {
  {
    const MutexLock lock(mutex_);
    waiting_ += group.batches.size();
    groups_.push_back({.group = std::move(group)});
    leave_to_calls_ = calls_ >= kMinCallsToLeaveTo;
    calls_ = 0;
    EndGroups();  // ends a group without batches
  }
  posted_.NotifyOne();
}

void ReplyDispatcher::DrainOnCaller() {
  if (!mutex_.TryLock()) return;  // another thread is answering
  ++calls_;
  if (waiting_ > 0) AnswerSome(kMaxBatchesPerCall);
  mutex_.Unlock();
}

void ReplyDispatcher::Run() {
  const MutexLock lock(mutex_);
  for (;;) {
    while (!stopping_ && waiting_ == 0) posted_.Wait(mutex_);
    if (leave_to_calls_) LeaveToCalls();
    while (waiting_ > 0) AnswerSome(kMaxBatchesAtOnce);
    if (stopping_) return;
  }
}

void ReplyDispatcher::LeaveToCalls() {
  const auto until = After(kPatience);
  while (!stopping_ && posted_.WaitUntil(mutex_, until)) {
  }
}

void ReplyDispatcher::AnswerSome(size_t max_batches) {
  // The group stays in the list until all its batches are answered.
  PendingGroup& pending = *std::find_if(groups_.begin(), groups_.end(), [](const PendingGroup& p) {
    return p.begun < p.group.batches.size();
  });
  const size_t begin = pending.begun;
  const size_t end = std::min(pending.group.batches.size(), begin + max_batches);
  pending.begun = end;
  waiting_ -= end - begin;
  mutex_.Unlock();
  for (size_t i = begin; i < end; ++i) {
    AnswerBatch(std::move(pending.group.batches[i]), pending.group.status);
  }
  mutex_.Lock();
  pending.answered += end - begin;
  EndGroups();
}

void ReplyDispatcher::EndGroups() {
  while (!groups_.empty() && groups_.front().answered == groups_.front().group.batches.size()) {
    groups_.front().group.answered();
    groups_.pop_front();
  }
}

}  // namespace coppice::curator
