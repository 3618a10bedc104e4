#include "server/ledger/journal_check.h"

namespace coppice::ledger {
namespace {

bool IsIn(const AccountBook& book, const SpendingLine& line) {
  return line.entries > 0 && line.entries <= book.entries().size() &&
         book.entries()[line.entries - 1].hash == line.head;
}

// All that these lines charged beyond `spent`. What one of them gave back is not taken off: the
// ledger may have given it back too, on a way of its own, and cannot do so twice.
Cost ChargedBy(absl::Span<const SpendingLine> lines, Cost spent) {
  Cost charged;
  for (const SpendingLine& line : lines) {
    charged =
        Plus(charged,
             {.epsilon_nanos = SaturatingSubtract(line.spent.epsilon_nanos, spent.epsilon_nanos),
              .delta_atto = SaturatingSubtract(line.spent.delta_atto, spent.delta_atto),
              .rho_pico = SaturatingSubtract(line.spent.rho_pico, spent.rho_pico)});
    spent = line.spent;
  }
  return charged;
}

}  // namespace

LinesByDataset ByDataset(absl::Span<const SpendingLine> lines) {
  LinesByDataset by_dataset;
  for (const SpendingLine& line : lines) {
    if (line.entries == 0) {
      by_dataset.erase(line.dataset);
    } else {
      by_dataset[line.dataset].push_back(line);
    }
  }
  return by_dataset;
}

JournalFinding CompareWithJournal(const AccountBook& book, absl::Span<const SpendingLine> lines) {
  size_t common = lines.size();  // lines up to the last one that the ledger has
  while (common > 0 && !IsIn(book, lines[common - 1])) --common;
  if (common == lines.size()) {
    return {.journal_is_behind = lines.empty() || lines.back().entries < book.entries().size()};
  }
  return {.lost = ChargedBy(lines.subspan(common), common == 0 ? Cost() : lines[common - 1].spent)};
}

SpendingLine LineOf(const AccountBook& book) {
  return {.dataset = book.dataset(),
          .entries = book.entries().size(),
          .head = book.head(),
          .spent = book.spent()};
}

Cost HighestSpent(absl::Span<const SpendingLine> lines) {
  Cost highest;
  for (const SpendingLine& line : lines) highest = Max(highest, line.spent);
  return highest;
}

}  // namespace coppice::ledger
