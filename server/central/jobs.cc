#include "server/central/jobs.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <deque>
#include <optional>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/mutex.h"
#include "common/base/status_macros.h"
#include "common/privacy/openssl_random.h"
#include "server/central/central_keys.h"
#include "server/central/job_book.h"
#include "server/central/job_finalizer.h"
#include "server/central/job_plan.h"
#include "server/central/job_record.h"
#include "server/central/write_outcome.h"
#include "server/models/ids.h"
#include "server/storage/store_record.h"

namespace coppice::central {
namespace {

// Of the thread that calls it, and of those it starts: training takes what others leave.
void LowerPriority() {
  constexpr int kNice = 15;
  setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), kNice);
}

class StoredJobs final : public Jobs {
 public:
  StoredJobs(storage::Store& store, ledger::Ledger& ledger, Datasets& datasets,
             models::Models& models, absl::Span<const trainers::Trainer* const> trainers,
             std::function<int64_t()> clock, const JobOptions& options)
      : store_(store),
        ledger_(ledger),
        datasets_(datasets),
        models_(models),
        trainers_(trainers.begin(), trainers.end()),
        clock_(std::move(clock)),
        options_(options),
        finalizer_(store, ledger, models, clock_, book_) {}

  ~StoredJobs() override {
    StoredJobs::Drain(absl::Now());
    for (std::thread& thread : threads_) thread.join();
  }

  absl::Status LoadAll() {
    const MutexLock change(change_mutex_);
    std::vector<JobEntry> running, queued;
    COPPICE_RETURN_IF_ERROR(
        store_.Scan(kJobPrefix, [&](absl::string_view key, absl::string_view bytes) {
          COPPICE_ASSIGN_OR_RETURN(JobEntry entry, DecodeJob(key, bytes));
          if (entry.info.state == JobState::kRunning) {
            running.push_back(std::move(entry));
          } else if (entry.info.state == JobState::kQueued) {
            queued.push_back(std::move(entry));
          } else {
            book_.Add(std::make_shared<Job>(std::move(entry)));
          }
          return absl::OkStatus();
        }));
    for (JobEntry& entry : running) {
      COPPICE_RETURN_IF_ERROR(EndInterrupted(std::move(entry), "interrupted by a restart"));
    }
    std::stable_sort(queued.begin(), queued.end(), [](const JobEntry& a, const JobEntry& b) {
      return a.info.created_unix_seconds < b.info.created_unix_seconds;
    });
    for (JobEntry& entry : queued) {
      // It was queued in the backup; it may have run since, and its model been seen.
      COPPICE_RETURN_IF_ERROR(IsOnHold(entry.info.spec.dataset)
                                  ? EndInterrupted(std::move(entry),
                                                   "the store was restored or mended, and the job "
                                                   "may have run before")
                                  : QueueAgain(std::move(entry)));
    }
    return absl::OkStatus();
  }

  void Begin() {
    for (size_t i = 0; i < options_.threads; ++i) threads_.emplace_back([this] { Work(); });
  }

  std::vector<const trainers::AlgorithmInfo*> Algorithms() const override {
    std::vector<const trainers::AlgorithmInfo*> infos;
    for (const trainers::Trainer* trainer : trainers_) {
      if (trainer->info().is_private) infos.push_back(&trainer->info());
    }
    return infos;
  }

  absl::StatusOr<JobPreview> Preview(const JobSpec& spec) const override {
    COPPICE_ASSIGN_OR_RETURN(const DatasetInfo dataset, datasets_.Get(spec.dataset));
    COPPICE_ASSIGN_OR_RETURN(
        JobPlan plan, PlanJob(spec, *dataset.schema, dataset.account.cap.neighbours, trainers_));
    COPPICE_ASSIGN_OR_RETURN(const ledger::Quote quote,
                             ledger_.Preview(spec.dataset, plan.releases));
    // What Submit() would say of the dataset comes before what it would say of the budget.
    const absl::Status usable = datasets_.Use(spec.dataset).status();
    return JobPreview{.cost = quote.cost,
                      .releases = std::move(plan.releases),
                      .fits = usable.ok() ? quote.fits : usable,
                      .warnings = std::move(plan.warnings)};
  }

  absl::StatusOr<JobInfo> Submit(const JobRequest& request) override {
    COPPICE_RETURN_IF_ERROR(models::CheckRequestId(request.request_id));
    COPPICE_RETURN_IF_ERROR(models::CheckNewId("job_id", request.id));
    COPPICE_RETURN_IF_ERROR(models::CheckNewId("model_id", request.model));
    const std::string hash = HashRequest(request);
    const MutexLock change(change_mutex_);
    COPPICE_RETURN_IF_ERROR(ResolveUnresolvedSubmission());
    COPPICE_ASSIGN_OR_RETURN(const std::shared_ptr<Job> made,
                             book_.FindByRequest(request.request_id, hash));
    if (made != nullptr) return book_.InfoOf(*made);
    COPPICE_RETURN_IF_ERROR(CheckAccepting());
    COPPICE_ASSIGN_OR_RETURN(std::shared_ptr<Job> job, MakeJob(request, hash));
    storage::StoreBatch batch;
    batch.Put(JobKey(job->id), EncodeJob(job->entry));
    const absl::Status charged =
        ledger_.Reserve(request.spec.dataset, job->id, job->entry.planned, std::move(batch));
    if (charged.ok()) {
      Enqueue(job);
      return book_.InfoOf(*job);
    }
    if (WriteOutcomeUnknown(charged)) unresolved_submission_ = std::move(job);
    return charged;
  }

  absl::StatusOr<JobInfo> Get(absl::string_view id) const override {
    COPPICE_ASSIGN_OR_RETURN(const std::shared_ptr<Job> job, book_.Find(id));
    return book_.InfoOf(*job);
  }

  absl::Status CheckVisible(absl::string_view id, const Caller& caller) const override {
    COPPICE_ASSIGN_OR_RETURN(const std::shared_ptr<Job> job, book_.Find(id));
    const bool is_visible = datasets_.CheckVisible(book_.InfoOf(*job).spec.dataset, caller).ok();
    return is_visible ? absl::OkStatus() : JobBook::NoJob(id);
  }

  std::vector<JobInfo> List(absl::string_view dataset, const Page& page,
                            const Caller& caller) const override {
    return book_.List(dataset, page, [this, &caller](absl::string_view of_job) {
      return datasets_.CheckVisible(of_job, caller).ok();
    });
  }

  absl::StatusOr<JobInfo> Cancel(absl::string_view id) override {
    const MutexLock change(change_mutex_);
    COPPICE_RETURN_IF_ERROR(ResolveUnresolvedSubmission());
    COPPICE_ASSIGN_OR_RETURN(const std::shared_ptr<Job> job, book_.Find(id));
    const JobState state = book_.InfoOf(*job).state;
    if (state == JobState::kQueued) {
      COPPICE_RETURN_IF_ERROR(
          finalizer_.CancelAndRefund(*job, "cancelled before it began; its cost is given back"));
    } else if (state == JobState::kRunning) {
      job->cancel_asked = true;
    }
    return book_.InfoOf(*job);
  }

  absl::Status Watch(absl::string_view id, std::weak_ptr<JobWatcher> watcher) override {
    return book_.Watch(id, std::move(watcher));
  }

  void Drain(absl::Time deadline) override {
    {
      const MutexLock lock(queue_mutex_);
      stopping_ = true;
      queue_changed_.NotifyAll();
      const auto until = After(deadline - absl::Now());
      while (active_ > 0 && queue_changed_.WaitUntil(queue_mutex_, until)) {
      }
      abandoned_ = true;
      queue_changed_.NotifyAll();
    }
    book_.StopWatchers();
  }

 private:
  // What a job works on once it has begun.
  struct TrainingInput {
    JobPlan plan;
    std::shared_ptr<const Schema> schema;
    std::shared_ptr<const Table> rows;
  };

  // ---- Queueing.

  absl::Status CheckAccepting() const {
    if (options_.threads == 0) {
      return absl::FailedPreconditionError(
          "this daemon trains nothing: start it with --training-jobs 1 or more");
    }
    if (!stopping_) return absl::OkStatus();
    return absl::UnavailableError("the daemon is stopping; try again later");
  }

  absl::StatusOr<std::shared_ptr<Job>> MakeJob(const JobRequest& request, const std::string& hash) {
    const JobSpec& spec = request.spec;
    COPPICE_ASSIGN_OR_RETURN(DatasetUse use, datasets_.Use(spec.dataset));
    COPPICE_ASSIGN_OR_RETURN(JobPlan plan, PlanJob(spec, *use.schema, use.neighbours, trainers_));
    COPPICE_ASSIGN_OR_RETURN(const std::string id, models::IdOrRandom(request.id));
    if (book_.Find(id).ok()) {
      return absl::AlreadyExistsError(absl::StrCat("job_id: there is a job ", id, " already"));
    }
    const std::string& model = request.model.empty() ? id : request.model;
    COPPICE_ASSIGN_OR_RETURN(models::ModelClaim claim, models_.Claim(model));
    auto job = std::make_shared<Job>(JobEntry{.info = {.id = id,
                                                       .spec = spec,
                                                       .created_unix_seconds = clock_(),
                                                       .model = model,
                                                       .cost = plan.cost,
                                                       .warnings = std::move(plan.warnings)},
                                              .planned = std::move(plan.releases),
                                              .request_id = request.request_id,
                                              .request_hash = hash});
    job->use = std::move(use);
    job->claim = std::move(claim);
    return job;
  }

  void Enqueue(std::shared_ptr<Job> job) {
    book_.Add(job);
    const MutexLock lock(queue_mutex_);
    queue_.push_back(std::move(job));
    queue_changed_.NotifyOne();
  }

  // A submission that failed may be found in the store once that works again: the job is then
  // charged, and runs.
  absl::Status ResolveUnresolvedSubmission() ABSL_EXCLUSIVE_LOCKS_REQUIRED(change_mutex_) {
    if (unresolved_submission_ == nullptr) return absl::OkStatus();
    COPPICE_ASSIGN_OR_RETURN(const std::optional<std::string> bytes,
                             store_.Get(JobKey(unresolved_submission_->id)));
    if (bytes.has_value()) {
      // Its charge came with it, so this makes none; it makes the ledger look.
      const JobEntry& entry = unresolved_submission_->entry;
      const absl::Status charged =
          ledger_.Reserve(entry.info.spec.dataset, unresolved_submission_->id, entry.planned, {});
      if (!absl::IsAlreadyExists(charged)) return charged;
      Enqueue(std::move(unresolved_submission_));
    }
    unresolved_submission_ = nullptr;
    return absl::OkStatus();
  }

  bool IsOnHold(const std::string& dataset) const {
    const absl::StatusOr<ledger::Account> account = ledger_.Get(dataset);
    return account.ok() && account->hold.reason != ledger::HoldReason::kNone;
  }

  absl::Status EndInterrupted(JobEntry entry, absl::string_view reason)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(change_mutex_) {
    const auto job = std::make_shared<Job>(std::move(entry));
    COPPICE_RETURN_IF_ERROR(finalizer_.FinishWithoutModel(*job, absl::UnavailableError(reason)));
    book_.Add(job);
    return absl::OkStatus();
  }

  absl::Status QueueAgain(JobEntry entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(change_mutex_) {
    const auto job = std::make_shared<Job>(std::move(entry));
    absl::StatusOr<DatasetUse> use = datasets_.Use(job->entry.info.spec.dataset);
    absl::StatusOr<models::ModelClaim> claim = models_.Claim(job->entry.info.model);
    if (!use.ok() || !claim.ok()) {
      book_.Add(job);
      return finalizer_.CancelAndRefund(*job, (use.ok() ? claim.status() : use.status()).message());
    }
    job->use = *std::move(use);
    job->claim = *std::move(claim);
    Enqueue(job);
    return absl::OkStatus();
  }

  // ---- Working. On threads_.

  void Work() {
    LowerPriority();
    while (const std::shared_ptr<Job> job = Next()) {
      Run(*job);
      const MutexLock lock(queue_mutex_);
      --active_;
      queue_changed_.NotifyAll();
    }
  }

  std::shared_ptr<Job> Next() {
    const MutexLock lock(queue_mutex_);
    while (!stopping_ && queue_.empty()) queue_changed_.Wait(queue_mutex_);
    if (stopping_) return nullptr;
    std::shared_ptr<Job> job = std::move(queue_.front());
    queue_.pop_front();
    ++active_;
    return job;
  }

  void Run(Job& job) {
    TrainingInput work;
    absl::Status begun = BeginJob(job, work);
    while (!begun.ok() && !absl::IsCancelled(begun)) {
      ShowWaiting(job, begun);
      if (!WaitUnless(stopping_)) return;
      begun = BeginJob(job, work);
    }
    if (!begun.ok()) return;
    absl::StatusOr<Model> model = Train(job, work);
    work.rows = nullptr;
    EndJob(job, std::move(model));
  }

  // From queued to running. Cancelled: the job has ended, nothing is to be done. Any other error:
  // it is still queued, and may be tried again.
  absl::Status BeginJob(Job& job, TrainingInput& work) {
    DatasetUse use;
    {
      const MutexLock change(change_mutex_);
      COPPICE_RETURN_IF_ERROR(CheckQueued(job));
      use = job.use;
    }
    const absl::Status ready = Prepare(job, use, work);
    const MutexLock change(change_mutex_);
    COPPICE_RETURN_IF_ERROR(CheckQueued(job));
    if (absl::IsUnavailable(ready)) return ready;
    if (!ready.ok()) {
      COPPICE_RETURN_IF_ERROR(
          finalizer_.CancelAndRefund(job, absl::StrCat(ready.message(),
                                                       "; nothing was drawn, and its cost is given "
                                                       "back")));
      return absl::CancelledError();
    }
    JobEntry entry = book_.EntryOf(job);
    entry.info.state = JobState::kRunning;
    entry.info.started_unix_seconds = clock_();
    entry.info.reason.clear();
    storage::StoreBatch batch;
    batch.Put(JobKey(job.id), EncodeJob(entry));
    COPPICE_RETURN_IF_ERROR(store_.Apply(batch));
    book_.Update(job, std::move(entry.info));
    return absl::OkStatus();
  }

  // Cancelled unless it is queued. Ends it if that was asked for and failed.
  absl::Status CheckQueued(Job& job) ABSL_EXCLUSIVE_LOCKS_REQUIRED(change_mutex_) {
    if (book_.InfoOf(job).state != JobState::kQueued) return absl::CancelledError();
    if (!job.returning) return absl::OkStatus();
    COPPICE_RETURN_IF_ERROR(
        finalizer_.CancelAndRefund(job, "cancelled before it began; its cost is given back"));
    return absl::CancelledError();
  }

  // Everything that can fail before noise is drawn.
  absl::Status Prepare(const Job& job, const DatasetUse& use, TrainingInput& work) const {
    const JobEntry entry = book_.EntryOf(job);
    const JobSpec& spec = entry.info.spec;
    COPPICE_ASSIGN_OR_RETURN(work.plan, PlanJob(spec, *use.schema, use.neighbours, trainers_));
    if (work.plan.releases != entry.planned) {
      return absl::FailedPreconditionError(
          "this version would make other releases than were charged: submit the job again");
    }
    work.schema = use.schema;
    COPPICE_ASSIGN_OR_RETURN(work.rows, datasets_.Load(spec.dataset));
    return absl::OkStatus();
  }

  absl::StatusOr<Model> Train(Job& job, const TrainingInput& work) {
    OpenSslRandom random;
    const absl::Time began = absl::Now();
    const auto progress = [this, &job, began](double done) -> absl::Status {
      if (job.cancel_asked) return absl::CancelledError("cancelled while it ran");
      if (abandoned_) return absl::UnavailableError("the daemon stopped");
      const double share = std::clamp(done, 0.0, 1.0);
      const double elapsed = absl::ToDoubleSeconds(absl::Now() - began);
      book_.UpdateProgress(job, share, share > 0 ? std::ceil(elapsed * (1 - share) / share) : 0,
                           options_.between_progress);
      return absl::OkStatus();
    };
    COPPICE_ASSIGN_OR_RETURN(
        Model model, work.plan.trainer->Train(*work.rows, work.plan.options, random, progress));
    COPPICE_RETURN_IF_ERROR(CheckResult(model, *work.schema, work.plan.releases));
    return model;
  }

  // Writes what became of the job, for as long as that takes.
  void EndJob(Job& job, absl::StatusOr<Model> trained) {
    if (!trained.ok() && !job.cancel_asked && abandoned_) return;  // failed at the next start
    std::shared_ptr<const Model> model;
    if (trained.ok()) model = std::make_shared<const Model>(*std::move(trained));
    absl::Status why = model == nullptr ? trained.status() : absl::OkStatus();
    while (true) {
      const absl::Status written = WriteEnd(job, model, why);
      if (written.ok()) return;
      if (WriteOutcomeUnknown(written)) {
        ShowWaiting(job, written);
        if (!WaitUnless(abandoned_)) return;
      } else if (model != nullptr) {  // the ledger does not allow it
        model = nullptr;
        why = written;
      } else {
        const MutexLock change(change_mutex_);
        return finalizer_.ShowUnsettled(job, why);
      }
    }
  }

  absl::Status WriteEnd(Job& job, const std::shared_ptr<const Model>& model,
                        const absl::Status& why) {
    const MutexLock change(change_mutex_);
    return model != nullptr ? finalizer_.Publish(job, model)
                            : finalizer_.FinishWithoutModel(job, why);
  }

  void ShowWaiting(Job& job, const absl::Status& status) {
    const MutexLock change(change_mutex_);
    JobInfo info = book_.InfoOf(job);
    if (HasEnded(info.state)) return;
    info.reason = absl::StrCat("waiting for the store: ", status.message());
    book_.Update(job, std::move(info));
  }

  // False once `flag` is set.
  bool WaitUnless(const std::atomic<bool>& flag) {
    const MutexLock lock(queue_mutex_);
    const auto until = After(options_.retry);
    while (!flag && queue_changed_.WaitUntil(queue_mutex_, until)) {
    }
    return !flag;
  }

  storage::Store& store_;
  ledger::Ledger& ledger_;
  Datasets& datasets_;
  models::Models& models_;
  const std::vector<const trainers::Trainer*> trainers_;
  const std::function<int64_t()> clock_;
  const JobOptions options_;

  // Held through every change of a job's state and what is written for it; taken before the others.
  Mutex change_mutex_;
  // Whose submission failed.
  std::shared_ptr<Job> unresolved_submission_ ABSL_GUARDED_BY(change_mutex_);
  JobBook book_;
  JobFinalizer finalizer_ ABSL_GUARDED_BY(change_mutex_);

  Mutex queue_mutex_;
  CondVar queue_changed_;
  std::deque<std::shared_ptr<Job>> queue_ ABSL_GUARDED_BY(queue_mutex_);
  size_t active_ ABSL_GUARDED_BY(queue_mutex_) = 0;  // jobs that a thread works on
  // Set under queue_mutex_.
  std::atomic<bool> stopping_{false};   // no more are begun
  std::atomic<bool> abandoned_{false};  // those that run are left

  std::vector<std::thread> threads_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Jobs>> Jobs::Open(
    storage::Store& store, ledger::Ledger& ledger, Datasets& datasets, models::Models& models,
    absl::Span<const trainers::Trainer* const> trainers, std::function<int64_t()> clock,
    const JobOptions& options) {
  auto jobs = std::make_unique<StoredJobs>(store, ledger, datasets, models, trainers,
                                           std::move(clock), options);
  COPPICE_RETURN_IF_ERROR(jobs->LoadAll());
  jobs->Begin();
  return jobs;
}

}  // namespace coppice::central
