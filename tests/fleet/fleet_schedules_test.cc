// Schedules of faults over three real curators on a real PostgreSQL: whatever is killed, paused or
// cut off, nothing acknowledged is lost, nothing is counted twice, no read is stale and no budget
// is overspent. fleet_fault_run runs thousands.
//
// COPPICE_FLEET_SCHEDULES says how many (20 if not set).

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <string>

#include "common/base/status.h"
#include "common/base/text.h"
#include "tests/fleet/schedule.h"
#include "tests/fleet/world.h"
#include "tests/integration/balancer.h"
#include "tests/integration/daemon.h"
#include "tests/support/missing_package.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace coppice::fleet_faults {
namespace {

using ::coppice::testing::BinaryPath;

uint64_t NumSchedules() {
  const char* const text = std::getenv("COPPICE_FLEET_SCHEDULES");
  return text == nullptr ? 20 : static_cast<uint64_t>(std::atoi(text));
}

TEST(FleetSchedulesTest, NothingIsLostCountedTwiceReadStaleOrOverspent) {
  SKIP_UNLESS_INSTALLED(testing::PostgresServer::IsInstalled(), testing::PostgresServer::kMissing);
  SKIP_UNLESS_INSTALLED(testing::Balancer::IsInstalled(), testing::Balancer::kMissing);
  const testing::TempDir folder;
  testing::Synthesize(folder.path() + "/rows", "private=400,public=100,test=1");
  Database database;
  Tally tally;
  for (uint64_t seed = 1; seed <= NumSchedules(); ++seed) {
    const Schedule schedule = MakeSchedule(seed);
    const RunResult result =
        RunSchedule(schedule, database,
                    {.seed = seed,
                     .rows = folder.path() + "/rows",
                     .folder = StrCat(::testing::TempDir(), "coppice_fleet_seed", seed),
                     .clock_library = BinaryPath("../tests/libcoppice_test_clock.so")});
    ASSERT_EQ(result.violation, "") << "seed " << seed << ": " << ToText(schedule);
    tally.Add(result.tally);
  }
  RecordProperty("tally", tally.ToText());
  // The schedules met the faults that they were made for.
  EXPECT_GT(tally.accepted, 100 * NumSchedules());
  EXPECT_GT(tally.duplicates, 50 * NumSchedules());
  EXPECT_GT(tally.reads, 20 * NumSchedules());
  EXPECT_GT(tally.failed, 0u);
  EXPECT_GT(tally.leaders, NumSchedules());
  EXPECT_GT(tally.jobs_done, NumSchedules());
}

TEST(FleetScheduleTest, TheSameSeedMakesTheSameStepsAndTheyAreParsed) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    const Schedule schedule = MakeSchedule(seed, {.failover = seed % 2 == 0});
    EXPECT_EQ(MakeSchedule(seed, {.failover = seed % 2 == 0}), schedule);
    ASSERT_OK_AND_ASSIGN(const Schedule parsed, ParseSchedule(ToText(schedule)));
    EXPECT_EQ(parsed, schedule);
  }
  EXPECT_THAT(ParseSchedule("kill 9 0 0"),
              testing::StatusIs(StatusCode::kInvalidArgument, ::testing::HasSubstr("below 4")));
  EXPECT_THAT(ParseSchedule("nonsense"), testing::StatusIs(StatusCode::kInvalidArgument,
                                                           ::testing::HasSubstr("no such step")));
}

}  // namespace
}  // namespace coppice::fleet_faults
