// What was spent of each dataset, in a file that is kept apart from the store: it shows that a
// store has lost charges. Nothing private is in it.
//
// File       text. A header line, then one line a change of a ledger: dataset, number of entries,
//            head, epsilon in 1e-9, delta in 1e-18, rho in 1e-12, check; by single spaces. Heads
//            and checks are 64 hexadecimal digits; a check is SHA-256 of the check before (of the
//            header line for the first) and of the line without its own. Lines are only added.
// Guarantee  what Append() returned OK for is on disk. A line that a crash cut short is removed
//            when the file is opened; a line that was changed, removed or moved is DataLoss. Lines
//            that are missing from the end cannot be told, nor a file that was made anew.
// Errors     Open(): FailedPrecondition if another process has it, DataLoss that names the line,
//            else Unavailable. Append(): Unavailable; the line may be tried again, and is there
//            once.
// Threads    Append() one at a time. The file is locked while this lives.

#ifndef COPPICE_SERVER_LEDGER_SPENDING_JOURNAL_H_
#define COPPICE_SERVER_LEDGER_SPENDING_JOURNAL_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/study/sha256.h"
#include "server/ledger/accounting.h"

namespace coppice::ledger {

struct SpendingLine {
  std::string dataset;
  uint64_t entries = 0;  // of its ledger; 0: its name was freed
  Sha256Digest head{};   // the last entry's hash
  Cost spent{};

  friend bool operator==(const SpendingLine&, const SpendingLine&) = default;
};

class SpendingJournal {
 public:
  // Makes the file, for its owner alone, if it is not there.
  static absl::StatusOr<std::unique_ptr<SpendingJournal>> Open(const std::string& path);
  virtual ~SpendingJournal() = default;

  // Those that were there when it was opened, in order.
  virtual const std::vector<SpendingLine>& lines() const = 0;
  virtual absl::Status Append(const SpendingLine& line) = 0;
};

}  // namespace coppice::ledger

#endif  // COPPICE_SERVER_LEDGER_SPENDING_JOURNAL_H_
