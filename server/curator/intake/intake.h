// The queue of reports in front of the store, and the one thread that commits them.
//
// Guarantee  everything submitted is committed in the order it was submitted, and answered once,
//            not before it is durable (dispatcher.h). Whatever waits is committed together: under
//            load a group grows, and the cost of making it durable is shared.
// Why one    thread: groups do not overlap, so memory follows the store without a lock across it,
//            and a change that must not run beside them (sealing, deleting) takes its turn in the
//            queue.
// Bounds     Limits; a batch that does not fit is answered ResourceExhausted, in its turn.
// Threads    safe to share. A `done` must not wait for anything that the committer does, or that
//            other batches are answered; whoever submits holds no lock that a `done` takes.

#ifndef COPPICE_SERVER_CURATOR_INTAKE_INTAKE_H_
#define COPPICE_SERVER_CURATOR_INTAKE_INTAKE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "common/base/mutex.h"
#include "server/curator/intake/reply_dispatcher.h"
#include "server/curator/intake/submission.h"
#include "server/storage/store.h"

namespace coppice::curator {

class Intake {
 public:
  struct Limits {
    // Waiting, being committed or being answered. A larger batch is taken when nothing is: to ask
    // for it again later would be in vain.
    size_t queued_bytes = size_t{64} << 20;
    size_t group_bytes = size_t{16} << 20;  // of one group; a larger batch is a group by itself
    size_t group_reports = 65536;
    bool answer_beside_commits = true;  // see StudiesLimits
  };

  Intake(storage::Store& store, const Limits& limits);
  // Finishes what is queued.
  ~Intake();
  Intake(const Intake&) = delete;
  Intake& operator=(const Intake&) = delete;

  void Submit(Submission batch);

  // Of each study: reports taken in ever, and those of them that wait. One moment for all of them,
  // and nothing else is under way if it is called by a change (see below).
  struct IntakeCounts {
    uint64_t received = 0;
    uint64_t waiting = 0;
  };
  std::vector<IntakeCounts> CountsFor(absl::Span<const std::shared_ptr<Study>> studies) const;

  // Runs `change` on the committer's thread, after all that was submitted before and with no group
  // under way; returns what it returned.
  absl::Status RunOnCommitter(absl::FunctionRef<absl::Status()> change);

  size_t QueuedBytes() const;

  // From now on batches are answered Unavailable. Returns when all submitted before are answered.
  void Drain();

 private:
  struct Item {
    Submission batch;
    size_t bytes = 0;
    std::function<void()> change;  // if set, there is no batch
  };

  void Enqueue(Item item);
  void Run();
  std::vector<Item> TakeGroup() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Complete(std::vector<Item> group);

  storage::Store& store_;
  const Limits limits_;
  mutable Mutex mutex_;
  CondVar arrived_;
  CondVar finished_;
  std::deque<Item> queue_ ABSL_GUARDED_BY(mutex_);
  size_t queued_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t submitted_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t completed_ ABSL_GUARDED_BY(mutex_) = 0;
  bool draining_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  ReplyDispatcher replies_;
  std::thread committer_;  // last: starts when all else is there, and ends before it
};

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_INTAKE_INTAKE_H_
