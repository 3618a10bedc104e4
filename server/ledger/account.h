// The account of one dataset as its callers see it, and what a job would make of it.

#ifndef COPPICE_SERVER_LEDGER_ACCOUNT_H_
#define COPPICE_SERVER_LEDGER_ACCOUNT_H_

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/study/sha256.h"
#include "server/ledger/account_book.h"
#include "server/ledger/accounting.h"

namespace coppice::ledger {

// Entries of a ledger, counted from 0.
struct EntryRange {
  uint64_t first = 0;
  uint64_t max = std::numeric_limits<uint64_t>::max();
};
inline constexpr EntryRange kAllEntries{};
inline constexpr EntryRange kNoEntries{.max = 0};

struct Account {
  std::string dataset;
  BudgetCap cap;
  Cost spent;  // reserved and not returned
  RemainingBudget left;
  uint64_t num_entries = 0;            // of the ledger
  std::vector<LedgerEntry> entries{};  // those that were asked for, in order
  Sha256Digest head{};                 // the last entry's hash
  LedgerHold hold{};  // `left` is nothing if it is closed; no hashes if unconfirmed
};

struct Quote {
  Cost cost;
  absl::Status fits;     // as Reserve() would answer
  RemainingBudget left;  // after the job if it fits; else as it is
};

}  // namespace coppice::ledger

#endif  // COPPICE_SERVER_LEDGER_ACCOUNT_H_
