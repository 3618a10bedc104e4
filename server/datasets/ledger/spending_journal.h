// A file, kept apart from the store, that notes what was spent of each dataset. Comparing a ledger
// with it shows whether the store has lost charges. It contains nothing private.

#ifndef COPPICE_SERVER_DATASETS_LEDGER_SPENDING_JOURNAL_H_
#define COPPICE_SERVER_DATASETS_LEDGER_SPENDING_JOURNAL_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "common/base/status.h"
#include "common/terms/sha256.h"
#include "server/datasets/ledger/account_book.h"
#include "server/datasets/ledger/accounting.h"

namespace coppice::ledger {

struct SpendingLine {
  std::string dataset;
  uint64_t entries = 0;  // of the dataset's ledger; 0: its name was freed
  Sha256Digest head{};   // the last entry's hash
  // Of both accounts together: what is lost is charged to each of them, whichever it was of.
  Cost spent{};

  friend bool operator==(const SpendingLine&, const SpendingLine&) = default;
};

// A text file: a header line, then one line per change of a ledger: dataset, number of entries,
// head, epsilon in 1e-9, delta in 1e-18, rho in 1e-12, check; separated by single spaces. Heads and
// checks are 64 hexadecimal digits; a check is the SHA-256 of the previous line's check (the header
// line for the first) and of the line without its own check. Lines are only added.
//
// Guarantee  a line is on disk once Append() has returned OK. Opening the file removes a line that
//            a crash cut short; a line that was changed, removed or moved is DataLoss. Lines
//            missing from the end go unnoticed, and so does a file that was made anew.
// Errors     Open(): FailedPrecondition if another process has the file, DataLoss that names the
//            line, else Unavailable. Append(): Unavailable; retrying the line writes it once.
// Threads    one Append() at a time. The file is locked while this lives.
class SpendingJournal {
 public:
  // Opens the file, or makes it, readable by its owner alone, if it does not exist.
  static StatusOr<std::unique_ptr<SpendingJournal>> Open(const std::string& path);
  virtual ~SpendingJournal() = default;

  // The lines that were there when the file was opened, in order.
  virtual const std::vector<SpendingLine>& lines() const = 0;
  virtual Status Append(const SpendingLine& line) = 0;
};

// By dataset, in order, without the lines from before a name was freed.
using LinesByDataset = std::map<std::string, std::vector<SpendingLine>>;
LinesByDataset ByDataset(absl::Span<const SpendingLine> lines);

struct JournalFinding {
  bool journal_is_behind = false;  // the ledger continues from the journal's last line
  // Set if the ledger lacks entries that the journal knows: all that they charged, as if nothing
  // had been refunded. That is at least what is lost.
  std::optional<Cost> lost{};
};

// Compares a ledger with the lines of its dataset. If every change of the ledger was noted, the
// ledger's spent amount and `lost` add up to at least what was really spent. They may add up to
// more: each line that the ledger lacks counts with all that it charged, and refunds are not
// subtracted.
JournalFinding CompareWithJournal(const AccountBook& book, absl::Span<const SpendingLine> lines);

// Returns the line that notes the ledger's current state.
SpendingLine LineOf(const AccountBook& book);

// The highest value of each amount in the lines.
Cost HighestSpent(absl::Span<const SpendingLine> lines);

}  // namespace coppice::ledger

#endif  // COPPICE_SERVER_DATASETS_LEDGER_SPENDING_JOURNAL_H_
