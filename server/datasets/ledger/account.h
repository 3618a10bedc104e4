// The account of one dataset as its callers see it, and what a job would do to it.

#ifndef COPPICE_SERVER_DATASETS_LEDGER_ACCOUNT_H_
#define COPPICE_SERVER_DATASETS_LEDGER_ACCOUNT_H_

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/terms/sha256.h"
#include "server/datasets/ledger/account_book.h"
#include "server/datasets/ledger/accounting.h"

namespace coppice::ledger {

// A range of ledger entries, counted from 0.
struct EntryRange {
  uint64_t first = 0;
  uint64_t max = std::numeric_limits<uint64_t>::max();
};
inline constexpr EntryRange kAllEntries{};
inline constexpr EntryRange kNoEntries{.max = 0};

struct Account {
  std::string dataset;
  BudgetCap cap;
  Cost spent;            // reserved and not returned, for the training rows
  RemainingBudget left;  // of the training account
  Cost reserve_spent{};  // the same of the reserve, where there is one
  RemainingBudget reserve_left{};
  uint64_t num_entries = 0;            // of the whole ledger
  std::vector<LedgerEntry> entries{};  // the requested ones, in order
  Sha256Digest head{};                 // the last entry's hash
  LedgerHold hold{};                   // closed: nothing is left; unconfirmed: no hashes are shown
};

// What is charged, and on whose behalf.
struct Charge {
  std::string job;
  AccountKind account = AccountKind::kTraining;
  bool is_evaluation = false;
};

struct Quote {
  Cost cost;
  Status fits;           // the answer that Reserve() would give
  RemainingBudget left;  // after the job if it fits; else the current amount
};

}  // namespace coppice::ledger

#endif  // COPPICE_SERVER_DATASETS_LEDGER_ACCOUNT_H_
