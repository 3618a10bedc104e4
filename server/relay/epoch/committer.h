// Puts sealed reports on the disk, many with one sync.

#ifndef COPPICE_SERVER_RELAY_EPOCH_COMMITTER_H_
#define COPPICE_SERVER_RELAY_EPOCH_COMMITTER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "common/base/mutex.h"
#include "server/relay/epoch/epoch.h"
#include "server/relay/epoch/pool.h"

namespace coppice::relay {

// Which slots are full.
class SlotSet {
 public:
  explicit SlotSet(uint64_t slots) : words_((slots + 63) / 64) {}

  bool Has(uint64_t slot) const { return (words_[slot / 64] >> slot % 64 & 1) != 0; }
  void Add(uint64_t slot);
  uint64_t size() const { return size_; }
  // Number `index` of its slots in their order; `index` must be below size().
  uint64_t Find(uint64_t index) const;

 private:
  std::vector<uint64_t> words_;
  uint64_t size_ = 0;
};

// Guarantee  A slot's first report stays. `done` has kStored only once the report is on the disk.
// Errors     Unavailable, for the report to be sent again: more waits than kMaxQueuedBytes (then
//            Add() says so, and `done` is not called), or a write failed; then for all reports,
//            until the epoch is opened again.
// Threads    Add() and what is const are safe to share. One thread of its own writes and answers.
class Committer {
 public:
  static constexpr uint64_t kMaxQueuedBytes = uint64_t{1} << 26;

  // Both must outlive it, and nobody else may write to the pool until Stop() has returned.
  Committer(Pool& pool, absl::Span<const Ticket> tickets, SlotSet full);
  ~Committer();

  absl::Status Add(uint64_t slot, SealedReport& report, SubmitDone& done);
  // Answers what was added, and ends the thread. Nothing may be added any more.
  void Stop();

  uint64_t stored() const;
  absl::Status health() const;

 private:
  struct Pending {
    uint64_t slot = 0;
    SealedReport report;
    SubmitDone done;
    absl::StatusOr<SubmitOutcome> outcome = SubmitOutcome::kStored;
  };

  void Run();
  void Commit(std::vector<Pending>& group);
  absl::Status WriteGroup(std::vector<Pending>& group);
  // Empty if the slot is.
  absl::StatusOr<std::optional<SubmitOutcome>> CompareStored(const Pending& pending) const;

  Pool& pool_;
  const absl::Span<const Ticket> tickets_;
  SlotSet full_;  // the thread's own until it ends

  mutable Mutex mutex_;
  CondVar changed_;
  std::vector<Pending> queue_ ABSL_GUARDED_BY(mutex_);
  uint64_t queued_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t stored_ ABSL_GUARDED_BY(mutex_);
  absl::Status health_ ABSL_GUARDED_BY(mutex_);

  std::thread thread_;
};

}  // namespace coppice::relay

#endif  // COPPICE_SERVER_RELAY_EPOCH_COMMITTER_H_
