// A relay, its devices and its curator in one process, driven step by step by a schedule.
//
// The relay with its deals and its delivery, Studies with its committer and its opener, and the
// devices with their journals, trust and sealing are real; a crowd that answers without a journal
// fills the batches. The relay's disk (simulated_disk.h), the curator's store (faulty_store.h), the
// links, the clocks, and what a crash leaves are simulated.
// A schedule is repeatable except for keys, tickets and the deal, which are random: steps follow
// each other, and each waits for the threads of relay and curator.
// Threads    for one.

#ifndef COPPICE_TESTS_FAULTS_RELAY_WORLD_H_
#define COPPICE_TESTS_FAULTS_RELAY_WORLD_H_

#include <cstdint>
#include <string>

#include "absl/types/span.h"
#include "tests/faults/relay/schedule.h"
#include "tests/faults/relay/twins.h"

namespace coppice::relay_faults {

// What a run saw, to show that faults were met and not only planned.
struct Tally {
  uint64_t steps = 0;
  uint64_t relay_ends = 0;    // kills and power cuts
  uint64_t curator_ends = 0;  // kills
  uint64_t deals = 0;
  uint64_t short_deals = 0;  // erased for having too few reports
  uint64_t batches = 0;      // that the curator acknowledged
  uint64_t refused = 0;      // answers to parts
  uint64_t lost = 0;         // parts, or answers to them
  uint64_t late = 0;         // parts that came again
  uint64_t forged = 0;       // parts of a dishonest relay
  uint64_t stored = 0;       // reports, by the relay
  uint64_t counted = 0;      // reports, by the curator
  uint64_t images = 0;       // of the relay's disk, put back or run
  uint64_t models = 0;

  void Add(const Tally& other);
  std::string ToString() const;
};

struct RunResult {
  std::string violation;  // empty: everything held
  Tally tally;
};

// Runs `schedule` in a fresh folder inside `folder`, then lets everything work again and checks
// that the curator got what it must. A violation: "at step 12 (work): a deal has two batches".
RunResult RunSchedule(absl::Span<const Step> schedule, const std::string& folder,
                      Bug bug = Bug::kNone);

}  // namespace coppice::relay_faults

#endif  // COPPICE_TESTS_FAULTS_RELAY_WORLD_H_
