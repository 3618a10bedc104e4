// The account of one dataset as its callers see it, and what a job would make of it.

#ifndef COPPICE_SERVER_LEDGER_ACCOUNT_H_
#define COPPICE_SERVER_LEDGER_ACCOUNT_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/study/sha256.h"
#include "server/ledger/account_book.h"
#include "server/ledger/accounting.h"

namespace coppice::ledger {

struct Account {
  std::string dataset;
  BudgetCap cap;
  Cost spent;  // reserved and not returned
  RemainingBudget left;
  std::vector<LedgerEntry> entries;  // all, in order
  Sha256Digest head{};               // the last entry's hash
  LedgerHold hold{};                 // `left` is nothing if it is closed; no hashes if unconfirmed
};

struct Quote {
  Cost cost;
  absl::Status fits;     // as Reserve() would answer
  RemainingBudget left;  // after the job if it fits; else as it is
};

}  // namespace coppice::ledger

#endif  // COPPICE_SERVER_LEDGER_ACCOUNT_H_
