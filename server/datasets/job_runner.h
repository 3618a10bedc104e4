// The queues of training jobs, one per owner, and the threads that work on them.

#ifndef COPPICE_SERVER_DATASETS_JOB_RUNNER_H_
#define COPPICE_SERVER_DATASETS_JOB_RUNNER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/coins/coins.h"
#include "common/model/model.h"
#include "common/privacy/private_random.h"
#include "common/schema/schema.h"
#include "common/table/row_blocks.h"
#include "server/datasets/checkpoints.h"
#include "server/datasets/datasets.h"
#include "server/datasets/job_book.h"
#include "server/datasets/job_finalizer.h"
#include "server/datasets/job_plan.h"
#include "server/store/store.h"
#include "server/trainers/core/resumable_releaser.h"
#include "server/trainers/core/trainer.h"

namespace coppice::central {

struct JobOptions {
  size_t threads = 1;                       // jobs at a time, per owner; 0: accepts no job
  uint32_t threads_of_job = 1;              // that work on each of them
  absl::Duration retry = absl::Seconds(1);  // between failed writes
  absl::Duration between_progress = absl::Milliseconds(250);  // per report to watchers
  // The least time from one checkpoint to the next; where the store is slow, it is twenty times as
  // long as storing one took. What is released in between is drawn again after a crash. 0: none;
  // then each step ends with one.
  absl::Duration between_checkpoints = absl::Milliseconds(50);
  uint64_t max_model_bytes = models::kMaxModelBytes;  // of any job's model
  uint64_t training_memory = 0;                       // bytes, of each job; 0: no limit
};

// Takes charged jobs from queued to their end, in the order in which each owner queued them. Owners
// do not wait for each other: the time at which one owner's job begins must not reveal when
// another's ended.
//
// Each owner runs as many jobs at a time as it has threads. They have low scheduling priority, so
// that predictions stay fast. While the store fails, a finished job waits in memory with its
// result: it is neither trained again nor shown before it is on disk.
//
// A job that is found running when the daemon starts goes on (Resume()): it runs again from its
// start, with its coins and on the same rows, and is given what it released before
// (trainers/core/resumable_releaser.h). Three runs within one step without a clean end fail it: a
// crash that depended on the values drawn would choose among draws.
//
// Guarantee  the running state of a job is on disk before any noise is drawn for it. Outside of a
//            job's thread nothing depends on a value that it released before that value is on disk:
//            not its progress, and not its end, whose batch has its model.
// Threads    safe to share. Holds `change_mutex` through every change of a job's state.
class JobRunner {
 public:
  // All arguments must outlive the runner.
  JobRunner(storage::Store& store, Datasets& datasets,
            absl::Span<const trainers::Trainer* const> trainers,
            const std::function<int64_t()>& clock, const JobOptions& options, JobBook& book,
            JobFinalizer& finalizer, Mutex& change_mutex);
  ~JobRunner();
  JobRunner(const JobRunner&) = delete;
  JobRunner& operator=(const JobRunner&) = delete;

  // Starts to run jobs, including those queued before.
  void Start();

  // Adds the job to the book and queues it, or one that was cut short and goes on.
  void Enqueue(std::shared_ptr<Job> job);

  // Begins no more jobs, gives running ones until `deadline`, then abandons them.
  void Drain(absl::Time deadline);
  // Whether Drain() was called.
  bool stopping() const { return stopping_; }

 private:
  // The input of a job that has begun.
  struct TrainingInput {
    JobPlan plan;
    std::shared_ptr<const Schema> schema;
    std::shared_ptr<const RowBlocks> rows;
    std::string dataset;
    // Of a job that can go on after a crash. A first run has released nothing.
    std::optional<JobStart> start{};
    std::vector<trainers::ReleasedValues> released{};
    bool is_counted = false;  // this run is in the job's record
  };

  // The jobs of one owner, and the number of threads that serve them.
  struct Line {
    std::deque<std::shared_ptr<Job>> queue;
    size_t threads = 0;
  };

  // Starts threads up to the line's limit.
  void Staff(Line& line) ABSL_EXCLUSIVE_LOCKS_REQUIRED(queue_mutex_);
  // The loop of each thread.
  void Work(Line& line);
  // Returns the next job, or null once no more jobs may begin.
  std::shared_ptr<Job> Next(Line& line);
  void Run(Job& job);

  // Takes a job from queued to running. Cancelled: the job has ended and nothing is left to do.
  // After any other error it is still queued and may be tried again.
  Status BeginJob(Job& job, TrainingInput& work);
  // Cancelled unless the job is queued. Retries a refund that failed.
  Status CheckQueued(Job& job) ABSL_EXCLUSIVE_LOCKS_REQUIRED(change_mutex_);
  // Ends a job that has not begun, and refunds it unless the ledger refuses. Cancelled: it has
  // ended. After any other error it may be tried again.
  Status CancelQueued(Job& job, std::string_view why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(change_mutex_);
  // Goes on with a job that was cut short. As BeginJob(), but that the job is running.
  Status Resume(Job& job, TrainingInput& work);
  // Whether it may; counts the run. Cancelled: the job has ended meanwhile.
  Status CountRun(Job& job, TrainingInput& work);
  // Reads what the job left behind.
  Status PrepareAgain(Job& job, TrainingInput& work);
  // Does everything that can fail before noise is drawn. `spec` has the job's public rows.
  Status Prepare(const Job& job, const JobSpec& spec, const DatasetUse& use, TrainingInput& work);
  // Reads the rows once, and returns their digest under the seed.
  StatusOr<std::string> ReadRows(const Job& job, const CoinSeed& seed, TrainingInput& work);
  StatusOr<Model> Train(Job& job, TrainingInput& work);
  StatusOr<Model> TrainResumably(Job& job, TrainingInput& work, const RowBlocks& rows,
                                 PrivateRandom& random, const trainers::TrainProgress& progress);
  // Makes what was released durable, and tries for as long as that takes. Cancelled or Unavailable
  // if the job is to end first.
  Status StoreCheckpoint(Job& job, absl::Span<const trainers::ReleasedValues> released);
  Status TryCheckpoint(Job& job, absl::Span<const trainers::ReleasedValues> released);
  // Notes that the daemon stops, which is no crash, after what was released until now. Tries once.
  void StoreCleanEnd(Job& job, absl::Span<const trainers::ReleasedValues> released);
  // OK while the job may go on. Cancelled or Unavailable: it is to end.
  Status CheckGoesOn(const Job& job) const;
  // Writes the job's end, and retries for as long as that takes.
  void EndJob(Job& job, StatusOr<Model> trained);
  Status WriteEnd(Job& job, const std::shared_ptr<const Model>& model, const Status& why);
  void ShowWaiting(Job& job, const Status& status);

  // Waits before the next attempt. Returns false once `flag` is set.
  bool WaitUnless(const std::atomic<bool>& flag);

  storage::Store& store_;
  Datasets& datasets_;
  const absl::Span<const trainers::Trainer* const> trainers_;
  const std::function<int64_t()>& clock_;
  const JobOptions options_;
  JobBook& book_;
  Mutex& change_mutex_;  // taken before queue_mutex_
  JobFinalizer& finalizer_ ABSL_GUARDED_BY(change_mutex_);

  Mutex queue_mutex_;
  CondVar queue_changed_;
  bool started_ ABSL_GUARDED_BY(queue_mutex_) = false;
  std::map<std::string, Line> lines_ ABSL_GUARDED_BY(queue_mutex_);  // by owner; they stay
  size_t active_ ABSL_GUARDED_BY(queue_mutex_) = 0;                  // jobs that a thread works on
  // Written under queue_mutex_, read without it.
  std::atomic<bool> stopping_{false};   // no more jobs begin
  std::atomic<bool> abandoned_{false};  // running jobs are given up

  std::vector<std::thread> threads_ ABSL_GUARDED_BY(queue_mutex_);
};

}  // namespace coppice::central

#endif  // COPPICE_SERVER_DATASETS_JOB_RUNNER_H_
