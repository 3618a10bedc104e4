// A SpendingJournal in memory; one append may fail, as when a sync is lost or late.

#ifndef COPPICE_TESTS_SERVER_DATASETS_LEDGER_MEMORY_JOURNAL_H_
#define COPPICE_TESTS_SERVER_DATASETS_LEDGER_MEMORY_JOURNAL_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "server/datasets/ledger/spending_journal.h"

namespace coppice::testing {

struct AppendFault {
  size_t append = SIZE_MAX;  // the one that fails, counted from 0
  bool fatal = false;        // every later one fails too
};

class MemoryJournal final : public ledger::SpendingJournal {
 public:
  // Starts with `lines` in the file.
  explicit MemoryJournal(std::vector<ledger::SpendingLine> lines = {},
                         const AppendFault& fault = {})
      : lines_(lines), file_(std::move(lines)), fault_(fault) {}

  const std::vector<ledger::SpendingLine>& lines() const override { return lines_; }
  Status Append(const ledger::SpendingLine& line) override {
    if (dead_) return UnavailableError("the journal's disk is gone");
    if (appends_++ == fault_.append) {
      dead_ = fault_.fatal;
      return UnavailableError("the journal's sync failed");
    }
    file_.push_back(line);
    return OkStatus();
  }

  // What the next daemon finds.
  const std::vector<ledger::SpendingLine>& file() const { return file_; }
  size_t appends() const { return appends_; }

 private:
  const std::vector<ledger::SpendingLine> lines_;
  std::vector<ledger::SpendingLine> file_;
  const AppendFault fault_;
  size_t appends_ = 0;
  bool dead_ = false;
};

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_SERVER_DATASETS_LEDGER_MEMORY_JOURNAL_H_
