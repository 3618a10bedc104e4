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

#include <cstdint>
#include <string>

#include "absl/time/time.h"
#include "absl/types/span.h"
#include "tests/fleet/database.h"
#include "tests/fleet/schedule.h"
#include "tests/fleet/twins.h"

namespace coppice::fleet_faults {

struct RunOptions {
  Bug bug = Bug::kNone;
  uint64_t seed = 1;  // of the traffic
  bool fleet = true;  // else one daemon without a balancer
  size_t curators = kCurators;
  int racing_jobs = 2;     // submitted at a time
  std::string rows;        // a folder with made-up tables
  std::string folder;      // for logs; kept if something is wrong
  bool keep_logs = false;  // else only if something is wrong
  std::string clock_library{};
};

// What a run met, to show that faults were met and not only planned.
struct Tally {
  uint64_t runs = 0, steps = 0;
  uint64_t calls = 0, accepted = 0, duplicates = 0, failed = 0, reads = 0;
  uint64_t jobs = 0, jobs_done = 0;
  uint64_t leaders = 0;  // that wrote something
  uint64_t lost_leases = 0, drained = 0, failed_starts = 0;
  absl::Duration longest_gap, longest_recovery;

  void Add(const Tally& other);
  std::string ToText() const;
};

struct RunResult {
  std::string violation;  // empty: everything held
  Tally tally;
};

// Fails the current run and every later one, so that a signal leaves no process behind.
void Interrupt();

RunResult RunSchedule(absl::Span<const Step> schedule, Database& database,
                      const RunOptions& options);

}  // namespace coppice::fleet_faults

#endif  // COPPICE_TESTS_FLEET_WORLD_H_
