// What a relay's deal takes and gives: its rules, tickets, reports and batches.

#ifndef COPPICE_SERVER_RELAY_EPOCH_EPOCH_TYPES_H_
#define COPPICE_SERVER_RELAY_EPOCH_EPOCH_TYPES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/terms/relay_promise.h"
#include "common/terms/sha256.h"
#include "common/terms/ticket.h"

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

}  // namespace coppice::relay

#endif  // COPPICE_SERVER_RELAY_EPOCH_EPOCH_TYPES_H_
