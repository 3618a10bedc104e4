// The schedules find each planted bug, so the checker can fail.

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>

#include "tests/fleet/schedule.h"
#include "tests/fleet/world.h"
#include "tests/integration/balancer.h"
#include "tests/integration/daemon.h"
#include "tests/support/missing_package.h"
#include "tests/support/temp_dir.h"

namespace coppice::fleet_faults {
namespace {

constexpr uint64_t kSchedules = 15;

// Two leaders act at once only in the seconds between the taking of a lease and its loss.
Schedule ScheduleFor(Bug bug, uint64_t seed) {
  if (NeedsReplica(bug)) return *ParseSchedule("hang_replica 11 3, kill 3 3 0, failover 0 0 3");
  // Few sessions end between a batch and its answer, so all steps end one.
  if (bug == Bug::kHopefulOutcome) {
    return Schedule(15, {.kind = StepKind::kEndSession, .numbers = {1, 0}});
  }
  if (!NeedsFleet(bug)) return MakeSchedule(seed);
  return *ParseSchedule("cut_db 3 0 13 5, rest 5, rest 5, cut_db 3 0 13 5, rest 5, rest 5");
}

class FleetTwinTest : public ::testing::TestWithParam<Bug> {};

TEST_P(FleetTwinTest, IsFound) {
  SKIP_UNLESS_INSTALLED(testing::PostgresServer::IsInstalled(), testing::PostgresServer::kMissing);
  SKIP_UNLESS_INSTALLED(testing::Balancer::IsInstalled(), testing::Balancer::kMissing);
  const testing::TempDir folder;
  testing::Synthesize(folder.path() + "/rows", "private=400,public=100,test=1");
  std::unique_ptr<Database> database;
  for (uint64_t seed = 1; seed <= kSchedules; ++seed) {
    if (database == nullptr || NeedsReplica(GetParam())) {
      database = NeedsReplica(GetParam()) ? std::make_unique<Database>(/*synchronous=*/false)
                                          : std::make_unique<Database>();
    }
    const RunResult result =
        RunSchedule(ScheduleFor(GetParam(), seed), *database,
                    {.bug = GetParam(),
                     .seed = seed,
                     .rows = folder.path() + "/rows",
                     .folder = folder.path() + "/logs",
                     .clock_library = testing::BinaryPath("../tests/libcoppice_test_clock.so")});
    if (!result.violation.empty()) {
      RecordProperty("seed", static_cast<int>(seed));
      RecordProperty("violation", result.violation);
      return;
    }
  }
  FAIL() << "no schedule found it";
}

INSTANTIATE_TEST_SUITE_P(Bugs, FleetTwinTest, ::testing::ValuesIn(AllBugs()),
                         [](const auto& bug) { return std::string(BugName(bug.param)); });

}  // namespace
}  // namespace coppice::fleet_faults
