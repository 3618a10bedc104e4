// Ends jobs: writes the end, tells the ledger, and shows the result.

#ifndef COPPICE_SERVER_DATASETS_JOB_FINALIZER_H_
#define COPPICE_SERVER_DATASETS_JOB_FINALIZER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/types/span.h"
#include "common/base/status.h"
#include "common/model/model.h"
#include "server/datasets/job_book.h"
#include "server/datasets/ledger/ledger.h"
#include "server/store/models/models.h"
#include "server/store/store.h"

namespace coppice::central {

// Ends jobs, with their charges and their models.
//
// Guarantee  a job's end, its final charge and its model are one write: a crash leaves all of them
//            or none. A job without a model is refunded only if it had not begun, because then
//            nothing was drawn.
// Errors     those of the store and the ledger. Nothing is shown then, and the same call may be
//            retried, even if the write did reach the disk.
// Threads    one call at a time: Jobs holds its change mutex.
class JobFinalizer {
 public:
  JobFinalizer(storage::Store& store, ledger::Ledger& ledger, models::Models& models,
               const std::function<int64_t()>& clock, JobBook& book)
      : store_(store), ledger_(ledger), models_(models), clock_(clock), book_(book) {}

  // Ends a job that has not begun. Even after an error the job must not begin any more.
  Status CancelAndRefund(Job& job, std::string_view reason);
  // Ends a job that made `model`.
  Status Publish(Job& job, const std::shared_ptr<const Model>& model);
  // Ends a job that began and made no model; `why` is the reason. Its cost stays spent.
  Status FinishWithoutModel(Job& job, const Status& why);
  // The ledger rejected the settlement, so it lacks the job's charge. Marks the job failed and
  // writes nothing: on disk it is what it was, and the next start comes to the same end.
  void ShowUnsettled(Job& job, const Status& why);

 private:
  JobInfo EndedInfo(const Job& job, JobState state, std::string reason) const;
  JobInfo InfoWithoutModel(const Job& job, const Status& why) const;
  // Writes the end of a job that has begun, with the releases that it made and the rest of `batch`.
  Status Settle(const Job& job, const JobInfo& ended, absl::Span<const Release> made,
                storage::StoreBatch batch);
  // Returns OK instead of `status` if an earlier, failed attempt reached the disk after all, with
  // its whole batch.
  Status OkIfAlreadyWritten(const Job& job, JobState state, const Status& status) const;
  void Show(Job& job, JobInfo ended);

  storage::Store& store_;
  ledger::Ledger& ledger_;
  models::Models& models_;
  const std::function<int64_t()>& clock_;
  JobBook& book_;
};

}  // namespace coppice::central

#endif  // COPPICE_SERVER_DATASETS_JOB_FINALIZER_H_
