// A fleet of real curators on a real database, with devices, readers and jobs, driven by a
// schedule.
//
// coppiced with its processes, signals and sockets, PostgreSQL, and the client's library are real.
// The network between them (relay.h) and, where a schedule sets them, clocks are simulated. What
// witness.h and jobs.h say is checked all along, and that no curator ends in a way that it may not.
// At the end, when every fault is over, a report must be accepted within 75 s of the last fault of
// a curator, or five minutes of one of the database (five times what a slow machine takes), and the
// store's books must hold each report once.
//
// Threads    for one.

#ifndef COPPICE_TESTS_FLEET_WORLD_H_
#define COPPICE_TESTS_FLEET_WORLD_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "absl/types/span.h"
#include "tests/faults/cast.h"
#include "tests/fleet/database.h"
#include "tests/fleet/schedule.h"
#include "tests/fleet/twins.h"

namespace coppice::fleet_faults {

struct RunOptions {
  Bug bug = Bug::kNone;
  uint64_t seed = 1;  // of the traffic
  bool fleet = true;  // else one daemon without a balancer
  size_t curators = kCurators;
  int racing_jobs = 2;  // submitted at a time
  std::string rows;     // a folder with made-up tables
  std::string folder;   // for logs
  std::string clock_library{};
};

// What a run met, to show that faults were met and not only planned.
struct Tally {
  uint64_t runs = 0, steps = 0;
  uint64_t calls = 0, accepted = 0, duplicates = 0, failed = 0, reads = 0;
  uint64_t jobs = 0, jobs_done = 0;
  uint64_t leaders = 0;  // that wrote something
  uint64_t lost_leases = 0, drained = 0, failed_starts = 0;

  static constexpr std::array<faults::TallyPart<Tally>, 13> Parts();
};
constexpr std::array<faults::TallyPart<Tally>, 13> Tally::Parts() {
  return {{{&Tally::runs, "runs"},
           {&Tally::steps, "steps"},
           {&Tally::calls, "calls of devices"},
           {&Tally::accepted, "accepted"},
           {&Tally::duplicates, "duplicates"},
           {&Tally::failed, "failed"},
           {&Tally::reads, "reads"},
           {&Tally::jobs, "jobs"},
           {&Tally::jobs_done, "trained"},
           {&Tally::leaders, "leaders that wrote"},
           {&Tally::lost_leases, "leases that were found lost"},
           {&Tally::drained, "curators drained"},
           {&Tally::failed_starts, "starts that failed"}}};
}

using RunResult = faults::RunResult<Tally>;

// Fails the current run and every later one, so that a signal leaves no process behind.
void Interrupt();
bool IsInterrupted();

RunResult RunSchedule(absl::Span<const Step> schedule, Database& database,
                      const RunOptions& options);

// The cast of a fleet of real processes (tests/faults/cast.h). Times are real, so a schedule that
// has failed once may not fail again. COPPICE_BIN_DIR is where the programs are.
class FleetCast : public faults::CastDefaults {
 public:
  using Step = fleet_faults::Step;
  using Bug = fleet_faults::Bug;
  using Tally = fleet_faults::Tally;
  static constexpr std::string_view kName = "fleet_fault_run";
  static constexpr std::string_view kTooLarge = "kill 9 0 0";
  static constexpr uint64_t kTellEvery = 10;
  static constexpr size_t kShrinkTries = 0;
  static constexpr bool kKeepsLogs = true;

  static std::vector<Bug> Bugs() { return AllBugs(); }
  Schedule Make(uint64_t seed) const { return MakeSchedule(seed, {.failover = failover_}); }
  // Two leaders act at once only in the seconds between the taking of a lease and its loss.
  static Schedule MakeFor(Bug bug, uint64_t seed);
  static std::string ToText(absl::Span<const Step> steps) { return fleet_faults::ToText(steps); }
  static StatusOr<Schedule> Parse(std::string_view text) { return ParseSchedule(text); }

  void AddFlags(CLI::App& app);  // defined by the program alone
  std::string ReplayFlags() const;
  bool IsInterrupted() const { return fleet_faults::IsInterrupted(); }
  RunResult Run(absl::Span<const Step> steps, uint64_t seed, const std::string& folder, Bug bug);

 private:
  bool single_ = false, failover_ = false;
  std::unique_ptr<Database> database_;
};

}  // namespace coppice::fleet_faults

#endif  // COPPICE_TESTS_FLEET_WORLD_H_
