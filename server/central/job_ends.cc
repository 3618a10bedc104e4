#include "server/central/job_ends.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/wire/convert.h"
#include "server/central/central_keys.h"
#include "server/central/job_record.h"

namespace coppice {
namespace {

constexpr int64_t kDay = 86400;  // in seconds

}  // namespace

absl::Status JobEnds::GiveBack(Job& job, absl::string_view reason) {
  JobFacts facts = book_.FactsOf(job);
  facts.info = Ended(job, JobState::kCancelled, std::string(reason));
  StoreBatch batch;
  batch.Put(JobKey(job.id), EncodeJob(facts));
  job.returning = true;
  COPPICE_RETURN_IF_ERROR(
      AlsoIfDoneBefore(job, JobState::kCancelled,
                       ledger_.Return(facts.info.spec.dataset, job.id, std::move(batch))));
  Show(job, std::move(facts.info));
  return absl::OkStatus();
}

absl::Status JobEnds::Publish(Job& job, const std::shared_ptr<const Model>& model) {
  JobInfo ended = Ended(job, JobState::kDone, "");
  ModelInfo made{.id = ended.model,
                 .source = MakeName(kJobs, job.id),
                 .created_unix_seconds = ended.ended_unix_seconds / kDay * kDay,
                 .model = model};
  StoreBatch batch;
  Models::Put(made, batch);
  COPPICE_RETURN_IF_ERROR(Settle(job, ended, model->certificate().releases, std::move(batch)));
  models_.Publish(std::move(made));  // before the job is seen as done
  Show(job, std::move(ended));
  return absl::OkStatus();
}

absl::Status JobEnds::Close(Job& job, const absl::Status& why) {
  JobInfo ended = Unreleased(job, why);
  COPPICE_RETURN_IF_ERROR(Settle(job, ended, /*made=*/{}, StoreBatch()));
  Show(job, std::move(ended));
  return absl::OkStatus();
}

void JobEnds::ShowUnsettled(Job& job, const absl::Status& why) { Show(job, Unreleased(job, why)); }

JobInfo JobEnds::Ended(const Job& job, JobState state, std::string reason) const {
  JobInfo info = book_.InfoOf(job);
  info.state = state;
  info.ended_unix_seconds = clock_();
  info.progress = info.seconds_left = 0;
  info.reason = std::move(reason);
  return info;
}

JobInfo JobEnds::Unreleased(const Job& job, const absl::Status& why) const {
  const bool cancelled = job.cancel_asked && absl::IsCancelled(why);
  return Ended(job, cancelled ? JobState::kCancelled : JobState::kFailed,
               absl::StrCat(why.message(), "; its cost stays spent"));
}

absl::Status JobEnds::Settle(const Job& job, const JobInfo& ended, absl::Span<const Release> made,
                             StoreBatch batch) const {
  JobFacts facts = book_.FactsOf(job);
  facts.info = ended;
  batch.Put(JobKey(job.id), EncodeJob(facts));
  return AlsoIfDoneBefore(job, ended.state,
                          ledger_.Settle(ended.spec.dataset, job.id, made, std::move(batch)));
}

// An earlier try that failed may have reached the disk after all, with all of its batch.
absl::Status JobEnds::AlsoIfDoneBefore(const Job& job, JobState state,
                                       const absl::Status& status) const {
  if (!absl::IsFailedPrecondition(status)) return status;
  const std::string key = JobKey(job.id);
  COPPICE_ASSIGN_OR_RETURN(const std::optional<std::string> bytes, store_.Get(key));
  if (!bytes.has_value()) return status;
  COPPICE_ASSIGN_OR_RETURN(const JobFacts stored, DecodeJob(key, *bytes));
  return stored.info.state == state ? absl::OkStatus() : status;
}

void JobEnds::Show(Job& job, JobInfo ended) {
  job.use = DatasetUse();
  job.claim = ModelClaim();
  book_.Show(job, std::move(ended));
}

}  // namespace coppice
