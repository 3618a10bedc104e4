#include "server/datasets/job_finalizer.h"

#include <optional>
#include <string_view>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/wire/proto/convert.h"
#include "server/datasets/central_keys.h"
#include "server/datasets/checkpoints.h"
#include "server/datasets/job_record.h"

namespace coppice::central {
namespace {

constexpr int64_t kDay = 86400;  // in seconds

}  // namespace

Status JobFinalizer::CancelAndRefund(Job& job, std::string_view reason) {
  JobEntry entry = book_.EntryOf(job);
  entry.info = EndedInfo(job, JobState::kCancelled, std::string(reason));
  storage::StoreBatch batch;
  batch.Put(JobKey(job.id), EncodeJob(entry));
  DeleteCheckpoints(entry.info.spec.dataset, job.id, batch);  // of a begin that failed
  job.returning = true;
  COPPICE_RETURN_IF_ERROR(
      OkIfAlreadyWritten(job, JobState::kCancelled,
                         ledger_.Return(entry.info.spec.dataset, job.id, std::move(batch))));
  Show(job, std::move(entry.info));
  return OkStatus();
}

Status JobFinalizer::Publish(Job& job, const std::shared_ptr<const Model>& model) {
  JobInfo ended = EndedInfo(job, JobState::kDone, "");
  models::ModelInfo made{.id = ended.model,
                         .source = MakeName(kJobs, job.id),
                         .created_unix_seconds = ended.ended_unix_seconds / kDay * kDay,
                         .model = model};
  COPPICE_RETURN_IF_ERROR(models_.Sign(made));
  storage::StoreBatch batch;
  models::ModelSummary summary = models::Models::Put(made, batch);
  COPPICE_RETURN_IF_ERROR(Settle(job, ended, model->certificate().releases, std::move(batch)));
  models_.Publish(std::move(summary), made);  // before the job is seen as done
  Show(job, std::move(ended));
  return OkStatus();
}

Status JobFinalizer::FinishWithoutModel(Job& job, const Status& why) {
  JobInfo ended = InfoWithoutModel(job, why);
  COPPICE_RETURN_IF_ERROR(Settle(job, ended, /*made=*/{}, storage::StoreBatch()));
  Show(job, std::move(ended));
  return OkStatus();
}

void JobFinalizer::ShowUnsettled(Job& job, const Status& why) {
  Show(job, InfoWithoutModel(job, why));
}

JobInfo JobFinalizer::EndedInfo(const Job& job, JobState state, std::string reason) const {
  JobInfo info = book_.InfoOf(job);
  info.state = state;
  info.ended_unix_seconds = clock_();
  info.progress = info.seconds_left = 0;
  info.reason = std::move(reason);
  info.spec.public_rows = nullptr;
  return info;
}

JobInfo JobFinalizer::InfoWithoutModel(const Job& job, const Status& why) const {
  const bool cancelled = job.cancel_asked && IsCancelled(why);
  return EndedInfo(job, cancelled ? JobState::kCancelled : JobState::kFailed,
                   StrCat(why.message(), "; its cost stays spent"));
}

Status JobFinalizer::Settle(const Job& job, const JobInfo& ended, absl::Span<const Release> made,
                            storage::StoreBatch batch) {
  JobEntry entry = book_.EntryOf(job);
  entry.info = ended;
  batch.Put(JobKey(job.id), EncodeJob(entry));
  if (entry.resume) DeleteCheckpoints(ended.spec.dataset, job.id, batch);
  return OkIfAlreadyWritten(job, ended.state,
                            ledger_.Settle(ended.spec.dataset, job.id, made, std::move(batch)));
}

Status JobFinalizer::OkIfAlreadyWritten(const Job& job, JobState state,
                                        const Status& status) const {
  if (!IsFailedPrecondition(status)) return status;
  const std::string key = JobKey(job.id);
  COPPICE_ASSIGN_OR_RETURN(const std::optional<std::string> bytes, store_.Get(key));
  if (!bytes.has_value()) return status;
  COPPICE_ASSIGN_OR_RETURN(const JobEntry stored, DecodeJob(key, *bytes));
  return stored.info.state == state ? OkStatus() : status;
}

void JobFinalizer::Show(Job& job, JobInfo ended) {
  job.use = DatasetUse();
  job.claim = models::ModelClaim();
  job.room = models::ModelClaim();
  book_.Update(job, std::move(ended));
}

}  // namespace coppice::central
