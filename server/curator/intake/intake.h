// The queue of reports in front of the store.

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
#include "absl/types/span.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "server/curator/intake/reply_dispatcher.h"
#include "server/curator/intake/submission.h"
#include "server/store/store.h"

namespace coppice::curator {

// Queues reports in front of the store; one thread commits them. With one thread groups do not
// overlap: memory follows the store without a lock across it, and a change that must not run during
// a group (sealing, deleting) takes its turn in the queue.
//
// Guarantee  Everything submitted is committed in the order of submission and answered once, after
//            it is durable. All waiting batches are committed together: under load a group grows,
//            and its batches share the cost of making it durable.
// Errors     A batch above the Limits is answered ResourceExhausted, in its turn.
// Threads    safe to share. A `done` must not wait for the committer, nor for another batch to be
//            answered; the caller of Submit() holds no lock that a `done` takes.
class Intake {
 public:
  struct Limits {
    // Bytes waiting, being committed or being answered. A batch above the limit is taken when the
    // queue is empty, or it never could be.
    size_t queued_bytes = size_t{64} << 20;
    size_t group_bytes = size_t{16} << 20;  // per group; a larger batch is its own group
    size_t group_reports = 65536;
    bool answer_beside_commits = true;  // see StudiesLimits
  };

  Intake(storage::Store& store, const Limits& limits);
  // Commits and answers the queued batches first.
  ~Intake();
  Intake(const Intake&) = delete;
  Intake& operator=(const Intake&) = delete;

  void Submit(Submission batch);

  // Counts the reports of each study, all at one moment. When a change calls it (see
  // RunOnCommitter), the only reports under way are the waiting ones.
  struct IntakeCounts {
    uint64_t received = 0;  // ever
    uint64_t waiting = 0;   // among `received`
  };
  std::vector<IntakeCounts> CountsFor(absl::Span<const std::shared_ptr<Study>> studies) const;

  // Runs `change` on the committer's thread, after everything submitted before it and with no group
  // under way, and returns its status.
  Status RunOnCommitter(absl::FunctionRef<Status()> change);

  size_t QueuedBytes() const;

  // Answers later batches Unavailable. Returns when all earlier submissions are answered.
  void Drain();

 private:
  struct Item {
    Submission batch;
    size_t bytes = 0;
    std::function<void()> change;  // if set, the item has no batch
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
  std::thread committer_;  // last: starts after all other members, ends before them
};

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_INTAKE_INTAKE_H_
