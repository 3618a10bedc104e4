// A raw row where a report belongs must not compile.

#include <vector>

#include "client/device/journal.h"

namespace coppice {

void Send(const PrivateReport& report);

void Use(const Row& row, const JournalEntry& entry) {
#ifdef COPPICE_MISUSE
  static_cast<void>(entry);
  Send(row);
#else
  static_cast<void>(row);
  Send(entry.report);
#endif
}

}  // namespace coppice
