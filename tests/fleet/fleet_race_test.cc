// 64 jobs race for the budget of one dataset through eight curators, while the leader is killed,
// paused and cut off, and once with a failover: the ledger never exceeds its cap.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "tests/fleet/jobs.h"
#include "tests/fleet/schedule.h"
#include "tests/fleet/world.h"
#include "tests/integration/balancer.h"
#include "tests/integration/daemon.h"
#include "tests/support/missing_package.h"
#include "tests/support/temp_dir.h"

namespace coppice::fleet_faults {
namespace {

constexpr size_t kEight = 8;

void RaceThrough(const std::string& schedule, Database& database) {
  const testing::TempDir folder;
  testing::Synthesize(folder.path() + "/rows", "private=400,public=100,test=1");
  const RunResult result =
      RunSchedule(*ParseSchedule(schedule), database,
                  {.curators = kEight,
                   .racing_jobs = Jobs::kMost,
                   .rows = folder.path() + "/rows",
                   .folder = folder.path() + "/logs",
                   .clock_library = testing::BinaryPath("../tests/libcoppice_test_clock.so")});
  ASSERT_EQ(result.violation, "");
  EXPECT_GE(result.tally.jobs, static_cast<uint64_t>(Jobs::kMost));
  // Each job wants 1 of an epsilon of 16. Jobs that failed keep their charge.
  EXPECT_GT(result.tally.jobs_done, 0u);
  EXPECT_LE(result.tally.jobs_done, static_cast<uint64_t>(Jobs::kCap));
  EXPECT_GT(result.tally.leaders, 1u);
}

TEST(FleetRaceTest, SixtyFourJobsOnEightCuratorsThatAreKilledStayWithinTheCap) {
  SKIP_UNLESS_INSTALLED(testing::PostgresServer::IsInstalled(), testing::PostgresServer::kMissing);
  SKIP_UNLESS_INSTALLED(testing::Balancer::IsInstalled(), testing::Balancer::kMissing);
  Database database;
  RaceThrough("kill 3 2 3, pause 3 8 3, cut_db 3 1 8 3, kill 3 1 3, kill 3 1 3", database);
}

TEST(FleetRaceTest, SixtyFourJobsOnEightCuratorsStayWithinTheCapOverAFailover) {
  SKIP_UNLESS_INSTALLED(testing::PostgresServer::IsInstalled(), testing::PostgresServer::kMissing);
  SKIP_UNLESS_INSTALLED(testing::Balancer::IsInstalled(), testing::Balancer::kMissing);
  Database database(/*synchronous=*/true);
  RaceThrough("kill 3 2 3, failover 1 3 3, kill 3 1 3", database);
}

}  // namespace
}  // namespace coppice::fleet_faults
