#include "server/datasets/jobs.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include "absl/time/clock.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "server/datasets/central_keys.h"
#include "server/datasets/job_plan.h"
#include "server/datasets/job_record.h"
#include "server/datasets/job_runner.h"
#include "server/datasets/write_outcome.h"
#include "server/store/models/ids.h"

namespace coppice::central {

StatusOr<std::unique_ptr<Jobs>> Jobs::Open(storage::Store& store, ledger::Ledger& ledger,
                                           Datasets& datasets, models::Models& models,
                                           absl::Span<const trainers::Trainer* const> trainers,
                                           std::function<int64_t()> clock,
                                           const JobOptions& options) {
  std::unique_ptr<Jobs> jobs(
      new Jobs(store, ledger, datasets, models, trainers, std::move(clock), options));
  COPPICE_RETURN_IF_ERROR(jobs->LoadAll());
  jobs->runner_.Start();
  return jobs;
}

Jobs::Jobs(storage::Store& store, ledger::Ledger& ledger, Datasets& datasets,
           models::Models& models, absl::Span<const trainers::Trainer* const> trainers,
           std::function<int64_t()> clock, const JobOptions& options)
    : store_(store),
      ledger_(ledger),
      datasets_(datasets),
      models_(models),
      trainers_(trainers.begin(), trainers.end()),
      clock_(std::move(clock)),
      options_(options),
      finalizer_(store, ledger, models, clock_, book_),
      runner_(store, datasets, trainers_, clock_, options_, book_, finalizer_, change_mutex_) {}

Jobs::~Jobs() { Drain(absl::Now()); }

void Jobs::Drain(absl::Time deadline) {
  runner_.Drain(deadline);
  book_.StopWatchers();
}

Status Jobs::LoadAll() {
  const MutexLock change(change_mutex_);
  std::vector<JobEntry> running, queued;
  COPPICE_RETURN_IF_ERROR(
      store_.Scan(kJobPrefix, [&](std::string_view key, std::string_view bytes) {
        COPPICE_ASSIGN_OR_RETURN(JobEntry entry, DecodeJob(key, bytes));
        if (entry.info.state == JobState::kRunning) {
          running.push_back(std::move(entry));
        } else if (entry.info.state == JobState::kQueued) {
          queued.push_back(std::move(entry));
        } else {
          std::string owner = OwnerOf(entry.info.spec.dataset);
          book_.Add(std::make_shared<Job>(std::move(entry), std::move(owner)));
        }
        return OkStatus();
      }));
  SortAsQueued(running);
  for (JobEntry& entry : running) COPPICE_RETURN_IF_ERROR(TakeUp(std::move(entry)));
  SortAsQueued(queued);
  for (JobEntry& entry : queued) {
    // Queued when the backup was taken; it may have run since and its model been released.
    COPPICE_RETURN_IF_ERROR(
        IsOnHold(entry.info.spec.dataset)
            ? EndInterrupted(std::move(entry),
                             UnavailableError("the store was restored or repaired, and the job may "
                                              "have run before"))
            : QueueAgain(std::move(entry)));
  }
  return OkStatus();
}

void Jobs::SortAsQueued(std::vector<JobEntry>& queued) const {
  // Creation is known to the second. Within one, the ledger's entries tell the order.
  std::map<std::string, std::map<std::string, uint64_t>> charges;  // by dataset and job
  for (const JobEntry& entry : queued) {
    const std::string& dataset = entry.info.spec.dataset;
    const auto [of_dataset, is_new] = charges.try_emplace(dataset);
    if (!is_new) continue;
    const StatusOr<ledger::Account> account = ledger_.Get(dataset);
    if (!account.ok()) continue;  // a damaged store: QueueAgain() ends its jobs
    for (const ledger::LedgerEntry& charge : account->entries) {
      if (charge.kind == ledger::EntryKind::kReserve) {
        of_dataset->second.emplace(charge.job, charge.sequence);
      }
    }
  }
  const auto place = [&charges](const JobEntry& entry) {
    const JobInfo& info = entry.info;
    return std::make_tuple(info.created_unix_seconds, std::string_view(info.spec.dataset),
                           charges[info.spec.dataset][info.id]);
  };
  std::stable_sort(queued.begin(), queued.end(),
                   [&place](const JobEntry& a, const JobEntry& b) { return place(a) < place(b); });
}

std::vector<const trainers::AlgorithmInfo*> Jobs::Algorithms() const {
  std::vector<const trainers::AlgorithmInfo*> infos;
  for (const trainers::Trainer* trainer : trainers_) {
    if (trainer->info().is_private) infos.push_back(&trainer->info());
  }
  return infos;
}

StatusOr<const trainers::Trainer*> Jobs::FindAlgorithm(std::string_view field,
                                                       std::string_view name) const {
  return FindOffered(field, name, trainers_);
}

StatusOr<JobPreview> Jobs::Preview(const JobSpec& spec) const {
  COPPICE_ASSIGN_OR_RETURN(const DatasetInfo dataset, datasets_.Get(spec.dataset));
  if (dataset.schema == nullptr) return datasets_.Use(spec.dataset).status();
  COPPICE_ASSIGN_OR_RETURN(PublicRowsTable public_rows,
                           PublicRowsFor(spec, dataset.schema, datasets_));
  COPPICE_ASSIGN_OR_RETURN(JobPlan plan, PlanJob(spec, *dataset.schema, dataset.account.cap,
                                                 trainers_, std::move(public_rows)));
  COPPICE_RETURN_IF_ERROR(CheckModelBytes(spec, *dataset.schema, plan, options_.max_model_bytes));
  COPPICE_RETURN_IF_ERROR(
      CheckMemory(spec, plan, dataset.rows - dataset.reserve_rows, options_.training_memory));
  COPPICE_ASSIGN_OR_RETURN(const ledger::Quote quote, ledger_.Preview(spec.dataset, plan.releases));
  // An unusable dataset is reported before a budget that does not suffice, as in Submit().
  const Status usable = datasets_.Use(spec.dataset).status();
  return JobPreview{.cost = quote.cost,
                    .releases = std::move(plan.releases),
                    .fits = usable.ok() ? quote.fits : usable,
                    .warnings = std::move(plan.warnings),
                    .model_bytes = plan.model_bytes};
}

StatusOr<JobInfo> Jobs::Submit(const JobRequest& request) {
  COPPICE_RETURN_IF_ERROR(models::CheckRequestId(request.request_id));
  COPPICE_RETURN_IF_ERROR(models::CheckNewId("job_id", request.id));
  COPPICE_RETURN_IF_ERROR(models::CheckNewId("model_id", request.model));
  const std::string hash = HashRequest(request);
  // Asked before the job is looked for: where a repeated call meets the first, the job that fills
  // the quota is the one that is found.
  const Status may_submit = CheckMaySubmit(request);
  COPPICE_ASSIGN_OR_RETURN(const std::shared_ptr<Job> submitted, MadeBy(request, hash));
  if (submitted != nullptr) return book_.InfoOf(*submitted);
  COPPICE_RETURN_IF_ERROR(may_submit);
  // Other owners' jobs do not wait for the plan, which may be long.
  COPPICE_ASSIGN_OR_RETURN(DatasetUse use, datasets_.Use(request.spec.dataset));
  COPPICE_ASSIGN_OR_RETURN(PublicRowsTable public_rows,
                           PublicRowsFor(request.spec, use.schema, datasets_));
  COPPICE_ASSIGN_OR_RETURN(
      JobPlan plan, PlanJob(request.spec, *use.schema, use.cap, trainers_, std::move(public_rows)));
  COPPICE_RETURN_IF_ERROR(
      CheckModelBytes(request.spec, *use.schema, plan, options_.max_model_bytes));
  COPPICE_ASSIGN_OR_RETURN(const DatasetInfo dataset, datasets_.Get(request.spec.dataset));
  COPPICE_RETURN_IF_ERROR(CheckMemory(request.spec, plan, dataset.rows - dataset.reserve_rows,
                                      options_.training_memory));
  const MutexLock change(change_mutex_);
  COPPICE_RETURN_IF_ERROR(ResolveUnresolvedSubmission());
  // A repeated call may have submitted it during the plan.
  COPPICE_ASSIGN_OR_RETURN(const std::shared_ptr<Job> meanwhile, MadeBy(request, hash));
  if (meanwhile != nullptr) return book_.InfoOf(*meanwhile);
  COPPICE_RETURN_IF_ERROR(CheckMaySubmit(request));
  COPPICE_ASSIGN_OR_RETURN(std::shared_ptr<Job> job,
                           MakeJob(request, hash, std::move(use), std::move(plan)));
  // The record travels with the charge: a crash leaves both or neither.
  storage::StoreBatch batch;
  batch.Put(JobKey(job->id), EncodeJob(job->entry));
  const Status charged =
      ledger_.Reserve(request.spec.dataset, job->id, job->entry.planned, std::move(batch));
  if (charged.ok()) {
    runner_.Enqueue(job);
    return book_.InfoOf(*job);
  }
  if (WriteOutcomeUnknown(charged)) unresolved_submission_ = std::move(job);
  return charged;
}

bool Jobs::WasSubmitted(const JobRequest& request) const {
  return book_.HasRequest(OwnerOf(request.spec.dataset), request.request_id);
}

StatusOr<JobInfo> Jobs::Get(std::string_view id) const {
  COPPICE_ASSIGN_OR_RETURN(const std::shared_ptr<Job> job, book_.Find(id));
  return book_.InfoOf(*job);
}

std::optional<std::string> Jobs::DatasetOf(std::string_view id) const {
  const StatusOr<std::shared_ptr<Job>> job = book_.Find(id);
  if (!job.ok()) return std::nullopt;
  return book_.InfoOf(**job).spec.dataset;
}

std::vector<JobInfo> Jobs::List(std::string_view dataset, const Page& page,
                                absl::FunctionRef<bool(const std::string&)> is_shown) const {
  return book_.List(dataset, page, is_shown);
}

StatusOr<JobInfo> Jobs::Cancel(std::string_view id) {
  // Who cancels an ended job again and again must not learn when other owners' jobs are written.
  StatusOr<JobInfo> ended = Get(id);
  if (ended.ok() && HasEnded(ended->state)) return ended;
  const MutexLock change(change_mutex_);
  COPPICE_RETURN_IF_ERROR(ResolveUnresolvedSubmission());
  COPPICE_ASSIGN_OR_RETURN(const std::shared_ptr<Job> job, book_.Find(id));
  const JobState state = book_.InfoOf(*job).state;
  if (state == JobState::kQueued) {
    COPPICE_RETURN_IF_ERROR(
        finalizer_.CancelAndRefund(*job, "cancelled before it began; its cost is refunded"));
  } else if (state == JobState::kRunning) {
    COPPICE_RETURN_IF_ERROR(CancelRunning(*job));
  }
  return book_.InfoOf(*job);
}

Status Jobs::CancelRunning(Job& job) {
  JobEntry entry = book_.EntryOf(job);
  // On disk before it is answered: after a crash the job would go on.
  if (entry.resume && !entry.resume->cancel_asked) {
    entry.resume->cancel_asked = true;
    storage::StoreBatch batch;
    batch.Put(JobKey(job.id), EncodeJob(entry));
    COPPICE_RETURN_IF_ERROR(store_.Apply(batch));
    book_.SetResume(job, *entry.resume);
  }
  job.cancel_asked = true;
  if (!job.waits_to_resume) return OkStatus();
  return finalizer_.FinishWithoutModel(job, CancelledError("cancelled while it ran"));
}

Status Jobs::Watch(std::string_view id, std::weak_ptr<JobWatcher> watcher) {
  return book_.Watch(id, std::move(watcher));
}

StatusOr<std::shared_ptr<Job>> Jobs::MadeBy(const JobRequest& request,
                                            const std::string& hash) const {
  return book_.FindByRequest(OwnerOf(request.spec.dataset), request.request_id, hash);
}

Status Jobs::CheckMaySubmit(const JobRequest& request) const {
  COPPICE_RETURN_IF_ERROR(CheckAccepting());
  return CheckQuota(OwnerOf(request.spec.dataset), request.most_at_once);
}

Status Jobs::CheckQuota(const std::string& owner, uint64_t most) const {
  if (most == 0) return OkStatus();
  const uint64_t open = book_.CountOpen(owner);
  if (open < most) return OkStatus();
  return ResourceExhaustedError(StrCat(owner, " may have ", most, most == 1 ? " job" : " jobs",
                                       " under way, and has: wait for one, or cancel it"));
}

std::string Jobs::OwnerOf(const std::string& dataset) const {
  return datasets_.OwnerOf(dataset).value_or("");
}

Status Jobs::CheckAccepting() const {
  if (options_.threads == 0) {
    return FailedPreconditionError(
        "training is off: start the daemon with --training-jobs 1 or more");
  }
  if (!runner_.stopping()) return OkStatus();
  return UnavailableError("the daemon is stopping; try again later");
}

StatusOr<std::shared_ptr<Job>> Jobs::MakeJob(const JobRequest& request, const std::string& hash,
                                             DatasetUse use, JobPlan plan) const {
  const JobSpec& spec = request.spec;
  COPPICE_ASSIGN_OR_RETURN(
      models::ModelClaim room,
      models_.Reserve(OwnerOf(spec.dataset), {.models = 1, .bytes = plan.model_bytes},
                      {.models = request.most_models, .bytes = request.most_model_bytes}));
  COPPICE_ASSIGN_OR_RETURN(const std::string id, models::IdOrRandom(request.id, request.may_draw));
  if (book_.Find(id).ok()) {
    return AlreadyExistsError(StrCat("job_id: there is a job ", id, " already"));
  }
  const std::string& model = request.model.empty() ? id : request.model;
  COPPICE_ASSIGN_OR_RETURN(models::ModelClaim claim, models_.Claim(model));
  auto job = std::make_shared<Job>(
      JobEntry{.info = {.id = id,
                        .spec = spec,
                        .created_unix_seconds = clock_(),
                        .model = model,
                        .cost = plan.cost,
                        .warnings = std::move(plan.warnings),
                        .model_bytes = plan.model_bytes,
                        .submitter = request.submitter,
                        .public_rows = PublicRowsIdOf(plan.options.public_rows.get())},
               .planned = std::move(plan.releases),
               .request_id = request.request_id,
               .request_hash = hash},
      OwnerOf(spec.dataset));
  job->use = std::move(use);
  job->claim = std::move(claim);
  job->room = std::move(room);
  return job;
}

Status Jobs::ResolveUnresolvedSubmission() {
  if (unresolved_submission_ == nullptr) return OkStatus();
  COPPICE_ASSIGN_OR_RETURN(const std::optional<std::string> bytes,
                           store_.Get(JobKey(unresolved_submission_->id)));
  if (bytes.has_value()) {
    // The charge was stored with the job, so this makes none; it makes the ledger find it.
    const JobEntry& entry = unresolved_submission_->entry;
    const Status charged =
        ledger_.Reserve(entry.info.spec.dataset, unresolved_submission_->id, entry.planned, {});
    if (!IsAlreadyExists(charged)) return charged;
    runner_.Enqueue(std::move(unresolved_submission_));
  }
  unresolved_submission_ = nullptr;
  return OkStatus();
}

bool Jobs::IsOnHold(const std::string& dataset) const {
  const StatusOr<ledger::Account> account = ledger_.Get(dataset, ledger::kNoEntries);
  return account.ok() && account->hold.reason != ledger::HoldReason::kNone;
}

bool Jobs::IsCharged(const std::string& dataset, std::string_view job) const {
  const StatusOr<ledger::Account> account = ledger_.Get(dataset);
  if (!account.ok()) return false;
  bool charged = false;
  for (const ledger::LedgerEntry& entry : account->entries) {
    if (entry.job == job) charged = entry.kind == ledger::EntryKind::kReserve;
  }
  return charged;
}

Status Jobs::CheckMayResume(const JobEntry& entry) const {
  const JobInfo& info = entry.info;
  if (!entry.resume) return UnavailableError("interrupted by a restart");
  if (entry.resume->cancel_asked) return CancelledError("cancelled while it ran");
  if (IsOnHold(info.spec.dataset)) {
    return UnavailableError(
        "the store was restored or repaired, and the job may have gone on before");
  }
  if (!IsCharged(info.spec.dataset, info.id)) {
    return UnavailableError("the ledger has no open charge of it");
  }
  return OkStatus();
}

Status Jobs::TakeUp(JobEntry entry) {
  // It may have drawn noise, so it is never refunded.
  const Status may_resume = CheckMayResume(entry);
  if (!may_resume.ok()) return EndInterrupted(std::move(entry), may_resume);
  StatusOr<DatasetUse> use = datasets_.Use(entry.info.spec.dataset);
  if (!use.ok()) return EndInterrupted(std::move(entry), use.status());
  StatusOr<models::ModelClaim> claim = models_.Claim(entry.info.model);
  if (!claim.ok()) return EndInterrupted(std::move(entry), claim.status());
  std::string owner = OwnerOf(entry.info.spec.dataset);
  const auto job = std::make_shared<Job>(std::move(entry), std::move(owner));
  job->use = *std::move(use);
  job->claim = *std::move(claim);
  job->room = models_.KeepRoom(job->owner, {.models = 1, .bytes = job->entry.info.model_bytes});
  job->waits_to_resume = true;
  runner_.Enqueue(job);
  return OkStatus();
}

Status Jobs::EndInterrupted(JobEntry entry, const Status& why) {
  std::string owner = OwnerOf(entry.info.spec.dataset);
  const auto job = std::make_shared<Job>(std::move(entry), std::move(owner));
  job->cancel_asked = IsCancelled(why);
  COPPICE_RETURN_IF_ERROR(finalizer_.FinishWithoutModel(*job, why));
  book_.Add(job);
  return OkStatus();
}

Status Jobs::QueueAgain(JobEntry entry) {
  std::string owner = OwnerOf(entry.info.spec.dataset);
  const auto job = std::make_shared<Job>(std::move(entry), std::move(owner));
  StatusOr<DatasetUse> use = datasets_.Use(job->entry.info.spec.dataset);
  StatusOr<models::ModelClaim> claim = models_.Claim(job->entry.info.model);
  if (!use.ok() || !claim.ok()) {  // nothing was drawn: it is refunded
    book_.Add(job);
    return finalizer_.CancelAndRefund(*job, (use.ok() ? claim.status() : use.status()).message());
  }
  job->use = *std::move(use);
  job->claim = *std::move(claim);
  job->room = models_.KeepRoom(job->owner, {.models = 1, .bytes = job->entry.info.model_bytes});
  runner_.Enqueue(job);
  return OkStatus();
}

}  // namespace coppice::central
