// The file of an epoch's sealed reports: a slot for each ticket, and marks for the whole pool; and
// the thread that writes reports into it.

#ifndef COPPICE_SERVER_RELAY_EPOCH_POOL_H_
#define COPPICE_SERVER_RELAY_EPOCH_POOL_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "server/relay/epoch/disk.h"
#include "server/relay/epoch/epoch_types.h"

namespace coppice::relay {

struct PoolShape {
  uint64_t slots = 0;
  uint64_t ciphertext_bytes = 0;
  Sha256Digest terms{};  // of the terms file; every part of the pool is bound to it
};

// Writes an empty pool with all its space into a new file at `path`, and syncs it. Returns the
// file's identity.
StatusOr<std::string> MakePoolFile(const std::string& path, const PoolShape& shape, Disk& disk);

struct SlotReport {
  std::string_view encapsulated;
  std::string_view ciphertext;
};

// Guarantee  A slot or a mark that a crash tore counts as not written. Each is bound to its epoch,
//            and a slot to its ticket.
// Errors     Open(): NotFound, Unavailable (another process has it), DataLoss that names the file.
//            After a failed write or sync all others fail with the same error: what is on the disk
//            is known only once the file is opened again.
// Threads    reads are safe to share, also during a write of another slot; one write at a time.
class Pool {
 public:
  static StatusOr<std::unique_ptr<Pool>> Open(const std::string& path, const PoolShape& shape,
                                              Disk& disk);

  // The identity of the pool's file, which no copy has.
  StatusOr<std::string> Identity() const { return file_->Identity(); }

  // Calls `visit` for every full slot, in order. `tickets` are those of the slots from `first` on.
  Status Scan(uint64_t first, absl::Span<const Ticket> tickets,
              absl::FunctionRef<Status(uint64_t slot, const SlotReport& report)> visit) const;
  Status Write(uint64_t slot, const Ticket& ticket, const SlotReport& report);
  Status Sync();

  // Empty until some process has called MarkFrozen() once.
  const std::optional<Frozen>& frozen() const { return frozen_; }
  bool delivered() const { return delivered_; }
  // Both marks are on the disk when these return OK.
  Status MarkFrozen(const Frozen& frozen);
  Status MarkDelivered();

 private:
  Pool(std::string path, const PoolShape& shape, std::unique_ptr<DiskFile> file)
      : path_(std::move(path)), shape_(shape), file_(std::move(file)) {}

  Status ReadHeader();
  uint64_t SlotBytes() const;
  std::string SlotCheck(const Ticket& ticket, std::string_view report) const;
  Status WriteDurably(uint64_t offset, const std::string& bytes);
  // Keeps the error of a write or a sync, which every later one then returns.
  Status Remember(Status status);

  const std::string path_;
  const PoolShape shape_;
  const std::unique_ptr<DiskFile> file_;
  std::optional<Frozen> frozen_;
  bool delivered_ = false;
  Status failed_;
};

// The set of full slots.
class SlotSet {
 public:
  explicit SlotSet(uint64_t slots) : words_((slots + 63) / 64) {}

  bool Has(uint64_t slot) const { return (words_[slot / 64] >> slot % 64 & 1) != 0; }
  void Add(uint64_t slot);
  uint64_t size() const { return size_; }
  // Returns the slot with rank `index` in their order; `index` must be below size().
  uint64_t Find(uint64_t index) const;

 private:
  std::vector<uint64_t> words_;
  uint64_t size_ = 0;
};

// Writes sealed reports into a pool, many with one sync.
//
// Guarantee  A slot's first report stays. `done` gets kStored only once the report is on the disk.
// Errors     From Add(), which then leaves `report` and `done` alone, and for `done`; the messages
//            are for devices. ResourceExhausted: more waits than kMaxQueuedBytes, or a report of
//            the same slot does. Unavailable: a write has failed, which health() reports; then for
//            all reports until the epoch is opened again.
// Threads    Add() and const calls are safe to share. Its own thread writes and answers.
class Committer {
 public:
  static constexpr uint64_t kMaxQueuedBytes = uint64_t{1} << 26;

  // Both must outlive it, and nobody else may write to the pool until Stop() has returned.
  Committer(Pool& pool, absl::Span<const Ticket> tickets, SlotSet full);
  ~Committer();

  Status Add(uint64_t slot, SealedReport& report, SubmitDone& done);
  // Answers what was added, and ends the thread. Nothing may be added afterwards.
  void Stop();

  uint64_t stored() const;
  Status health() const;

 private:
  struct Pending {
    uint64_t slot = 0;
    SealedReport report;
    SubmitDone done;
    StatusOr<SubmitOutcome> outcome = SubmitOutcome::kStored;
  };

  void Run();
  void Commit(std::vector<Pending>& group);
  Status WriteGroup(std::vector<Pending>& group);
  // Empty if the slot is empty.
  StatusOr<std::optional<SubmitOutcome>> CompareStored(const Pending& pending) const;

  Pool& pool_;
  const absl::Span<const Ticket> tickets_;
  SlotSet full_;  // used by the thread alone until it ends

  mutable Mutex mutex_;
  CondVar changed_;
  std::vector<Pending> queue_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_set<uint64_t> waiting_slots_
      ABSL_GUARDED_BY(mutex_);  // until its report is decided
  uint64_t queued_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t stored_ ABSL_GUARDED_BY(mutex_);
  Status health_ ABSL_GUARDED_BY(mutex_);

  std::thread thread_;
};

}  // namespace coppice::relay

#endif  // COPPICE_SERVER_RELAY_EPOCH_POOL_H_
