// Handles relays' batches at a curator: receives, opens and counts them.

#ifndef COPPICE_SERVER_CURATOR_SPOOL_BATCH_SPOOL_H_
#define COPPICE_SERVER_CURATOR_SPOOL_BATCH_SPOOL_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/terms/sha256.h"
#include "server/curator/intake/intake.h"
#include "server/curator/keys/ticket_authority.h"
#include "server/curator/spool/batch_receiver.h"
#include "server/curator/spool/spool_room.h"
#include "server/curator/study/study.h"
#include "server/store/store.h"

namespace coppice::curator {

// Opens stored batches one after another on threads of low priority, because counting direct
// reports comes first.
//
// Guarantee  A report is judged once, even across crashes: the atomic batch that spends its ticket
//            and adds it to the sums also deletes its record from the spool and notes the outcome.
//            A record whose reports could not be judged stays and is retried.
// Errors     TakeError() returns the last one.
// Threads    safe to share. Its threads start with the first batch that is added.
// Units      Each thread holds one record of the spool in memory, and its reports once more in the
//            intake.
class BatchOpener {
 public:
  // All must outlive the opener. `threads` 0 means one per processor.
  BatchOpener(storage::Store& store, Intake& intake, const TicketAuthority& authority,
              size_t threads);
  // Stops as Stop() does.
  ~BatchOpener();
  BatchOpener(const BatchOpener&) = delete;
  BatchOpener& operator=(const BatchOpener&) = delete;

  // Opens the study's stored batches, except those already added.
  void Add(const std::shared_ptr<Study>& study);

  // Ends after the current record, or before it if the store fails. The next start adds the rest
  // again. Idempotent. Call it before Intake::Drain(), or some records fail.
  void Stop();

  // The last error since the previous call, or OK.
  Status TakeError();

  // Whether no thread holds a private key of the study. Waits briefly for threads about to forget
  // it; each forgets its key once it has nothing to open.
  bool HasForgottenKeysOf(const Study& study);

 private:
  class Worker;
  // A batch waiting for its turn.
  struct Pending {
    std::shared_ptr<Study> study;
    EpochId epoch{};
    Sha256Digest id{};
    absl::Time not_before = absl::InfinitePast();
    absl::Duration pause{};  // after the next failure
  };
  // The current batch. Threads take its records in turn.
  struct Job {
    Pending batch;
    std::vector<uint64_t> records{};  // positions of their first reports
    size_t taken = 0;
    size_t done = 0;
    bool is_listed = false;  // `records` is complete
    bool failed = false;
  };
  struct Task {
    std::shared_ptr<Job> job;
    uint64_t first_report = 0;
  };

  void Run();
  // The next record; nothing after Stop(). If no record is ready, the worker forgets its key.
  std::optional<Task> Next(Worker& worker);
  // Forgets the worker's key, if it holds one.
  void LetForget(Worker& worker) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Done(const Task& task, const Status& status);
  // Makes the first batch that is due the current one and lists its records, releasing the mutex
  // meanwhile. Returns false if none is due.
  bool Begin() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Ends the current batch if all its records are done.
  void EndJob() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Also true if the batch is gone.
  static bool IsCounted(const Pending& batch);
  // Waits for a change, or until a batch is due for a retry.
  void Wait() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool IsStopping();
  // Returns false after Stop().
  bool PauseBeforeRetry(absl::Duration pause);

  Status Judge(Worker& worker, const Task& task);
  Status Count(const Task& task, const ReportBatch& reports, const std::vector<bool>& is_open);
  // Updates memory after `counted` is stored.
  Status Finish(Study& study, const std::optional<RelayBatch>& counted);

  storage::Store& store_;
  Intake& intake_;
  const TicketAuthority& authority_;
  const size_t max_threads_;
  // Held while a record is counted, through all retries: a write that failed may be on disk all the
  // same, and until it is repeated nothing else of its study may be written. All studies share this
  // lock and its holder waits for the committer, so never take StudyBatches::receiving(), which a
  // relay may hold long, under it.
  Mutex counting_;
  Mutex mutex_;
  CondVar changed_;
  std::deque<Pending> pending_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_set<Sha256Digest> known_ ABSL_GUARDED_BY(mutex_);  // pending, or current
  std::shared_ptr<Job> job_ ABSL_GUARDED_BY(mutex_);
  // How many threads hold a private key of the study with these terms.
  absl::flat_hash_map<Fingerprint, size_t> key_holders_ ABSL_GUARDED_BY(mutex_);
  Status error_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_ ABSL_GUARDED_BY(mutex_);
};

// Receives, opens and counts the batches of one curator's studies.
//
// Guarantee  Those of ReceivePart() and BatchOpener. A sealing key is erased only when nothing that
//            it opens is left and no thread holds it any more.
// Threads    safe to share.
class BatchSpool {
 public:
  // All must outlive the spool.
  BatchSpool(storage::Store& store, Intake& intake, const TicketAuthority& authority,
             const SpoolLimits& limits, SpoolRoom::AllStudies all_studies)
      : store_(store),
        intake_(intake),
        room_(limits, std::move(all_studies)),
        opener_(store, intake, authority, 0) {}

  // Errors as ReceivePart().
  StatusOr<BatchProgress> Receive(const std::shared_ptr<Study>& study, const BatchPart& part,
                                  int64_t now_unix_seconds);

  // Continues with the stored batches of these studies.
  void Resume(absl::Span<const std::shared_ptr<Study>> studies);

  // Runs `change` on the committer while no part of a batch is received. `change` gets a batch of
  // writes that drops incomplete batches, and stores it; memory follows.
  Status Seal(Study& study, absl::FunctionRef<Status(storage::StoreBatch)> change);
  // The same for retiring a study.
  Status Retire(Study& study, absl::FunctionRef<Status(storage::StoreBatch)> change);

  // The same for deleting a study with all its data.
  Status Delete(Study& study, absl::FunctionRef<Status()> change);

  // Erases the keys of a sealed study once no report waits to be opened. If a thread still holds
  // one, the next call erases them.
  Status EraseKeysOnceCounted(Study& study);

  // The last error in opening batches since the previous call, or OK.
  Status TakeError() { return opener_.TakeError(); }

  // The bytes that relays' batches take of the limits.
  uint64_t BytesTaken() const { return room_.BytesTaken(); }

  // Stops opening batches. Idempotent. Call it before Intake::Drain().
  void Stop() { opener_.Stop(); }

 private:
  storage::Store& store_;
  Intake& intake_;
  SpoolRoom room_;
  BatchOpener opener_;
};

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_SPOOL_BATCH_SPOOL_H_
