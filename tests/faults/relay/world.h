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

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "tests/faults/cast.h"
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

  static constexpr std::array<faults::TallyPart<Tally>, 14> Parts();
};
constexpr std::array<faults::TallyPart<Tally>, 14> Tally::Parts() {
  return {{{&Tally::steps, "steps"},
           {&Tally::relay_ends, "ends of the relay"},
           {&Tally::curator_ends, "ends of the curator"},
           {&Tally::deals, "deals"},
           {&Tally::short_deals, "too small"},
           {&Tally::batches, "batches"},
           {&Tally::refused, "parts refused"},
           {&Tally::lost, "lost"},
           {&Tally::late, "late"},
           {&Tally::forged, "forged"},
           {&Tally::stored, "reports stored"},
           {&Tally::counted, "counted"},
           {&Tally::images, "images"},
           {&Tally::models, "models"}}};
}

using RunResult = faults::RunResult<Tally>;

// Runs `schedule` in a fresh folder inside `folder`, then lets everything work again and checks
// that the curator got what it must. A violation: "at step 12 (work): a deal has two batches".
RunResult RunSchedule(absl::Span<const Step> schedule, const std::string& folder,
                      Bug bug = Bug::kNone);

// The cast of a relay between devices and curator (tests/faults/cast.h).
class RelayCast : public faults::CastDefaults {
 public:
  using Step = relay_faults::Step;
  using Bug = relay_faults::Bug;
  using Tally = relay_faults::Tally;
  static constexpr std::string_view kName = "relay_fault_run";
  static constexpr std::string_view kTooLarge = "answer 24";
  static constexpr uint64_t kSchedules = 100;
  static constexpr uint64_t kTellEvery = 50;
  static constexpr size_t kShrinkTries = 150;

  static std::vector<Bug> Bugs() { return AllBugs(); }
  static Schedule Make(uint64_t seed) { return MakeSchedule(seed); }
  static Schedule MakeFor(Bug, uint64_t seed) { return MakeSchedule(seed); }
  static std::string ToText(absl::Span<const Step> steps) { return relay_faults::ToText(steps); }
  static StatusOr<Schedule> Parse(std::string_view text) { return ParseSchedule(text); }

  static RunResult Run(absl::Span<const Step> steps, uint64_t, const std::string& folder, Bug bug) {
    return RunSchedule(steps, folder, bug);
  }
};

}  // namespace coppice::relay_faults

#endif  // COPPICE_TESTS_FAULTS_RELAY_WORLD_H_
