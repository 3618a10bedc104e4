// Answers the groups that the committer has committed.

#ifndef COPPICE_SERVER_CURATOR_INTAKE_REPLY_DISPATCHER_H_
#define COPPICE_SERVER_CURATOR_INTAKE_REPLY_DISPATCHER_H_

#include <cstddef>
#include <functional>
#include <list>
#include <thread>
#include <vector>

#include "common/base/mutex.h"
#include "common/base/status.h"
#include "server/curator/intake/submission.h"

namespace coppice::curator {

struct CommittedGroup {
  std::vector<Submission> batches;
  Status status{};  // of the commit; a refused batch has its own status
  // Called when all batches are answered and their memory is freed. Must not call the dispatcher.
  std::function<void()> answered;
};

// Answers a group on this thread.
void AnswerGroup(CommittedGroup& group);

// Answers groups while the committer makes the next one durable: replying over gRPC costs more than
// storing a report. If many calls come in meanwhile, their threads answer some batches, which makes
// a call up to a tenth cheaper (docs/research/performance.md); a thread of the dispatcher answers
// the rest.
//
// Guarantee  Each batch is answered once; the destructor first answers every posted group.
//            Batches begin, and groups end, in the order of posting.
// Threads    safe to share; one thread at a time calls Post().
class ReplyDispatcher {
 public:
  ReplyDispatcher() : thread_([this] { Run(); }) {}
  // Answers all posted groups first.
  ~ReplyDispatcher();
  ReplyDispatcher(const ReplyDispatcher&) = delete;
  ReplyDispatcher& operator=(const ReplyDispatcher&) = delete;

  void Post(CommittedGroup group);
  // Answers a few waiting batches on the thread of an incoming call, which must hold no lock that
  // an answer takes.
  void DrainOnCaller();

 private:
  struct PendingGroup {
    CommittedGroup group;
    size_t begun = 0;  // number of batches begun, from the first
    size_t answered = 0;
  };

  void Run();
  // Gives incoming calls a moment to take waiting batches.
  void LeaveToCalls() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Answers at most `max_batches` of the waiting batches; at least one must wait. Releases the
  // mutex meanwhile.
  void AnswerSome(size_t max_batches) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void EndGroups() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Mutex mutex_;
  CondVar posted_;
  std::list<PendingGroup> groups_ ABSL_GUARDED_BY(mutex_);  // in order of posting
  size_t waiting_ ABSL_GUARDED_BY(mutex_) = 0;              // batches not begun
  size_t calls_ ABSL_GUARDED_BY(mutex_) = 0;                // since the last group
  bool leave_to_calls_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // last: starts after all other members
};

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_INTAKE_REPLY_DISPATCHER_H_
