// A ledger beside what the spending journal says of it.
//
// Guarantee  what is spent in the ledger and `lost` together are no less than what was spent in
//            truth, if every change of the ledger was noted. A job that the ledger lacks was
//            reserved in a line that it lacks, and each such line is counted at all that it
//            charged; what a line gave back is not taken off. So it may be more than is lost.

#ifndef COPPICE_SERVER_LEDGER_JOURNAL_CHECK_H_
#define COPPICE_SERVER_LEDGER_JOURNAL_CHECK_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "server/ledger/account_book.h"
#include "server/ledger/spending_journal.h"

namespace coppice::ledger {

// By dataset, in order; none from before its name was freed.
using LinesByDataset = std::map<std::string, std::vector<SpendingLine>>;
LinesByDataset ByDataset(absl::Span<const SpendingLine> lines);

struct JournalFinding {
  bool journal_is_behind = false;  // and the ledger goes on from its last line
  // The ledger lacks entries that the journal knows. With them all that they charged, if nothing of
  // it was given back: at least what is lost.
  std::optional<Cost> lost{};
};
// `lines` are those of the book's dataset.
JournalFinding CompareWithJournal(const AccountBook& book, absl::Span<const SpendingLine> lines);

// How the ledger is noted as it stands.
SpendingLine LineOf(const AccountBook& book);

// The highest amounts of the lines.
Cost HighestSpent(absl::Span<const SpendingLine> lines);

}  // namespace coppice::ledger

#endif  // COPPICE_SERVER_LEDGER_JOURNAL_CHECK_H_
