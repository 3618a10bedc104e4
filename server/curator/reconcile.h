// Whether what was counted at different places agrees.
//
// Why     each number is kept where its event happens, so a report that is lost, or counted twice,
//         between two places makes two of them differ.
// Errors  Internal, naming the study and both numbers.

#ifndef COPPICE_SERVER_CURATOR_RECONCILE_H_
#define COPPICE_SERVER_CURATOR_RECONCILE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"

namespace coppice {

// What is known of one study at one moment between two groups of reports.
struct StudyTotals {
  std::string study;
  uint64_t accepted = 0;
  uint64_t in_sums = 0;        // reports that the sums say they hold
  bool open = false;           // a sealed study keeps no spent tickets in memory
  uint64_t spent_tickets = 0;  // of an open study
};

// accepted = in the sums = spent tickets.
absl::Status ReconcileTotals(const StudyTotals& totals);

}  // namespace coppice

#endif  // COPPICE_SERVER_CURATOR_RECONCILE_H_
