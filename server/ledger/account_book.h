// One dataset's ledger in memory: its entries in order, and what they come to.

#ifndef COPPICE_SERVER_LEDGER_ACCOUNT_BOOK_H_
#define COPPICE_SERVER_LEDGER_ACCOUNT_BOOK_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/study/sha256.h"
#include "common/tree/certificate.h"
#include "server/ledger/accounting.h"

namespace coppice::ledger {

// Stable numbers: records hold them.
enum class EntryKind : uint8_t { kOpen = 1, kReserve = 2, kSettle = 3, kReturn = 4, kWriteOff = 5 };

struct LedgerEntry {
  uint64_t sequence = 0;
  EntryKind kind = EntryKind::kOpen;
  int64_t unix_seconds = 0;
  std::string job{};  // empty for kOpen and kWriteOff
  // kReserve: what was charged. kSettle: what the releases made cost. kReturn: what was refunded.
  // kWriteOff: charges whose entries were lost.
  Cost cost{};
  std::vector<Release> releases{};  // kReserve: planned. kSettle: made
  Sha256Digest hash{};              // of its stored bytes, which hold the hash of the one before

  friend bool operator==(const LedgerEntry&, const LedgerEntry&) = default;
};

// Why a dataset's budget cannot be spent. Stable numbers: records hold them.
enum class HoldReason : uint8_t { kNone = 0, kUnconfirmed = 1, kClosed = 2 };
// A hold on a ledger, and the ledger's head when it began.
struct LedgerHold {
  HoldReason reason = HoldReason::kNone;
  int64_t unix_seconds = 0;
  Sha256Digest head{};  // zeros: it had no entry
  // What lost entries charged, by the spending journal; none: no journal knows.
  std::optional<Cost> lost{};
};

// Guarantee  entries are only added, and only if they may come next: the cap first and once; for a
//            job one reservation that fits the cap, then at most one end, by settling or by return.
//            A loss is written off within the cap. So what is spent never passes the cap.
// Errors     those of Ledger, in ledger.h.
// Threads    one writer, who alone may call Check() while others read; see ledger.h.
class AccountBook {
 public:
  AccountBook() = default;
  AccountBook(std::string dataset, const BudgetCap& cap)
      : dataset_(std::move(dataset)), cap_(cap) {}

  const std::string& dataset() const { return dataset_; }
  const BudgetCap& cap() const { return cap_; }
  const std::vector<LedgerEntry>& entries() const { return entries_; }
  // What was reserved and not returned, and what was written off.
  const Cost& spent() const { return spent_; }
  // What spent() will be once `entry`, which Check() allowed, is added.
  Cost SpentAfter(const LedgerEntry& entry) const;
  uint64_t next_sequence() const { return entries_.size(); }
  // The hash of the last entry; zeros if there is none.
  Sha256Digest head() const { return entries_.empty() ? Sha256Digest{} : entries_.back().hash; }

  // What `job` was charged; FailedPrecondition unless it has a reservation that is neither settled
  // nor returned.
  absl::StatusOr<Cost> ReservedFor(absl::string_view job) const;

  // OK if `entry`, whatever its hash, may come next.
  absl::Status Check(const LedgerEntry& entry) const;
  // Adds what Check() allowed.
  void Append(LedgerEntry entry);

 private:
  struct Job {
    Cost reserved;
    EntryKind last = EntryKind::kReserve;
  };

  absl::Status CheckReserve(const LedgerEntry& entry) const;

  std::string dataset_;
  BudgetCap cap_;
  std::vector<LedgerEntry> entries_;
  absl::flat_hash_map<std::string, Job> jobs_;
  Cost written_off_;
  Cost spent_;
};

}  // namespace coppice::ledger

#endif  // COPPICE_SERVER_LEDGER_ACCOUNT_BOOK_H_
