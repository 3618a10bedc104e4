#include "server/ledger/journal_check.h"

namespace coppice {
namespace {

bool IsIn(const AccountBook& book, const SpendingLine& line) {
  return line.entries > 0 && line.entries <= book.entries().size() &&
         book.entries()[line.entries - 1].hash == line.head;
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
  const Cost before = common == 0 ? Cost() : lines[common - 1].spent;
  const Cost after = HighestSpent(lines.subspan(common));
  return {.lost = Cost{.epsilon_nanos = Minus(after.epsilon_nanos, before.epsilon_nanos),
                       .delta_atto = Minus(after.delta_atto, before.delta_atto),
                       .rho_pico = Minus(after.rho_pico, before.rho_pico)}};
}

SpendingLine LineOf(const AccountBook& book) {
  return {.dataset = book.dataset(),
          .entries = book.entries().size(),
          .head = book.head(),
          .spent = book.spent()};
}

Cost HighestSpent(absl::Span<const SpendingLine> lines) {
  Cost highest;
  for (const SpendingLine& line : lines) highest = Highest(highest, line.spent);
  return highest;
}

}  // namespace coppice
