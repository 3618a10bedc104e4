// How jobs end: what is written, what the ledger is told, and what is shown.
//
// Guarantee  a job's end, what it cost for good and its model are one write: a crash leaves all of
//            them or none. One that made no model gives its cost back only if it had not begun,
//            since then nothing was drawn.
// Errors     of the store or the ledger: nothing is shown, and the same call may be tried again,
//            also when the write did reach the disk.
// Threads    for one at a time: Jobs calls it under the lock of its changes.

#ifndef COPPICE_SERVER_CENTRAL_JOB_FINALIZER_H_
#define COPPICE_SERVER_CENTRAL_JOB_FINALIZER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/tree/model.h"
#include "server/central/job_book.h"
#include "server/ledger/ledger.h"
#include "server/models/models.h"
#include "server/storage/store.h"

namespace coppice::central {

class JobFinalizer {
 public:
  JobFinalizer(storage::Store& store, ledger::Ledger& ledger, models::Models& models,
               const std::function<int64_t()>& clock, JobBook& book)
      : store_(store), ledger_(ledger), models_(models), clock_(clock), book_(book) {}

  // A job that has not begun. After an error it must not begin any more.
  absl::Status CancelAndRefund(Job& job, absl::string_view reason);
  // One that made `model`.
  absl::Status Publish(Job& job, const std::shared_ptr<const Model>& model);
  // One that has begun and made none, because of `why`; its cost stays spent.
  absl::Status FinishWithoutModel(Job& job, const absl::Status& why);
  // One whose end the ledger does not take, which cannot be. It is on disk as running, and so has
  // failed at the next start too.
  void ShowUnsettled(Job& job, const absl::Status& why);

 private:
  JobInfo EndedInfo(const Job& job, JobState state, std::string reason) const;
  JobInfo InfoWithoutModel(const Job& job, const absl::Status& why) const;
  // Writes the end of a job that has begun, with the releases that it made and what else is in
  // `batch`.
  absl::Status Settle(const Job& job, const JobInfo& ended, absl::Span<const Release> made,
                      storage::StoreBatch batch) const;
  absl::Status OkIfAlreadyWritten(const Job& job, JobState state, const absl::Status& status) const;
  void Show(Job& job, JobInfo ended);

  storage::Store& store_;
  ledger::Ledger& ledger_;
  models::Models& models_;
  const std::function<int64_t()>& clock_;
  JobBook& book_;
};

}  // namespace coppice::central

#endif  // COPPICE_SERVER_CENTRAL_JOB_FINALIZER_H_
