// A schedule of faults for a fleet of real processes, step by step. world.h says what a step does.
//
// The same seed makes the same schedule, but times are real, so a run does not repeat exactly.
// tests/support/schedule.h says how a schedule is written: "kill 3 2 5, cut_db 0 1 8 3".
//
// Units      lengths and pauses in ticks of 250 ms, a quarter of the shortest lease.

#ifndef COPPICE_TESTS_FLEET_SCHEDULE_H_
#define COPPICE_TESTS_FLEET_SCHEDULE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "absl/types/span.h"
#include "common/base/status.h"
#include "tests/support/schedule.h"

namespace coppice::fleet_faults {

inline constexpr uint32_t kCurators = 3;         // unless a run has more
inline constexpr uint32_t kLeading = kCurators;  // in place of a curator: the leader
inline constexpr absl::Duration kTick = absl::Milliseconds(250);

// In the order of the table in schedule.cc. The last number of each is the pause after it.
enum class StepKind : uint8_t {
  kRest,          // nothing
  kKill,          // curator, length: SIGKILL, restarted after that
  kPause,         // curator, length: SIGSTOP, then SIGCONT
  kDrain,         // curator: SIGTERM, restarted once it has ended
  kSkew,          // curator, which: killed, and restarted with its wall clock minutes off
  kCutStore,      // curator, how, length: its link to the database
  kCutBalancer,   // curator, how, length: the balancer's link to it
  kEndSession,    // which: sessions at the database end: 0 all, 1 the one with the store's lock,
                  // 2 the others
  kHangDatabase,  // length: every process of the database stands still
  kStopDatabase,  // length: stopped as by a power cut, then restarted
  kFailover,      // how, length: the primary is lost and its replica promoted, once; 0: it stopped,
                  // 1: it hangs, 2: it hangs, goes on after `length`, and is ended as long after
  kHangReplica,   // length: the replica stands still
};
inline constexpr size_t kNumStepKinds = 12;
inline constexpr size_t kMostNumbers = 4;

using Step = testing::ScheduledStep<StepKind, kMostNumbers>;
using Schedule = std::vector<Step>;

struct ScheduleOptions {
  bool failover = false;  // each schedule has one, and may have a replica that stands still
};
Schedule MakeSchedule(uint64_t seed, const ScheduleOptions& options = {});

uint32_t PauseOf(const Step& step);  // ticks
bool IsOfDatabase(StepKind kind);    // whether no curator could work through the fault

std::string ToText(const Step& step);
std::string ToText(absl::Span<const Step> schedule);
// InvalidArgument names the step.
StatusOr<Schedule> ParseSchedule(std::string_view text);

}  // namespace coppice::fleet_faults

#endif  // COPPICE_TESTS_FLEET_SCHEDULE_H_
