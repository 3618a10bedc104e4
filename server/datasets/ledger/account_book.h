// One dataset's ledger in memory: its entries in order, and their totals.

#ifndef COPPICE_SERVER_DATASETS_LEDGER_ACCOUNT_BOOK_H_
#define COPPICE_SERVER_DATASETS_LEDGER_ACCOUNT_BOOK_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/base/text.h"
#include "common/model/certificate.h"
#include "common/terms/sha256.h"
#include "server/datasets/ledger/accounting.h"

namespace coppice::ledger {

// These numbers are stable: records hold them.
enum class EntryKind : uint8_t { kOpen = 1, kReserve = 2, kSettle = 3, kReturn = 4, kWriteOff = 5 };

struct LedgerEntry {
  uint64_t sequence = 0;
  EntryKind kind = EntryKind::kOpen;
  int64_t unix_seconds = 0;
  std::string job{};  // empty for kOpen and kWriteOff
  // Of a job's entries; those that end it are charged nothing, and name the account that was.
  AccountKind account = AccountKind::kTraining;
  bool is_evaluation = false;  // `job` is the id of an evaluation
  // kReserve: the charge. kSettle: the cost of the releases made. kReturn: the refund. kWriteOff:
  // the charges whose entries were lost.
  Cost cost{};
  std::vector<Release> releases{};  // kReserve: planned. kSettle: made
  Sha256Digest hash{};              // of its stored bytes, which include the previous entry's hash

  friend bool operator==(const LedgerEntry&, const LedgerEntry&) = default;
};

// Why a dataset's budget cannot be spent. These numbers are stable: records hold them.
enum class HoldReason : uint8_t { kNone = 0, kUnconfirmed = 1, kClosed = 2 };
// A hold on a ledger, with the ledger's head at the time when it began.
struct LedgerHold {
  HoldReason reason = HoldReason::kNone;
  int64_t unix_seconds = 0;
  Sha256Digest head{};  // zeros: the ledger had no entry
  // What the lost entries charged according to the spending journal; none: no journal knows.
  std::optional<Cost> lost{};
};

// Guarantee  entries are only added, and only in a permitted order: the cap first and once; for
//            each job one reservation that fits the cap, then at most one end, which settles or
//            returns it. A write-off stays within the cap. So what is spent never passes the cap,
//            in either account. An evaluation is a job here.
// Errors     those of Ledger, in ledger.h.
// Threads    one writer, which alone may call Check() while others read; see ledger.h.
class AccountBook {
 public:
  AccountBook() = default;
  AccountBook(std::string dataset, const BudgetCap& cap)
      : dataset_(std::move(dataset)), cap_(cap) {}

  const std::string& dataset() const { return dataset_; }
  const BudgetCap& cap() const { return cap_; }
  const std::vector<LedgerEntry>& entries() const { return entries_; }
  // The amounts that were reserved and not returned, plus those written off.
  const Spending& spent() const { return spent_; }
  // What spent() will be after `entry`, which Check() must have allowed, is added.
  Spending SpentAfter(const LedgerEntry& entry) const;
  uint64_t next_sequence() const { return entries_.size(); }
  // The hash of the last entry; zeros if there is none.
  Sha256Digest head() const { return entries_.empty() ? Sha256Digest{} : entries_.back().hash; }

  // Returns what `job` was charged; FailedPrecondition unless it has a reservation that is neither
  // settled nor returned.
  StatusOr<Cost> ReservedFor(std::string_view job) const;
  // The entry that charged the job; null if there is none.
  const LedgerEntry* ChargeOf(std::string_view job) const;

  // OK if `entry` may come next. Its hash is not checked.
  Status Check(const LedgerEntry& entry) const;
  // Adds an entry that Check() allowed.
  void Append(LedgerEntry entry);

 private:
  struct Job {
    Cost reserved;
    AccountKind account = AccountKind::kTraining;
    uint64_t sequence = 0;  // of the charge
    EntryKind last = EntryKind::kReserve;
  };

  Status CheckReserve(const LedgerEntry& entry) const;
  Status CheckWriteOff(const LedgerEntry& entry) const;

  std::string dataset_;
  BudgetCap cap_;
  std::vector<LedgerEntry> entries_;
  StringMap<Job> jobs_;
  Spending written_off_;
  Spending spent_;
};

}  // namespace coppice::ledger

#endif  // COPPICE_SERVER_DATASETS_LEDGER_ACCOUNT_BOOK_H_
