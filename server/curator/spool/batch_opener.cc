#include <sys/resource.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/time/clock.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/encrypt/report_seal.h"
#include "server/curator/intake/submission.h"
#include "server/curator/keys/sealing_keys.h"
#include "server/curator/keys/store_keys.h"
#include "server/curator/spool/batch_spool.h"
#include "server/curator/spool/sealed_reports.h"
#include "server/curator/study/study_sealing.h"

namespace coppice::curator {
namespace {

constexpr absl::Duration kFirstPause = absl::Milliseconds(100);
constexpr absl::Duration kLongestPause = absl::Minutes(1);
// A thread that has counted the last report of a study forgets its key well within this time.
constexpr absl::Duration kForgettingTime = absl::Seconds(1);
constexpr int kNiceness = 10;

// Affects this thread alone, on Linux.
void LowerPriority() { setpriority(PRIO_PROCESS, 0, kNiceness); }

bool IsThere(const Study& study) {
  return study.life().AdmissionOfStored() == ReportOutcome::kAccepted;
}

// The batch after these of its reports are judged.
RelayBatch Advanced(RelayBatch batch, absl::Span<const ReportOutcome> outcomes) {
  for (const ReportOutcome outcome : outcomes) ++batch.outcomes[static_cast<size_t>(outcome)];
  batch.judged += outcomes.size();
  if (batch.judged == batch.header.reports) batch.state = BatchState::kCounted;
  return batch;
}

// Waits for the answer to a submission.
class Answer {
 public:
  SubmitDone Done() {
    return [this](StatusOr<std::vector<ReportOutcome>> outcomes) {
      const MutexLock lock(mutex_);
      status_ = outcomes.status();
      came_.NotifyAll();
    };
  }
  Status Wait() {
    const MutexLock lock(mutex_);
    while (!status_.has_value()) came_.Wait(mutex_);
    return *status_;
  }

 private:
  Mutex mutex_;
  CondVar came_;
  std::optional<Status> status_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

// One thread's opener, for the key that it last opened with. Keeps no key while the thread has
// nothing to open.
class BatchOpener::Worker {
 public:
  explicit Worker(BatchOpener& owner) : owner_(owner) {}

  StatusOr<seal::ReportOpener*> OpenerOf(const Study& study, const SealingKeyName& name) {
    if (opener_.has_value() && fingerprint_ == study.definition().fingerprint && name_ == name) {
      return &*opener_;
    }
    {
      const MutexLock lock(owner_.mutex_);
      owner_.LetForget(*this);
    }
    const std::shared_ptr<const SealingKeys> keys = study.keys().Get();
    const StoredSealingKey* const key = keys == nullptr ? nullptr : keys->Find(name);
    if (key == nullptr || !key->secret.has_value()) {
      return DataLossError(
          StrCat("study ", study.id(), ": the key that opens one of its batches is lost"));
    }
    seal::ReportSealing sealing = SealingOf(study.definition());
    sealing.aead = key->aead;
    COPPICE_ASSIGN_OR_RETURN(seal::ReportOpener opener,
                             seal::ReportOpener::Create(sealing, *key->secret));
    opener_.emplace(std::move(opener));
    fingerprint_ = study.definition().fingerprint;
    name_ = name;
    const MutexLock lock(owner_.mutex_);
    ++owner_.key_holders_[fingerprint_];
    return &*opener_;
  }

 private:
  friend class BatchOpener;

  BatchOpener& owner_;
  std::optional<seal::ReportOpener> opener_;
  Fingerprint fingerprint_{};
  SealingKeyName name_{};
};

BatchOpener::BatchOpener(storage::Store& store, Intake& intake, const TicketAuthority& authority,
                         size_t threads)
    : store_(store),
      intake_(intake),
      authority_(authority),
      max_threads_(threads > 0 ? threads
                               : std::max<size_t>(1, std::thread::hardware_concurrency())) {}

BatchOpener::~BatchOpener() { Stop(); }

void BatchOpener::Add(const std::shared_ptr<Study>& study) {
  const MutexLock lock(mutex_);
  for (const RelayBatch& batch : study->batches().InState(BatchState::kStored)) {
    if (stopping_ || !known_.insert(batch.id).second) continue;
    pending_.push_back(
        {.study = study, .epoch = batch.header.epoch, .id = batch.id, .pause = kFirstPause});
  }
  while (!pending_.empty() && threads_.size() < max_threads_) {
    threads_.emplace_back([this] { Run(); });
  }
  changed_.NotifyAll();
}

void BatchOpener::Stop() {
  std::vector<std::thread> threads;
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    threads.swap(threads_);
    changed_.NotifyAll();
  }
  for (std::thread& thread : threads) thread.join();
}

Status BatchOpener::TakeError() {
  const MutexLock lock(mutex_);
  return std::exchange(error_, OkStatus());
}

void BatchOpener::Run() {
  LowerPriority();
  Worker worker(*this);
  while (const std::optional<Task> task = Next(worker)) Done(*task, Judge(worker, *task));
}

std::optional<BatchOpener::Task> BatchOpener::Next(Worker& worker) {
  const MutexLock lock(mutex_);
  for (;;) {
    if (!stopping_ && job_ != nullptr && job_->is_listed && job_->taken < job_->records.size()) {
      return Task{.job = job_, .first_report = job_->records[job_->taken++]};
    }
    LetForget(worker);
    if (stopping_) return std::nullopt;
    if (job_ == nullptr && Begin()) continue;
    Wait();
  }
}

void BatchOpener::LetForget(Worker& worker) {
  if (!worker.opener_.has_value()) return;
  worker.opener_.reset();
  const auto holders = key_holders_.find(worker.fingerprint_);
  if (--holders->second == 0) key_holders_.erase(holders);
  changed_.NotifyAll();
}

bool BatchOpener::Begin() {
  const absl::Time now = absl::Now();
  const auto next = std::find_if(pending_.begin(), pending_.end(),
                                 [&](const Pending& batch) { return batch.not_before <= now; });
  if (next == pending_.end()) return false;
  const auto job = std::make_shared<Job>(Job{.batch = std::move(*next)});
  pending_.erase(next);
  job_ = job;
  const Study& study = *job->batch.study;
  mutex_.Unlock();
  const size_t bytes = SealingOf(study.definition()).ciphertext_bytes();
  const Status listed = VisitSpool(store_, study.id(), job->batch.id, bytes,
                                   [&](uint64_t first_report, const SealedReports&) {
                                     job->records.push_back(first_report);
                                     return OkStatus();
                                   });
  mutex_.Lock();
  job->is_listed = true;
  if (!listed.ok()) {
    job->records.clear();
    job->failed = true;
    error_ = listed;
  }
  EndJob();
  changed_.NotifyAll();
  return true;
}

void BatchOpener::Done(const Task& task, const Status& status) {
  const MutexLock lock(mutex_);
  if (!status.ok()) {
    task.job->failed = true;
    error_ = status;
  }
  ++task.job->done;
  EndJob();
  changed_.NotifyAll();
}

void BatchOpener::EndJob() {
  if (job_ == nullptr || job_->done < job_->records.size()) return;
  Pending batch = std::move(job_->batch);
  const bool failed = job_->failed;
  job_ = nullptr;
  if (!IsThere(*batch.study) || IsCounted(batch)) {
    known_.erase(batch.id);
    return;
  }
  if (!failed) {
    error_ = DataLossError(StrCat("study ", batch.study->id(),
                                  ": reports of one of its batches are lost, so it gets no final "
                                  "model; coppiced check says more"));
  }
  batch.not_before = absl::Now() + batch.pause;
  batch.pause = std::min(batch.pause * 2, kLongestPause);
  pending_.push_back(std::move(batch));
}

bool BatchOpener::IsCounted(const Pending& batch) {
  const std::optional<RelayBatch> known = batch.study->batches().OfEpoch(batch.epoch);
  return !known.has_value() || known->state == BatchState::kCounted;
}

void BatchOpener::Wait() {
  absl::Time first = absl::InfiniteFuture();
  if (job_ == nullptr) {
    for (const Pending& batch : pending_) first = std::min(first, batch.not_before);
  }
  changed_.WaitUntil(mutex_, After(first - absl::Now()));
}

bool BatchOpener::HasForgottenKeysOf(const Study& study) {
  const auto until = After(kForgettingTime);
  const MutexLock lock(mutex_);
  const auto is_held = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return key_holders_.contains(study.definition().fingerprint);
  };
  while (is_held() && changed_.WaitUntil(mutex_, until)) {
  }
  return !is_held();
}

bool BatchOpener::IsStopping() {
  const MutexLock lock(mutex_);
  return stopping_;
}

bool BatchOpener::PauseBeforeRetry(absl::Duration pause) {
  const auto until = After(pause);
  const MutexLock lock(mutex_);
  while (!stopping_ && changed_.WaitUntil(mutex_, until)) {
  }
  return !stopping_;
}

Status BatchOpener::Judge(Worker& worker, const Task& task) {
  const Pending& batch = task.job->batch;
  const Study& study = *batch.study;
  const std::optional<RelayBatch> record = study.batches().OfEpoch(batch.epoch);
  if (!IsThere(study) || !record.has_value()) return OkStatus();
  COPPICE_ASSIGN_OR_RETURN(seal::ReportOpener* const opener,
                           worker.OpenerOf(study, record->header.sealing_key));
  ReportBatch reports;
  std::vector<bool> is_open;
  const auto open = [&](const SealedReports& sealed) -> Status {
    reports.Reserve(sealed.size(), sealed.tickets.size() + sealed.ciphertexts.size());
    for (size_t i = 0; i < sealed.size(); ++i) {
      COPPICE_ASSIGN_OR_RETURN(const Ticket ticket, Ticket::FromBytes(sealed.ticket(i)));
      const StatusOr<std::string> payload =
          opener->Open(ticket, sealed.encapsulation(i), sealed.ciphertext(i));
      // Other errors say nothing about the report.
      if (!payload.ok() && !IsInvalidArgument(payload.status())) return payload.status();
      reports.Add(sealed.ticket(i), payload.ok() ? *payload : "");
      is_open.push_back(payload.ok());
    }
    return OkStatus();
  };
  COPPICE_RETURN_IF_ERROR(VisitSpoolRecord(store_, study.id(), batch.id, task.first_report,
                                           SealingOf(study.definition()).ciphertext_bytes(), open));
  return reports.empty() ? OkStatus() : Count(task, reports, is_open);
}

Status BatchOpener::Count(const Task& task, const ReportBatch& reports,
                          const std::vector<bool>& is_open) {
  const Pending& batch = task.job->batch;
  const MutexLock lock(counting_);
  // The previous holder may have given up on a write that is on disk all the same.
  if (IsStopping()) return CancelledError("no more batches are opened");
  absl::Duration pause = kFirstPause;
  for (;;) {
    const std::optional<RelayBatch> before = batch.study->batches().OfEpoch(batch.epoch);
    if (!before.has_value()) return OkStatus();  // the batch is deleted
    std::optional<RelayBatch> after;
    Submission submission = JudgeStoredReports(batch.study, reports, is_open, authority_, store_);
    submission.also_write = [&](absl::Span<const ReportOutcome> outcomes,
                                storage::StoreBatch& writes) {
      after = Advanced(*before, outcomes);
      writes.Put(BatchKey(batch.study->id(), batch.id), EncodeBatch(*after));
      writes.Delete(SpoolKey(batch.study->id(), batch.id, task.first_report));
    };
    Answer answer;
    submission.done = answer.Done();
    intake_.Submit(std::move(submission));
    const Status status = answer.Wait();
    if (status.ok()) return Finish(*batch.study, after);
    if (!PauseBeforeRetry(pause)) return status;
    pause = std::min(pause * 2, kLongestPause);
  }
}

Status BatchOpener::Finish(Study& study, const std::optional<RelayBatch>& counted) {
  if (!counted.has_value()) return OkStatus();  // the study is deleted or retired
  study.batches().Replace(*counted);
  if (counted->state != BatchState::kCounted) return OkStatus();
  return intake_.RunOnCommitter([&] {
    study.DropSpentOnceCounted();
    return OkStatus();
  });
}

}  // namespace coppice::curator
