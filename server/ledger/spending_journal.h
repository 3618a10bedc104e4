// What was spent of each dataset, in a file that is kept apart from the store, and a ledger
// compared with it: the journal shows that a store has lost charges. Nothing private is in it.

#ifndef COPPICE_SERVER_LEDGER_SPENDING_JOURNAL_H_
#define COPPICE_SERVER_LEDGER_SPENDING_JOURNAL_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/study/sha256.h"
#include "server/ledger/account_book.h"
#include "server/ledger/accounting.h"

namespace coppice::ledger {

struct SpendingLine {
  std::string dataset;
  uint64_t entries = 0;  // of its ledger; 0: its name was freed
  Sha256Digest head{};   // the last entry's hash
  Cost spent{};

  friend bool operator==(const SpendingLine&, const SpendingLine&) = default;
};

// A file of text: a header line, then one line per change of a ledger: dataset, number of entries,
// head, epsilon in 1e-9, delta in 1e-18, rho in 1e-12, check; by single spaces. Heads and checks
// are 64 hexadecimal digits; a check is the SHA-256 of the check before (of the header line for the
// first) and of the line without its own. Lines are only added.
//
// Guarantee  what Append() returned OK for is on disk. A line that a crash cut short is removed
//            when the file is opened; a line that was changed, removed or moved is DataLoss. Lines
//            that are missing from the end go unseen, and so does a file that was made anew.
// Errors     Open(): FailedPrecondition if another process has it, DataLoss that names the line,
//            else Unavailable. Append(): Unavailable; the line may be tried again, and is there
//            once.
// Threads    Append() one at a time. The file is locked while this lives.
class SpendingJournal {
 public:
  // Makes the file, for its owner alone, if it is not there.
  static absl::StatusOr<std::unique_ptr<SpendingJournal>> Open(const std::string& path);
  virtual ~SpendingJournal() = default;

  // The lines that were there when it was opened, in order.
  virtual const std::vector<SpendingLine>& lines() const = 0;
  virtual absl::Status Append(const SpendingLine& line) = 0;
};

// By dataset, in order; none from before its name was freed.
using LinesByDataset = std::map<std::string, std::vector<SpendingLine>>;
LinesByDataset ByDataset(absl::Span<const SpendingLine> lines);

struct JournalFinding {
  bool journal_is_behind = false;  // and the ledger goes on from its last line
  // The ledger lacks entries that the journal knows. With them all that they charged, if nothing of
  // it was refunded: at least what is lost.
  std::optional<Cost> lost{};
};

// Compares a ledger with the lines of its dataset. If every change of the ledger was noted, what is
// spent in the ledger and `lost` are together at least what was spent in truth. It may be more: a
// job that the ledger lacks was reserved in a line that it lacks, each such line counts with all
// that it charged, and what a line refunded is not taken off.
JournalFinding CompareWithJournal(const AccountBook& book, absl::Span<const SpendingLine> lines);

// The line that notes the ledger as it stands.
SpendingLine LineOf(const AccountBook& book);

// The highest amounts of the lines.
Cost HighestSpent(absl::Span<const SpendingLine> lines);

}  // namespace coppice::ledger

#endif  // COPPICE_SERVER_LEDGER_SPENDING_JOURNAL_H_
