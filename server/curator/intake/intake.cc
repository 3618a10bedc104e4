#include "server/curator/intake/intake.h"

#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "common/base/status.h"
#include "common/base/text.h"

namespace coppice::curator {
namespace {

// Keeps the callback and drops everything else.
void Refuse(Submission& batch, Status status) {
  SubmitDone done = std::move(batch.done);
  batch = Submission();
  batch.done = std::move(done);
  batch.refused = std::move(status);
}

}  // namespace

Intake::Intake(storage::Store& store, const Limits& limits)
    : store_(store), limits_(limits), committer_([this] { Run(); }) {}

Intake::~Intake() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  arrived_.NotifyOne();
  committer_.join();
}

void Intake::Submit(Submission batch) {
  const size_t bytes = batch.Bytes();
  Enqueue({.batch = std::move(batch), .bytes = bytes, .change = nullptr});
  if (limits_.answer_beside_commits) replies_.DrainOnCaller();
}

void Intake::Enqueue(Item item) {
  {
    const MutexLock lock(mutex_);
    if (item.change == nullptr && draining_) {
      Refuse(item.batch,
             UnavailableError("the curator is shutting down: send the same bytes again later"));
      item.bytes = 0;
    } else if (queued_bytes_ > 0 && queued_bytes_ + item.bytes > limits_.queued_bytes) {
      Refuse(item.batch, ResourceExhaustedError(StrCat(
                             "more than ", limits_.queued_bytes,
                             " bytes of reports are waiting: send the same bytes again later")));
      item.bytes = 0;
    }
    if (item.batch.study != nullptr && item.batch.refused.ok()) {
      item.batch.study->sums().AddReceived(item.batch.reports.size());
    }
    queued_bytes_ += item.bytes;
    ++submitted_;
    queue_.push_back(std::move(item));
  }
  arrived_.NotifyOne();
}

std::vector<Intake::IntakeCounts> Intake::CountsFor(
    absl::Span<const std::shared_ptr<Study>> studies) const {
  const MutexLock lock(mutex_);
  absl::flat_hash_map<const Study*, uint64_t> waiting;
  for (const Item& item : queue_) {
    if (item.batch.refused.ok()) waiting[item.batch.study.get()] += item.batch.reports.size();
  }
  std::vector<IntakeCounts> counts;
  for (const std::shared_ptr<Study>& study : studies) {
    counts.push_back({.received = study->sums().received(), .waiting = waiting[study.get()]});
  }
  return counts;
}

Status Intake::RunOnCommitter(absl::FunctionRef<Status()> change) {
  Status status;
  bool ran = false;
  const auto run = [&] {
    status = change();
    const MutexLock lock(mutex_);
    ran = true;
    finished_.NotifyAll();
  };
  Enqueue({.batch = {}, .bytes = 0, .change = run});
  const MutexLock lock(mutex_);
  while (!ran) finished_.Wait(mutex_);
  return status;
}

size_t Intake::QueuedBytes() const {
  const MutexLock lock(mutex_);
  return queued_bytes_;
}

void Intake::Drain() {
  const MutexLock lock(mutex_);
  draining_ = true;
  const uint64_t last = submitted_;
  while (completed_ < last) finished_.Wait(mutex_);
}

void Intake::Run() {
  const MutexLock lock(mutex_);
  for (;;) {
    while (!stopping_ && queue_.empty()) arrived_.Wait(mutex_);
    if (queue_.empty()) return;
    std::vector<Item> group = TakeGroup();
    mutex_.Unlock();
    Complete(std::move(group));
    mutex_.Lock();
  }
}

std::vector<Intake::Item> Intake::TakeGroup() {
  std::vector<Item> group;
  size_t bytes = 0;
  size_t reports = 0;
  do {
    Item& next = queue_.front();
    bytes += next.bytes;
    reports += next.batch.reports.size();
    const bool fits = bytes <= limits_.group_bytes && reports <= limits_.group_reports;
    const bool alone = next.change != nullptr;
    if (!group.empty() && (!fits || alone)) break;
    group.push_back(std::move(next));
    queue_.pop_front();
    if (alone) break;
  } while (!queue_.empty());
  return group;
}

void Intake::Complete(std::vector<Item> group) {
  CommittedGroup committed;
  size_t bytes = 0;
  for (Item& item : group) {
    bytes += item.bytes;
    if (item.change == nullptr) committed.batches.push_back(std::move(item.batch));
  }
  if (committed.batches.empty()) {
    group.front().change();
  } else {
    committed.status = CommitGroup(absl::MakeSpan(committed.batches), store_);
  }
  // A change has no batches to answer, but completes in its turn.
  committed.answered = [this, bytes, items = group.size()] {
    const MutexLock lock(mutex_);
    queued_bytes_ -= bytes;
    completed_ += items;
    finished_.NotifyAll();
  };
  if (limits_.answer_beside_commits) {
    replies_.Post(std::move(committed));
  } else {
    AnswerGroup(committed);
  }
}

}  // namespace coppice::curator
