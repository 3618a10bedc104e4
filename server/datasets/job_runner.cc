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
  Status begun = BeginJob(job, work);
  while (!begun.ok() && !IsCancelled(begun)) {
    ShowWaiting(job, begun);
    if (!WaitUnless(stopping_)) return;
    begun = BeginJob(job, work);
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
  const Status ready = Prepare(job, use, work);
  const MutexLock change(change_mutex_);
  COPPICE_RETURN_IF_ERROR(CheckQueued(job));
  if (IsUnavailable(ready)) return ready;
  if (!ready.ok()) return CancelQueued(job, StrCat(ready.message(), "; nothing was drawn"));
  JobEntry entry = book_.EntryOf(job);
  entry.info.state = JobState::kRunning;
  entry.info.started_unix_seconds = clock_();
  entry.info.reason.clear();
  entry.info.spec.public_rows = nullptr;  // `work` has them
  // On disk before Train() draws noise: a restart runs queued jobs again, and never running ones.
  storage::StoreBatch batch;
  batch.Put(JobKey(job.id), EncodeJob(entry));
  COPPICE_RETURN_IF_ERROR(store_.Apply(batch));
  book_.Update(job, std::move(entry.info));
  return OkStatus();
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

Status JobRunner::Prepare(const Job& job, const DatasetUse& use, TrainingInput& work) {
  const JobEntry entry = book_.EntryOf(job);
  const JobSpec& spec = entry.info.spec;
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
  work.schema = use.schema;
  COPPICE_ASSIGN_OR_RETURN(work.rows, datasets_.ReadyRows(spec.dataset));
  return OkStatus();
}

StatusOr<Model> JobRunner::Train(Job& job, const TrainingInput& work) {
  OpenSslRandom random;
  const absl::Time began = absl::Now();
  const auto progress = [this, &job, began](double done) -> Status {
    if (job.cancel_asked) return CancelledError("cancelled while it ran");
    if (abandoned_) return UnavailableError("the daemon stopped");
    const double share = std::clamp(done, 0.0, 1.0);
    const double elapsed = absl::ToDoubleSeconds(absl::Now() - began);
    book_.UpdateProgress(job, share, share > 0 ? std::ceil(elapsed * (1 - share) / share) : 0,
                         options_.between_progress);
    return OkStatus();
  };
  COPPICE_ASSIGN_OR_RETURN(
      Model model, work.plan.trainer->Train(*work.rows, work.plan.options, random, progress));
  COPPICE_RETURN_IF_ERROR(CheckResult(model, *work.schema, work.plan.releases));
  return model;
}

void JobRunner::EndJob(Job& job, StatusOr<Model> trained) {
  if (!trained.ok() && !job.cancel_asked && abandoned_) return;  // the next start marks it failed
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
