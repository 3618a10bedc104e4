// Training jobs: they turn a dataset, an algorithm and a part of the budget into a private model.

#ifndef COPPICE_SERVER_DATASETS_JOBS_H_
#define COPPICE_SERVER_DATASETS_JOBS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "common/base/mutex.h"
#include "common/base/page.h"
#include "common/base/status.h"
#include "server/datasets/datasets.h"
#include "server/datasets/job.h"
#include "server/datasets/job_book.h"
#include "server/datasets/job_finalizer.h"
#include "server/datasets/job_plan.h"
#include "server/datasets/job_runner.h"
#include "server/datasets/ledger/ledger.h"
#include "server/store/models/models.h"
#include "server/store/store.h"
#include "server/trainers/core/trainer.h"

namespace coppice::central {

// Charges, queues, runs and ends training jobs.
//
// A job is queued (charged, nothing drawn), then running, then done, failed or cancelled. A queued
// job that is cancelled, or that cannot begin, ends as cancelled and is refunded. Once a job runs,
// its cost stays spent whatever happens: one that failed or was cancelled while it ran is settled
// with no release, because nothing of it left the daemon.
//
// After a restart, jobs that were running go on where they were, if their algorithm can
// (Trainer::CanResume()), and otherwise have failed; then queued jobs run in the order of their
// creation (to the second). A job does not go on in a store that may not be the only one of its
// past: one that was restored or repaired, whose ledger is on hold, or a copy, which has no
// checkpoints (copy_store.cc). There the job would be finished a second time, with other noise.
// It ends, and stays charged.
//
// A job belongs to its dataset's owner, who alone learns to the second when it began and ended: a
// model shows only the day on which its job ended. Access is decided before these calls
// (server/serving/calls/resource_guard.h). Each owner has its own space of request ids.
//
// Guarantee  a job's charge, its record and its model become durable together: the ledger never
//            shows less than what was released, and no model is visible or stored without the
//            releases that made it. A job begins at most once: its running state is on disk before
//            noise is drawn, and a run that goes on repeats what was released before. A
//            cancellation is on disk before it is answered. A released model's certificate lists
//            exactly what was planned.
// Errors     NotFound, AlreadyExists, FailedPrecondition, ResourceExhausted (the budget),
//            InvalidArgument as stated; what the Store returns otherwise.
// Threads    safe to share.
class Jobs {
 public:
  // Loads the jobs in `store`, ends those that were running and cannot go on, and begins the others
  // and those that are queued.
  // `trainers` are all algorithms; those without privacy are not offered. `clock` returns seconds
  // since 1970 and only dates records. All arguments must outlive the jobs, and `models` must be
  // loaded.
  static StatusOr<std::unique_ptr<Jobs>> Open(storage::Store& store, ledger::Ledger& ledger,
                                              Datasets& datasets, models::Models& models,
                                              absl::Span<const trainers::Trainer* const> trainers,
                                              std::function<int64_t()> clock,
                                              const JobOptions& options);
  ~Jobs();
  Jobs(const Jobs&) = delete;
  Jobs& operator=(const Jobs&) = delete;

  std::vector<const trainers::AlgorithmInfo*> Algorithms() const;
  // Returns one of these. InvalidArgument names `field`.
  StatusOr<const trainers::Trainer*> FindAlgorithm(std::string_view field,
                                                   std::string_view name) const;

  // Spends nothing.
  StatusOr<JobPreview> Preview(const JobSpec& spec) const;

  // Charges the job and queues it. Unavailable after Drain(); ResourceExhausted also if the owner
  // has the most jobs that it may.
  StatusOr<JobInfo> Submit(const JobRequest& request);

  // Whether the request made a job before, so that Submit() would make none.
  bool WasSubmitted(const JobRequest& request) const;

  // The dataset of a job; none if there is no such job.
  std::optional<std::string> DatasetOf(std::string_view id) const;

  StatusOr<JobInfo> Get(std::string_view id) const;
  // Lists the jobs of one dataset, or of all if `dataset` is empty, whose owner `is_shown` accepts;
  // it must not call Jobs.
  std::vector<JobInfo> List(std::string_view dataset, const Page& page,
                            absl::FunctionRef<bool(const std::string& owner)> is_shown) const;
  std::vector<JobInfo> List(std::string_view dataset, const Page& page) const {
    return List(dataset, page, [](const std::string&) { return true; });
  }

  // Ends a queued job; asks a running one to end soon. Not an error if the job has ended.
  StatusOr<JobInfo> Cancel(std::string_view id);

  // Tells `watcher` of the job now and at each change, until the job ends or the watcher is gone.
  Status Watch(std::string_view id, std::weak_ptr<JobWatcher> watcher);

  // Begins no more jobs, gives running ones until `deadline`, then abandons them, and stops the
  // watchers. The next start goes on with the abandoned jobs or marks them failed. Idempotent.
  void Drain(absl::Time deadline);

 private:
  Jobs(storage::Store& store, ledger::Ledger& ledger, Datasets& datasets, models::Models& models,
       absl::Span<const trainers::Trainer* const> trainers, std::function<int64_t()> clock,
       const JobOptions& options);

  Status LoadAll();
  // Sorts jobs by their second, and those of one dataset and second by their charges in the ledger,
  // which were made in the order of submission.
  void SortAsQueued(std::vector<JobEntry>& queued) const;
  // Goes on with a job that was running, or ends it.
  Status TakeUp(JobEntry entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(change_mutex_);
  // OK if a job that was running may go on; otherwise why not.
  Status CheckMayResume(const JobEntry& entry) const;
  Status EndInterrupted(JobEntry entry, const Status& why)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(change_mutex_);
  Status QueueAgain(JobEntry entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(change_mutex_);
  bool IsOnHold(const std::string& dataset) const;
  // Whether the ledger has a charge of the job that is neither settled nor returned.
  bool IsCharged(const std::string& dataset, std::string_view job) const;

  Status CancelRunning(Job& job) ABSL_EXCLUSIVE_LOCKS_REQUIRED(change_mutex_);

  Status CheckAccepting() const;
  Status CheckQuota(const std::string& owner, uint64_t most) const;
  // Empty if the dataset's record is lost.
  std::string OwnerOf(const std::string& dataset) const;
  // Returns the job that the request made, null if it made none. AlreadyExists if another request
  // with its id made one.
  StatusOr<std::shared_ptr<Job>> MadeBy(const JobRequest& request, const std::string& hash) const;
  Status CheckMaySubmit(const JobRequest& request) const;
  StatusOr<std::shared_ptr<Job>> MakeJob(const JobRequest& request, const std::string& hash,
                                         DatasetUse use, JobPlan plan) const;
  // A failed submission may turn up in the store once the store works again: the job is then
  // charged and runs.
  Status ResolveUnresolvedSubmission() ABSL_EXCLUSIVE_LOCKS_REQUIRED(change_mutex_);

  storage::Store& store_;
  ledger::Ledger& ledger_;
  Datasets& datasets_;
  models::Models& models_;
  const std::vector<const trainers::Trainer*> trainers_;
  const std::function<int64_t()> clock_;
  const JobOptions options_;

  // Held through every change of a job's state and its write, but not while a job is planned; taken
  // before the others.
  Mutex change_mutex_;
  // The job whose submission failed and may have reached the disk.
  std::shared_ptr<Job> unresolved_submission_ ABSL_GUARDED_BY(change_mutex_);
  JobBook book_;
  JobFinalizer finalizer_ ABSL_GUARDED_BY(change_mutex_);
  JobRunner runner_;
};

}  // namespace coppice::central

#endif  // COPPICE_SERVER_DATASETS_JOBS_H_
