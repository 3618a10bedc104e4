// Answers committed groups on a thread of its own, so that the committer makes the next group
// durable meanwhile: an answer of gRPC costs more than a report's whole way through the store.
//
// Guarantee  groups are answered one after the other in the order they were posted, each batch
//            once, and every group that was posted before the end.
// Threads    Post() from one thread at a time.

#ifndef COPPICE_SERVER_CURATOR_ANSWERER_H_
#define COPPICE_SERVER_CURATOR_ANSWERER_H_

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "server/curator/submission.h"

namespace coppice {

struct CommittedGroup {
  std::vector<Submission> batches;
  absl::Status status{};           // of the group; a batch that was refused has its own
  std::function<void()> answered;  // called when all of them are
};

// On this thread.
void AnswerGroup(CommittedGroup& group);

class Answerer {
 public:
  Answerer() : thread_([this] { Run(); }) {}
  // Answers what was posted.
  ~Answerer();
  Answerer(const Answerer&) = delete;
  Answerer& operator=(const Answerer&) = delete;

  void Post(CommittedGroup group);

 private:
  void Run();

  std::mutex mutex_;
  // Guarded by mutex_.
  std::condition_variable posted_;
  std::deque<CommittedGroup> groups_;
  bool stopping_ = false;
  std::thread thread_;  // last: starts when all else is there
};

}  // namespace coppice

#endif  // COPPICE_SERVER_CURATOR_ANSWERER_H_
