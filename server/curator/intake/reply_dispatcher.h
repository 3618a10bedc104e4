// Answers committed groups while the committer makes the next one durable: an answer of gRPC costs
// more than a report's whole way through the store.
//
// Where      on the threads of calls that come in meanwhile, if many do: that made a call up to a
//            tenth cheaper than a thread that has nothing else to do with gRPC
//            (docs/performance.md). What they leave, and all where calls are few, is answered on a
//            thread of its own.
// Guarantee  each batch is answered once, and every group that was posted before the end. Batches
//            are begun in the order they were posted, and groups end in that order.
// Threads    safe to share; Post() from one thread at a time.

#ifndef COPPICE_SERVER_CURATOR_INTAKE_REPLY_DISPATCHER_H_
#define COPPICE_SERVER_CURATOR_INTAKE_REPLY_DISPATCHER_H_

#include <cstddef>
#include <functional>
#include <list>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "common/base/mutex.h"
#include "server/curator/intake/submission.h"

namespace coppice::curator {

struct CommittedGroup {
  std::vector<Submission> batches;
  absl::Status status{};  // of the group; a batch that was refused has its own
  // Called when all of them are answered, and their memory is free. Must not call the dispatcher.
  std::function<void()> answered;
};

// On this thread.
void AnswerGroup(CommittedGroup& group);

class ReplyDispatcher {
 public:
  ReplyDispatcher() : thread_([this] { Run(); }) {}
  // Answers what was posted.
  ~ReplyDispatcher();
  ReplyDispatcher(const ReplyDispatcher&) = delete;
  ReplyDispatcher& operator=(const ReplyDispatcher&) = delete;

  void Post(CommittedGroup group);
  // A call came in, on this thread, which holds no lock that an answer takes: answers a few of the
  // batches that wait.
  void DrainOnCaller();

 private:
  struct Posted {
    CommittedGroup group;
    size_t begun = 0;  // of its batches, the first ones
    size_t answered = 0;
  };

  void Run();
  // Gives the calls that come in a moment to take what waits.
  void LeaveToCalls() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Some of the batches that wait, of which there must be one. Lets go of the mutex meanwhile.
  void AnswerSome(size_t most) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void EndGroups() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Mutex mutex_;
  CondVar posted_;
  std::list<Posted> groups_ ABSL_GUARDED_BY(mutex_);  // in the order they were posted
  size_t waiting_ ABSL_GUARDED_BY(mutex_) = 0;        // batches that nobody has begun
  size_t calls_ ABSL_GUARDED_BY(mutex_) = 0;          // that came in since the last group
  bool leave_to_calls_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // last: starts when all else is there
};

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_INTAKE_REPLY_DISPATCHER_H_
