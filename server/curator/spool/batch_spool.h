// What becomes of relays' batches at a curator: received, opened, counted.

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
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "common/base/mutex.h"
#include "common/study/sha256.h"
#include "server/curator/intake/intake.h"
#include "server/curator/keys/ticket_authority.h"
#include "server/curator/spool/batch_receiver.h"
#include "server/curator/spool/spool_room.h"
#include "server/curator/study/study.h"
#include "server/storage/store.h"

namespace coppice::curator {

// Opens stored batches, one after the other, on threads of low priority: counting what came by
// itself goes before.
//
// Guarantee  a report is judged once, over crashes too: the atomic batch that spends its ticket and
//            adds it to the sums also takes its record out of the spool and notes the outcome. A
//            record whose reports could not be judged stays, and is tried again.
// Errors     none is lost: TakeError() has the last one.
// Threads    safe to share. They start with the first batch that is added.
// Units      one record of the spool a thread is in memory, and its reports once more in the
//            intake.
class BatchOpener {
 public:
  // All must outlive it. `threads` 0 is one for each processor.
  BatchOpener(storage::Store& store, Intake& intake, const TicketAuthority& authority,
              size_t threads);
  // As Stop().
  ~BatchOpener();
  BatchOpener(const BatchOpener&) = delete;
  BatchOpener& operator=(const BatchOpener&) = delete;

  // Opens what the study has stored, what was added before excepted.
  void Add(const std::shared_ptr<Study>& study);

  // Ends after the record at hand, or before it if the store does not work. What is left is added
  // again at the next start. Idempotent. Before Intake::Drain(), or some records fail.
  void Stop();

  // What went wrong since the last call, if anything did.
  absl::Status TakeError();

  // Whether no thread has a private key of the study. Waits a little for those that are about to
  // forget it, as each does once it has nothing to open.
  bool HasForgottenKeysOf(const Study& study);

 private:
  class Worker;
  // A batch that waits for its turn.
  struct Pending {
    std::shared_ptr<Study> study;
    EpochId epoch{};
    Sha256Digest id{};
    absl::Time not_before = absl::InfinitePast();
    absl::Duration pause{};  // after the next failure
  };
  // The batch at hand. Threads take its records in turn.
  struct Job {
    Pending batch;
    std::vector<uint64_t> records{};  // where they begin
    size_t taken = 0;
    size_t done = 0;
    bool is_listed = false;  // the records are known
    bool failed = false;
  };
  struct Task {
    std::shared_ptr<Job> job;
    uint64_t first_report = 0;
  };

  void Run();
  // The next record; nothing once this stops. If none is there at once the worker forgets its key.
  std::optional<Task> Next(Worker& worker);
  // The thread has nothing to open with its key.
  void LetForget(Worker& worker) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Done(const Task& task, const absl::Status& status);
  // Makes the first batch whose time has come the one at hand, and lists its records, for which it
  // releases the mutex. False if there is none.
  bool Begin() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // If all of its records are done.
  void EndJob() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Or gone.
  static bool IsCounted(const Pending& batch);
  // Waits for a change, and until the first batch may be tried again.
  void Wait() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool IsStopping();
  // False once this stops.
  bool PauseBeforeRetry(absl::Duration pause);

  absl::Status Judge(Worker& worker, const Task& task);
  absl::Status Count(const Task& task, const ReportBatch& reports,
                     const std::vector<bool>& is_open);
  // What is due once that is stored.
  absl::Status Finish(Study& study, const std::optional<RelayBatch>& counted);

  storage::Store& store_;
  Intake& intake_;
  const TicketAuthority& authority_;
  const size_t max_threads_;
  // Held while a record is counted, through all tries: a write that failed may be on disk all the
  // same, and then nothing of its study may be written before it is written again. All studies have
  // this one lock, and its holder waits for the committer: StudyBatches::receiving(), which a relay
  // may keep, is never taken under it.
  Mutex counting_;
  Mutex mutex_;
  CondVar changed_;
  std::deque<Pending> pending_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_set<Sha256Digest> known_ ABSL_GUARDED_BY(mutex_);  // pending, or at hand
  std::shared_ptr<Job> job_ ABSL_GUARDED_BY(mutex_);
  // How many threads have a private key of the study with these terms.
  absl::flat_hash_map<Fingerprint, size_t> key_holders_ ABSL_GUARDED_BY(mutex_);
  absl::Status error_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_ ABSL_GUARDED_BY(mutex_);
};

// All of it for the studies of one curator.
//
// Guarantee  those of ReceivePart() and BatchOpener. A sealing key is erased only when nothing is
//            left that it opens, and no thread has it any more.
// Threads    safe to share.
class BatchSpool {
 public:
  // All must outlive it.
  BatchSpool(storage::Store& store, Intake& intake, const TicketAuthority& authority,
             const SpoolLimits& limits, SpoolRoom::AllStudies all_studies)
      : store_(store),
        intake_(intake),
        room_(limits, std::move(all_studies)),
        opener_(store, intake, authority, 0) {}

  // Errors as ReceivePart().
  absl::StatusOr<BatchProgress> Receive(const std::shared_ptr<Study>& study, const BatchPart& part,
                                        int64_t now_unix_seconds);

  // Goes on with what the store holds of these.
  void Resume(absl::Span<const std::shared_ptr<Study>> studies);

  // Runs `change` on the committer while no part of a batch is received. It gets a batch in which
  // what has not come as a whole is dropped, and stores that; then memory follows.
  absl::Status Seal(Study& study, absl::FunctionRef<absl::Status(storage::StoreBatch)> change);
  // The same where the study is retired.
  absl::Status Retire(Study& study, absl::FunctionRef<absl::Status(storage::StoreBatch)> change);

  // The same where the study is deleted, with everything that it has.
  absl::Status Delete(Study& study, absl::FunctionRef<absl::Status()> change);

  // Erases the keys of a sealed study once nothing waits to be opened; while a thread still has
  // one, the next call does.
  absl::Status EraseKeysOnceCounted(Study& study);

  // What went wrong since the last call while batches were opened.
  absl::Status TakeError() { return opener_.TakeError(); }

  // What relays' batches have taken of the limits.
  uint64_t BytesTaken() const { return room_.BytesTaken(); }

  // Opens nothing more. Idempotent. Before Intake::Drain().
  void Stop() { opener_.Stop(); }

 private:
  storage::Store& store_;
  Intake& intake_;
  SpoolRoom room_;
  BatchOpener opener_;
};

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_SPOOL_BATCH_SPOOL_H_
