// A journal's content as the JSON that `collect history` prints.

#ifndef COPPICE_CLIENT_CLI_STUDIES_HISTORY_H_
#define COPPICE_CLIENT_CLI_STUDIES_HISTORY_H_

#include <vector>

#include "absl/types/span.h"
#include "client/cli/terminal/output.h"
#include "client/journal.h"

namespace coppice::cli {

// One object a study and fingerprint: what was sent, what waits, and the epsilon of one report.
std::vector<Json> DescribeHistory(absl::Span<const JournalEntry> entries);

// One object per answer: whose it is, to whom and what it says, bytes in hexadecimal.
std::vector<Json> DescribeAnswers(absl::Span<const JournalEntry> entries);

// How many subjects there are, and what the one that spent most has spent.
Json DescribeSpending(absl::Span<const JournalEntry> entries);

}  // namespace coppice::cli

#endif  // COPPICE_CLIENT_CLI_STUDIES_HISTORY_H_
