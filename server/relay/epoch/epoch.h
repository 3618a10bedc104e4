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

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/base/status.h"
#include "common/terms/relay_promise.h"
#include "common/terms/sha256.h"
#include "common/terms/ticket.h"
#include "server/relay/epoch/disk.h"

namespace coppice::relay {

inline constexpr size_t kEncapsulatedBytes = 32;
inline constexpr size_t kClaimBytes = 16;
// Shows that its sender was dealt a ticket. Secret until the epoch is frozen.
using Claim = std::array<uint8_t, kClaimBytes>;

// The rules that an epoch follows, from the terms that the relay signed.
struct EpochRules {
  EpochId epoch{};
  uint64_t min_batch = 0;               // at least 1
  int64_t deal_until_unix_seconds = 0;  // no ticket is dealt from then on
  int64_t freeze_at_unix_seconds = 0;   // no report is taken from then on; not before deal_until
  uint64_t ciphertext_bytes = 0;        // of every sealed report, at most kMaxCiphertextBytes

  friend bool operator==(const EpochRules&, const EpochRules&) = default;
};
inline constexpr uint64_t kMaxCiphertextBytes = uint64_t{1} << 17;

struct EpochSpec {
  EpochRules rules;
  std::vector<Ticket> tickets;  // in any order; at least min_batch, at most kMaxEpochTickets
  std::string documents;        // kept with the epoch as opaque bytes
};

enum class EpochState : uint8_t {
  kOpen,       // deals and takes reports, as its rules say
  kFrozen,     // its reports are a batch, which never changes
  kDropped,    // it had too few reports: nobody sees them
  kDelivered,  // the curator has the batch
};

struct Dealt {
  Ticket ticket;
  Claim claim{};
};

// As a device sends it: the fields may have any length.
struct SealedReport {
  std::string ticket;
  std::string claim;
  std::string encapsulated;
  std::string ciphertext;
};

// The same numbers as v1::SubmitOutcome.
enum class SubmitOutcome : uint8_t {
  kStored = 1,
  kConflict = 2,
  kClosed = 3,
  kUnknown = 4,
  kBadLength = 5,
};
using SubmitDone = std::function<void(StatusOr<SubmitOutcome>)>;

struct Frozen {
  bool dropped = false;
  uint64_t reports = 0;
  Sha256Digest root{};  // over the reports, as BatchHeader::root; zeros if dropped

  friend bool operator==(const Frozen&, const Frozen&) = default;
};

// Reports in the order of their tickets, column by column.
struct SealedColumns {
  uint64_t reports = 0;
  std::string tickets = {};       // 32 bytes each
  std::string encapsulated = {};  // kEncapsulatedBytes each
  std::string ciphertexts = {};   // ciphertext_bytes each
};

// Totals for metrics, and nothing per ticket.
struct EpochTotals {
  uint64_t tickets = 0;
  uint64_t dealt = 0;   // or skipped by a crash; 0 once it is frozen
  uint64_t stored = 0;  // full slots
  uint64_t lost = 0;    // of those, unreadable when this object froze it
};

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

  Epoch() = default;
  Epoch(const Epoch&) = delete;
  Epoch& operator=(const Epoch&) = delete;
  virtual ~Epoch() = default;

  virtual const EpochRules& rules() const = 0;
  virtual EpochState state() const = 0;
  virtual EpochTotals totals() const = 0;
  // For the operator. An error names the failed write or sync: only the disk knows what it contains
  // then, so Deal() or Submit() is Unavailable until the epoch is opened again.
  virtual Status health() const = 0;
  virtual StatusOr<std::string> ReadDocuments() const = 0;

  // ResourceExhausted: every ticket is dealt. FailedPrecondition: the time to deal is over.
  // Unavailable: a write has failed.
  virtual StatusOr<Dealt> Deal(absl::Time now) = 0;

  // `done` runs once, in this thread or in the epoch's own, and must not block. After an error the
  // same report may be sent again. ResourceExhausted: too many wait. Unavailable: a write has
  // failed.
  virtual void Submit(SealedReport report, absl::Time now, SubmitDone done) = 0;

  // Whether no more reports are taken: freeze_at has come, by any time that Submit() was given, or
  // every slot is full. Then nothing is dealt either.
  virtual bool IsOver(absl::Time now) const = 0;

  // Stops taking reports, makes them a batch or drops them, and erases the deal's key.
  // FailedPrecondition unless IsOver(now). Any other error leaves the epoch closed: open it again,
  // and repeat the call. Once it is frozen, the result never changes.
  virtual StatusOr<Frozen> Freeze(absl::Time now) = 0;

  // Returns at most `count` of the batch's reports, from number `first` on; fewer at its end.
  // FailedPrecondition unless the epoch is frozen or delivered.
  virtual StatusOr<SealedColumns> Read(uint64_t first, uint64_t count) const = 0;
  virtual Status MarkDelivered() = 0;

  // Removes the epoch from the disk, in any state; it answers kClosed from then on. After an error
  // List() or another call removes it.
  virtual Status Erase() = 0;
};

}  // namespace coppice::relay

#endif  // COPPICE_SERVER_RELAY_EPOCH_EPOCH_H_
