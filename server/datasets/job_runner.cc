#include "server/datasets/job_runner.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "absl/time/clock.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/privacy/openssl_random.h"
#include "server/datasets/central_keys.h"
#include "server/datasets/job_record.h"
#include "server/datasets/write_outcome.h"

namespace coppice::central {
namespace {

// Lowers the priority of the calling thread and of the threads that it starts, so that training
// takes only idle time.
void LowerPriority() {
  constexpr int kNice = 15;
  setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), kNice);
}

// The rows of a job: a pass ends at the next block once the job is to end, however many there are.
class RowsOfJob final : public RowBlocks {
 public:
  RowsOfJob(const RowBlocks& rows, const std::function<Status()>& check)
      : rows_(rows), check_(check) {}

  const std::shared_ptr<const Schema>& shared_schema() const override {
    return rows_.shared_schema();
  }
  size_t num_rows() const override { return rows_.num_rows(); }
  Status ForEach(Take take) const override {
    return rows_.ForEach([&](const Table& block) -> Status {
      COPPICE_RETURN_IF_ERROR(check_());
      return take(block);
    });
  }

 private:
  const RowBlocks& rows_;
  const std::function<Status()>& check_;
};

// Storing takes at most one part in twenty of a job's time.
absl::Time NextCheckpoint(absl::Time began, absl::Time stored, absl::Duration between) {
  if (between == absl::ZeroDuration()) return stored;
  return stored + std::max(between, 20 * (stored - began));
}

}  // namespace

JobRunner::JobRunner(storage::Store& store, Datasets& datasets,
                     absl::Span<const trainers::Trainer* const> trainers,
                     const std::function<int64_t()>& clock, const JobOptions& options,
                     JobBook& book, JobFinalizer& finalizer, Mutex& change_mutex)
    : store_(store),
      datasets_(datasets),
      trainers_(trainers),
      clock_(clock),
      options_(options),
      book_(book),
      change_mutex_(change_mutex),
      finalizer_(finalizer) {}

JobRunner::~JobRunner() {
  Drain(absl::Now());
  std::vector<std::thread> threads;
  {
    const MutexLock lock(queue_mutex_);
    threads.swap(threads_);
  }
  for (std::thread& thread : threads) thread.join();
}

void JobRunner::Start() {
  const MutexLock lock(queue_mutex_);
  started_ = true;
  for (auto& [owner, line] : lines_) Staff(line);
}

void JobRunner::Staff(Line& line) {
  if (!started_ || stopping_) return;
  for (; line.threads < options_.threads; ++line.threads) {
    threads_.emplace_back([this, &line] { Work(line); });
  }
}

void JobRunner::Drain(absl::Time deadline) {
  const MutexLock lock(queue_mutex_);
  stopping_ = true;
  queue_changed_.NotifyAll();
  const auto until = After(deadline - absl::Now());
  while (active_ > 0 && queue_changed_.WaitUntil(queue_mutex_, until)) {
  }
  abandoned_ = true;
  queue_changed_.NotifyAll();
}

void JobRunner::Enqueue(std::shared_ptr<Job> job) {
  book_.Add(job);
  const MutexLock lock(queue_mutex_);
  Line& line = lines_[job->owner];
  line.queue.push_back(std::move(job));
  Staff(line);
  queue_changed_.NotifyAll();
}

void JobRunner::Work(Line& line) {
  LowerPriority();
  while (const std::shared_ptr<Job> job = Next(line)) {
    Run(*job);
    const MutexLock lock(queue_mutex_);
    --active_;
    queue_changed_.NotifyAll();
  }
}

std::shared_ptr<Job> JobRunner::Next(Line& line) {
  const MutexLock lock(queue_mutex_);
  while (!stopping_ && line.queue.empty()) queue_changed_.Wait(queue_mutex_);
  if (stopping_) return nullptr;
  std::shared_ptr<Job> job = std::move(line.queue.front());
  line.queue.pop_front();
  ++active_;
  return job;
}

void JobRunner::Run(Job& job) {
  TrainingInput work;
  const bool goes_on = book_.InfoOf(job).state == JobState::kRunning;
  const auto begin = [&] { return goes_on ? Resume(job, work) : BeginJob(job, work); };
  Status begun = begin();
  while (!begun.ok() && !IsCancelled(begun)) {
    ShowWaiting(job, begun);
    if (!WaitUnless(stopping_)) {
      if (work.is_counted) StoreCleanEnd(job, {});
      return;
    }
    begun = begin();
  }
  if (!begun.ok()) return;
  StatusOr<Model> model = Train(job, work);
  work.plan.options.public_rows = nullptr;  // large, and the end may wait for the store
  EndJob(job, std::move(model));
}

Status JobRunner::BeginJob(Job& job, TrainingInput& work) {
  DatasetUse use;
  {
    const MutexLock change(change_mutex_);
    COPPICE_RETURN_IF_ERROR(CheckQueued(job));
    use = job.use;
  }
  // Reading the rows takes long, so it holds no lock, and the job may be cancelled meanwhile.
  const JobSpec spec = book_.InfoOf(job).spec;
  const Status ready = Prepare(job, spec, use, work);
  const MutexLock change(change_mutex_);
  COPPICE_RETURN_IF_ERROR(CheckQueued(job));
  if (IsUnavailable(ready)) return ready;
  if (!ready.ok()) return CancelQueued(job, StrCat(ready.message(), "; nothing was drawn"));
  JobEntry entry = book_.EntryOf(job);
  entry.info.state = JobState::kRunning;
  entry.info.started_unix_seconds = clock_();
  entry.info.reason.clear();
  entry.info.spec.public_rows = nullptr;  // `work` has them
  // On disk before Train() draws noise: a restart begins queued jobs, and never running ones.
  storage::StoreBatch batch;
  if (work.start) entry.resume = PutStart(spec.dataset, job.id, *work.start, batch);
  batch.Put(JobKey(job.id), EncodeJob(entry));
  COPPICE_RETURN_IF_ERROR(store_.Apply(batch));
  if (work.start) {
    work.start->public_rows = nullptr;
    book_.SetResume(job, *entry.resume);
  }
  book_.Update(job, std::move(entry.info));
  return OkStatus();
}

Status JobRunner::Resume(Job& job, TrainingInput& work) {
  Status ready = CountRun(job, work);
  if (ready.ok()) ready = PrepareAgain(job, work);
  if (ready.ok() || IsUnavailable(ready) || HasEnded(book_.InfoOf(job).state)) return ready;
  if (IsResourceExhausted(ready)) return ready;  // the disk is full
  EndJob(job, ready);
  return CancelledError();
}

Status JobRunner::CountRun(Job& job, TrainingInput& work) {
  // A crash may depend on what was drawn, and then chooses among draws: of three, one that is up to
  // three times as likely as it should be.
  constexpr uint32_t kMostRuns = 3;
  const MutexLock change(change_mutex_);
  JobEntry entry = book_.EntryOf(job);
  if (HasEnded(entry.info.state)) return CancelledError();
  job.waits_to_resume = false;
  if (work.is_counted) return OkStatus();
  if (entry.resume->runs >= kMostRuns) {
    return FailedPreconditionError("it was cut short three times within one step");
  }
  ++entry.resume->runs;
  storage::StoreBatch batch;
  batch.Put(JobKey(job.id), EncodeJob(entry));
  COPPICE_RETURN_IF_ERROR(store_.Apply(batch));
  book_.SetResume(job, *entry.resume);
  work.is_counted = true;
  return OkStatus();
}

Status JobRunner::PrepareAgain(Job& job, TrainingInput& work) {
  const JobEntry entry = book_.EntryOf(job);
  COPPICE_ASSIGN_OR_RETURN(KeptRun kept,
                           ReadKeptRun(store_, entry.info.spec.dataset, job.id, *entry.resume));
  DatasetUse use;
  {
    const MutexLock change(change_mutex_);
    use = job.use;
  }
  JobSpec spec = entry.info.spec;
  spec.public_rows = std::exchange(kept.start.public_rows, nullptr);
  work.start.emplace(std::move(kept.start));
  work.released = std::move(kept.released);
  return Prepare(job, spec, use, work);
}

Status JobRunner::CheckQueued(Job& job) {
  if (book_.InfoOf(job).state != JobState::kQueued) return CancelledError();
  if (!job.returning) return OkStatus();
  return CancelQueued(job, "cancelled before it began");
}

Status JobRunner::CancelQueued(Job& job, std::string_view why) {
  const Status refunded = finalizer_.CancelAndRefund(job, StrCat(why, "; its cost is refunded"));
  if (refunded.ok()) return CancelledError();
  if (WriteOutcomeUnknown(refunded)) return refunded;
  // A ledger on hold, for one, refuses refunds. The job ends all the same, or its line would try
  // for ever; its cost stays spent, which is the safe side.
  const Status refused =
      FailedPreconditionError(StrCat(why, "; the ledger refuses its refund: ", refunded.message()));
  const Status written = finalizer_.FinishWithoutModel(job, refused);
  if (WriteOutcomeUnknown(written)) return written;
  if (!written.ok()) finalizer_.ShowUnsettled(job, refused);
  return CancelledError();
}

Status JobRunner::Prepare(const Job& job, const JobSpec& spec, const DatasetUse& use,
                          TrainingInput& work) {
  const JobEntry entry = book_.EntryOf(job);
  COPPICE_ASSIGN_OR_RETURN(PublicRowsTable public_rows, PublicRowsFor(spec, use.schema, datasets_));
  if (PublicRowsIdOf(public_rows.get()) != entry.info.public_rows) {
    return DataLossError("the public rows are not those that the job was submitted with");
  }
  COPPICE_ASSIGN_OR_RETURN(work.plan,
                           PlanJob(spec, *use.schema, use.cap, trainers_, std::move(public_rows)));
  // The releases that were planned are those that were charged. A newer version may plan others.
  if (work.plan.releases != entry.planned) {
    return FailedPreconditionError(
        "this version would make other releases than those charged: submit the job again");
  }
  // Memory was checked when the job was submitted. A refund for want of it would depend on the
  // number of rows, and the budget shows refunds to those who may see the dataset.
  work.plan.options.threads = options_.threads_of_job;
  work.schema = use.schema;
  work.dataset = spec.dataset;
  if (!work.plan.trainer->CanResume()) {
    COPPICE_ASSIGN_OR_RETURN(work.rows, datasets_.ReadyRows(spec.dataset, Part::kTraining));
    return OkStatus();
  }
  if (!work.start) {
    COPPICE_ASSIGN_OR_RETURN(const CoinSeed seed, CoinSeed::Draw());
    work.start.emplace(JobStart{.seed = seed, .public_rows = spec.public_rows});
  }
  COPPICE_ASSIGN_OR_RETURN(std::string digest, ReadRows(job, work.start->seed, work));
  if (entry.info.state == JobState::kQueued) work.start->rows_digest = digest;
  if (work.start->rows_digest == digest) return OkStatus();
  return DataLossError("the rows are not those that it began with");
}

StatusOr<std::string> JobRunner::ReadRows(const Job& job, const CoinSeed& seed,
                                          TrainingInput& work) {
  KeyedRowsDigest digest(seed);
  COPPICE_ASSIGN_OR_RETURN(work.rows, datasets_.ReadyRows(work.dataset, Part::kTraining,
                                                          [&](const Table& block) -> Status {
                                                            digest.Add(block);
                                                            return CheckGoesOn(job);
                                                          }));
  return digest.Finish();
}

Status JobRunner::CheckGoesOn(const Job& job) const {
  if (job.cancel_asked) return CancelledError("cancelled while it ran");
  if (abandoned_) return UnavailableError("the daemon stopped");
  return OkStatus();
}

StatusOr<Model> JobRunner::Train(Job& job, TrainingInput& work) {
  const absl::Time began = absl::Now();
  const auto progress = [this, &job, began](double done) -> Status {
    COPPICE_RETURN_IF_ERROR(CheckGoesOn(job));
    const double share = std::clamp(done, 0.0, 1.0);
    const double elapsed = absl::ToDoubleSeconds(absl::Now() - began);
    book_.UpdateProgress(job, share, share > 0 ? std::ceil(elapsed * (1 - share) / share) : 0,
                         options_.between_progress);
    return OkStatus();
  };
  OpenSslRandom random;
  const std::function<Status()> check = [this, &job] { return CheckGoesOn(job); };
  const RowsOfJob rows(*work.rows, check);
  StatusOr<Model> model = work.start
                              ? TrainResumably(job, work, rows, random, progress)
                              : work.plan.trainer->Train(rows, work.plan.options, random, progress);
  if (model.ok()) COPPICE_RETURN_IF_ERROR(CheckResult(*model, *work.schema, work.plan.releases));
  return model;
}

StatusOr<Model> JobRunner::TrainResumably(Job& job, TrainingInput& work, const RowBlocks& rows,
                                          PrivateRandom& random,
                                          const trainers::TrainProgress& progress) {
  SeededCoins coins(work.start->seed);
  trainers::ResumableReleaser releaser(random, coins, std::move(work.released));
  std::vector<trainers::ReleasedValues> unstored;
  absl::Time next_checkpoint = absl::Now() + options_.between_checkpoints;
  const auto take_drawn = [&] {
    for (trainers::ReleasedValues& drawn : releaser.TakeDrawn()) {
      unstored.push_back(std::move(drawn));
    }
  };
  const auto store_and_tell = [&](double done) -> Status {
    COPPICE_RETURN_IF_ERROR(CheckGoesOn(job));
    take_drawn();
    if (!unstored.empty()) {
      // Nobody is told how far the job is before what took it there is durable.
      const absl::Time began = absl::Now();
      if (began < next_checkpoint) return OkStatus();
      COPPICE_RETURN_IF_ERROR(StoreCheckpoint(job, unstored));
      unstored.clear();
      next_checkpoint = NextCheckpoint(began, absl::Now(), options_.between_checkpoints);
    }
    return progress(done);
  };
  StatusOr<Model> model =
      work.plan.trainer->TrainWith(rows, work.plan.options, releaser, store_and_tell);
  if (!model.ok() && abandoned_ && !job.cancel_asked) {
    take_drawn();
    StoreCleanEnd(job, unstored);
  }
  return model;
}

Status JobRunner::StoreCheckpoint(Job& job, absl::Span<const trainers::ReleasedValues> released) {
  while (true) {
    const Status stored = TryCheckpoint(job, released);
    if (stored.ok()) return stored;
    ShowWaiting(job, stored);
    WaitUnless(abandoned_);
    COPPICE_RETURN_IF_ERROR(CheckGoesOn(job));
  }
}

Status JobRunner::TryCheckpoint(Job& job, absl::Span<const trainers::ReleasedValues> released) {
  const MutexLock change(change_mutex_);
  JobEntry entry = book_.EntryOf(job);
  storage::StoreBatch batch;
  entry.resume = PutCheckpoint(entry.info.spec.dataset, job.id, *entry.resume, released, batch);
  const bool waited = !std::exchange(entry.info.reason, "").empty();
  batch.Put(JobKey(job.id), EncodeJob(entry));
  COPPICE_RETURN_IF_ERROR(store_.Apply(batch));
  book_.SetResume(job, *entry.resume);
  if (waited) book_.Update(job, std::move(entry.info));
  return OkStatus();
}

void JobRunner::StoreCleanEnd(Job& job, absl::Span<const trainers::ReleasedValues> released) {
  const MutexLock change(change_mutex_);
  JobEntry entry = book_.EntryOf(job);
  storage::StoreBatch batch;
  if (!released.empty()) {
    entry.resume = PutCheckpoint(entry.info.spec.dataset, job.id, *entry.resume, released, batch);
  }
  --entry.resume->runs;
  batch.Put(JobKey(job.id), EncodeJob(entry));
  // Without it, this counts as a crash.
  if (store_.Apply(batch).ok()) book_.SetResume(job, *entry.resume);
}

void JobRunner::EndJob(Job& job, StatusOr<Model> trained) {
  // The next start goes on with it, or marks it failed.
  if (!trained.ok() && !job.cancel_asked && abandoned_) return;
  // The result is kept until it is on disk: to train again would draw new noise from the same rows
  // for a cost that was charged once.
  std::shared_ptr<const Model> model;
  if (trained.ok()) model = std::make_shared<const Model>(*std::move(trained));
  Status why = model == nullptr ? trained.status() : OkStatus();
  while (true) {
    const Status written = WriteEnd(job, model, why);
    if (written.ok()) return;
    if (WriteOutcomeUnknown(written)) {
      ShowWaiting(job, written);
      if (!WaitUnless(abandoned_)) return;
    } else if (model != nullptr) {  // the ledger rejected the settlement
      model = nullptr;
      why = written;
    } else {
      const MutexLock change(change_mutex_);
      return finalizer_.ShowUnsettled(job, why);
    }
  }
}

Status JobRunner::WriteEnd(Job& job, const std::shared_ptr<const Model>& model, const Status& why) {
  const MutexLock change(change_mutex_);
  return model != nullptr ? finalizer_.Publish(job, model)
                          : finalizer_.FinishWithoutModel(job, why);
}

void JobRunner::ShowWaiting(Job& job, const Status& status) {
  const MutexLock change(change_mutex_);
  JobInfo info = book_.InfoOf(job);
  if (HasEnded(info.state)) return;
  info.reason = StrCat("waiting for the store: ", status.message());
  book_.Update(job, std::move(info));
}

bool JobRunner::WaitUnless(const std::atomic<bool>& flag) {
  const MutexLock lock(queue_mutex_);
  const auto until = After(options_.retry);
  while (!flag && queue_changed_.WaitUntil(queue_mutex_, until)) {
  }
  return !flag;
}

}  // namespace coppice::central
