// Training jobs: a dataset, an algorithm and a share of the budget in, a private model out.
//
// States     queued (charged, nothing drawn) -> running -> done, failed or cancelled. A queued job
//            that is cancelled, or that cannot be begun, ends as cancelled, and its cost is given
//            back. Once it runs its cost stays spent, whatever becomes of it.
// Guarantee  a job's charge, its record and its model become durable together: the ledger never
//            shows less than what was released, and no model is visible, or stored, without the
//            releases that made it. A job runs at most once: that it runs is on disk before any
//            noise is drawn, and one that was running when the daemon stopped has failed. A
//            released model's certificate lists just what was planned, or it is not released.
// Ledger     a job that failed or was cancelled while it ran is settled with no release: nothing
//            of it left the daemon. It is charged all the same.
// Store      while the store does not work a job that has ended waits for it, in memory, with its
//            result. It is neither trained again nor shown before it is on disk.
// Restart    queued jobs run, in the order they were made; running ones have failed.
// Privacy    when a job began and ended, to the second, is for whoever may see the job. A model
//            says of its job's end the day alone.
// Load       so many jobs at a time as there are threads, each of low scheduling priority, so that
//            predictions stay fast.
// Errors     NotFound, AlreadyExists, FailedPrecondition, ResourceExhausted (the budget),
//            InvalidArgument as stated; what the Store returns otherwise.
// Threads    safe to share.

#ifndef COPPICE_SERVER_CENTRAL_JOBS_H_
#define COPPICE_SERVER_CENTRAL_JOBS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "common/base/page.h"
#include "server/central/datasets.h"
#include "server/central/job.h"
#include "server/ledger/ledger.h"
#include "server/models/models.h"
#include "server/storage/store.h"
#include "server/trainers/core/trainer.h"

namespace coppice::central {

struct JobOptions {
  size_t threads = 1;                                         // jobs at a time; 0: none is taken
  absl::Duration retry = absl::Seconds(1);                    // between writes that fail
  absl::Duration between_progress = absl::Milliseconds(250);  // told to watchers
};

class Jobs {
 public:
  // Loads what `store` holds, ends what was running, and begins what is queued. `trainers` are the
  // algorithms that there are; those without privacy are not offered. `clock` returns seconds since
  // 1970 and dates records, no more. All of these must outlive the jobs, and `models` have been
  // loaded.
  static absl::StatusOr<std::unique_ptr<Jobs>> Open(
      storage::Store& store, ledger::Ledger& ledger, Datasets& datasets, models::Models& models,
      absl::Span<const trainers::Trainer* const> trainers, std::function<int64_t()> clock,
      const JobOptions& options);
  virtual ~Jobs() = default;

  virtual std::vector<const trainers::AlgorithmInfo*> Algorithms() const = 0;

  // Spends nothing.
  virtual absl::StatusOr<JobPreview> Preview(const JobSpec& spec) const = 0;

  // Charges the job and queues it. Unavailable once Drain() was called.
  virtual absl::StatusOr<JobInfo> Submit(const JobRequest& request) = 0;

  // NotFound unless the caller may see the job's dataset.
  virtual absl::Status CheckVisible(absl::string_view id, const Caller& caller) const = 0;

  virtual absl::StatusOr<JobInfo> Get(absl::string_view id) const = 0;
  // Of one dataset, or of all if `dataset` is empty, as far as the caller may see.
  virtual std::vector<JobInfo> List(absl::string_view dataset, const Page& page,
                                    const Caller& caller) const = 0;

  // Ends a queued job; asks a running one to end soon. Not an error for one that has ended.
  virtual absl::StatusOr<JobInfo> Cancel(absl::string_view id) = 0;

  // Tells `watcher` of the job now, and at each change until it has ended or the watcher is gone.
  virtual absl::Status Watch(absl::string_view id, std::weak_ptr<JobWatcher> watcher) = 0;

  // Begins no more jobs, gives those that run until `deadline`, then leaves them, and stops the
  // watchers. What is left has failed at the next start. Idempotent.
  virtual void Drain(absl::Time deadline) = 0;
};

}  // namespace coppice::central

#endif  // COPPICE_SERVER_CENTRAL_JOBS_H_
