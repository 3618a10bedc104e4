// One deal of a relay, on disk: a pool of tickets, a slot for each ticket's sealed report, and the
// key that deals them. docs/relay.md says which promises depend on it.
//
// Each epoch has one folder, for its owner alone:
//
//   terms    its rules and its documents
//   tickets  the pool, sorted by bytes; a ticket's rank is its slot
//   pool     preallocated: a header, and the slots
//   deal     the key, and how far it has dealt; overwritten and removed when the epoch is frozen

#ifndef COPPICE_SERVER_RELAY_EPOCH_EPOCH_H_
#define COPPICE_SERVER_RELAY_EPOCH_EPOCH_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "server/relay/epoch/deal.h"
#include "server/relay/epoch/disk.h"
#include "server/relay/epoch/epoch_types.h"
#include "server/relay/epoch/folder.h"
#include "server/relay/epoch/pool.h"

namespace coppice::relay {

// Guarantee  Every order of the pool is equally likely to be dealt, and no ticket is dealt twice; a
//            crash at any point changes neither, but skips tickets. A report answered with kStored
//            is on disk. Without its claim a ticket gets the same answer in every state. A frozen
//            batch depends only on which ticket got which report: not on time, order, repeats or
//            crashes. Once it is frozen, the deal's key is gone, and the batch never changes.
// Errors     Create(): InvalidArgument (the spec, also a ticket twice), AlreadyExists,
//            ResourceExhausted (disk full); it leaves nothing behind. Open(): NotFound, Unavailable
//            (another process has it), DataLoss that names the file. The messages of Deal() and
//            Submit() are for devices and reveal nothing about this machine; health() says what
//            failed.
// Threads    Deal(), Submit() and const calls are safe to share; the others one at a time, next to
//            those. The destructor answers every report first; nobody may call meanwhile.
class Epoch {
 public:
  // `folder` belongs to the epoch, and must not exist. `disk` must outlive the epoch.
  static StatusOr<std::unique_ptr<Epoch>> Create(const std::string& folder, EpochSpec spec,
                                                 Disk& disk = RealDisk());
  static StatusOr<std::unique_ptr<Epoch>> Open(const std::string& folder, Disk& disk = RealDisk());
  // Returns the folders of epochs in `parent`, sorted. Removes what half-made and half-erased ones
  // left, so nobody may create or erase one there meanwhile.
  static StatusOr<std::vector<std::string>> List(const std::string& parent,
                                                 Disk& disk = RealDisk());

  // Removes the epoch in `folder`, or what is left of it. Nobody may have it open.
  static Status Remove(const std::string& folder, Disk& disk = RealDisk());

  const EpochRules& rules() const { return contents_.rules; }
  EpochState state() const;
  EpochTotals totals() const;
  // For the operator. An error names the failed write or sync: only the disk knows what it contains
  // then, so Deal() or Submit() is Unavailable until the epoch is opened again.
  Status health() const;
  StatusOr<std::string> ReadDocuments() const;

  // ResourceExhausted: every ticket is dealt. FailedPrecondition: the time to deal is over.
  // Unavailable: a write has failed.
  StatusOr<Dealt> Deal(absl::Time now);

  // `done` runs once, in this thread or in the epoch's own, and must not block. After an error the
  // same report may be sent again. ResourceExhausted: too many wait. Unavailable: a write has
  // failed.
  void Submit(SealedReport report, absl::Time now, SubmitDone done);

  // Whether no more reports are taken: freeze_at has come, by any time that Submit() was given, or
  // every slot is full. Then nothing is dealt either.
  bool IsOver(absl::Time now) const;

  // Stops taking reports, makes them a batch or drops them, and erases the deal's key.
  // FailedPrecondition unless IsOver(now). Any other error leaves the epoch closed: open it again,
  // and repeat the call. Once it is frozen, the result never changes.
  StatusOr<Frozen> Freeze(absl::Time now);

  // Returns at most `count` of the batch's reports, from number `first` on; fewer at its end.
  // FailedPrecondition unless the epoch is frozen or delivered.
  StatusOr<SealedColumns> Read(uint64_t first, uint64_t count) const;
  Status MarkDelivered();

  // Removes the epoch from the disk, in any state; it answers kClosed from then on. After an error
  // List() or another call removes it.
  Status Erase();

 private:
  // What changes from its start to its end.
  struct Parts {
    std::unique_ptr<Pool> pool;
    std::unique_ptr<Dealer> dealer;  // null once it is frozen
    SlotSet full;
  };
  Epoch(std::string folder, Disk& disk, EpochContents contents, Parts parts);

  bool EndsBy(absl::Time now) const ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  bool HasLengths(const SealedReport& report) const;
  // Returns the ticket's slot if the report has its claim; empty for all others.
  StatusOr<std::optional<uint64_t>> SlotOfHolder(const SealedReport& report) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  // Empty: `done` was taken, and will be called.
  std::optional<StatusOr<SubmitOutcome>> Take(SealedReport& report, absl::Time now,
                                              SubmitDone& done);
  Status StopTaking(absl::Time now);
  StatusOr<Frozen> MakeBatch();

  const std::string folder_;
  Disk& disk_;
  const EpochContents contents_;
  const std::unique_ptr<Pool> pool_;

  mutable SharedMutex mutex_;
  EpochState state_ ABSL_GUARDED_BY(mutex_);
  bool taking_ ABSL_GUARDED_BY(mutex_);  // false for good from the first attempt to freeze or erase
  bool erased_ ABSL_GUARDED_BY(mutex_) = false;
  std::unique_ptr<Dealer> dealer_ ABSL_GUARDED_BY(mutex_);
  SlotSet batch_ ABSL_GUARDED_BY(mutex_);  // set once it is frozen
  uint64_t lost_ ABSL_GUARDED_BY(mutex_) = 0;
  std::optional<Committer> committer_;  // until then
  std::atomic<bool> late_{false};       // a report came after freeze_at, if the clock was right
};

}  // namespace coppice::relay

#endif  // COPPICE_SERVER_RELAY_EPOCH_EPOCH_H_
