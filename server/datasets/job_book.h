// Keeps every job in memory, and its watchers.

#ifndef COPPICE_SERVER_DATASETS_JOB_BOOK_H_
#define COPPICE_SERVER_DATASETS_JOB_BOOK_H_

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/time/time.h"
#include "common/base/mutex.h"
#include "common/base/page.h"
#include "common/base/status.h"
#include "common/base/text.h"
#include "server/datasets/dataset.h"
#include "server/datasets/job.h"
#include "server/store/models/models.h"

namespace coppice::central {

struct Job {
  Job(JobEntry made, std::string of)
      : id(made.info.id), owner(std::move(of)), entry(std::move(made)) {}

  const std::string id;
  const std::string owner;  // the dataset's
  std::atomic<bool> cancel_asked{false};

  // Jobs and its parts use these five under their change mutex. A job releases the first three when
  // it ends.
  DatasetUse use;
  models::ModelClaim claim;  // of its model's id
  models::ModelClaim room;   // in the owner's quota of models
  // The refund failed and may have reached the disk: the job must not begin any more.
  bool returning = false;
  // It was cut short, and no thread has gone on with it yet.
  bool waits_to_resume = false;

  // The book guards the rest with its own mutex.
  JobEntry entry;
  absl::Time last_progress = absl::InfinitePast();  // when watchers last heard of it
  std::vector<std::weak_ptr<JobWatcher>> watchers;
};

// Finds jobs by id and by request, and tells watchers about each change.
//
// Guarantee  watchers hear of a job's changes in the order in which they were made.
// Threads    safe to share. Watchers are called under the book's mutex.
class JobBook {
 public:
  static Status NoJob(std::string_view id);

  void Add(std::shared_ptr<Job> job);

  StatusOr<std::shared_ptr<Job>> Find(std::string_view id) const;
  // Returns the job that request `request_id` of this owner made, null if it made none.
  // AlreadyExists if it was made from a request with another hash.
  StatusOr<std::shared_ptr<Job>> FindByRequest(const std::string& owner,
                                               const std::string& request_id,
                                               std::string_view request_hash) const;
  bool HasRequest(const std::string& owner, const std::string& request_id) const;
  // Lists the jobs on `dataset`, or on all datasets if it is empty, whose owner `is_shown` accepts;
  // it must not call the book.
  std::vector<JobInfo> List(std::string_view dataset, const Page& page,
                            absl::FunctionRef<bool(const std::string& owner)> is_shown) const;
  // Counts the jobs of an owner that have not ended.
  uint64_t CountOpen(const std::string& owner) const;
  JobEntry EntryOf(const Job& job) const;
  JobInfo InfoOf(const Job& job) const { return EntryOf(job).info; }

  // Replaces what is known about the job, and tells its watchers.
  void Update(Job& job, JobInfo info);
  // Notes where a running job goes on; watchers are not told.
  void SetResume(Job& job, ResumePoint resume);
  // Tells watchers at most once per `between`.
  void UpdateProgress(Job& job, double done, double seconds_left, absl::Duration between);

  Status Watch(std::string_view id, std::weak_ptr<JobWatcher> watcher);
  // Stops every watcher, current and future.
  void StopWatchers();

 private:
  void NotifyWatchers(Job& job) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable Mutex mutex_;
  StringMap<std::shared_ptr<Job>> jobs_ ABSL_GUARDED_BY(mutex_);
  // By owner and request id.
  absl::flat_hash_map<std::pair<std::string, std::string>, std::shared_ptr<Job>> jobs_by_request_
      ABSL_GUARDED_BY(mutex_);
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace coppice::central

#endif  // COPPICE_SERVER_DATASETS_JOB_BOOK_H_
