// Schedules of faults over three real curators on a real PostgreSQL: whatever is killed, paused or
// cut off, nothing acknowledged is lost, nothing is counted twice, no read is stale and no budget
// is overspent. fleet_fault_run runs thousands.
//
// COPPICE_FLEET_SCHEDULES says how many (20 if not set).

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>

#include "tests/faults/schedule_tests.h"
#include "tests/fleet/world.h"
#include "tests/integration/balancer.h"
#include "tests/support/missing_package.h"
#include "tests/support/postgres_server.h"

namespace coppice::fleet_faults {
namespace {

uint64_t NumSchedules() {
  const char* const text = std::getenv("COPPICE_FLEET_SCHEDULES");
  return text == nullptr ? 20 : static_cast<uint64_t>(std::atoi(text));
}

TEST(FleetSchedulesTest, NothingIsLostCountedTwiceReadStaleOrOverspent) {
  SKIP_UNLESS_INSTALLED(testing::PostgresServer::IsInstalled(), testing::PostgresServer::kMissing);
  SKIP_UNLESS_INSTALLED(testing::Balancer::IsInstalled(), testing::Balancer::kMissing);
  FleetCast cast;
  const Tally tally = faults::ExpectEverythingHolds(cast, NumSchedules());
  // The schedules met the faults that they were made for.
  EXPECT_GT(tally.accepted, 100 * NumSchedules());
  EXPECT_GT(tally.duplicates, 50 * NumSchedules());
  EXPECT_GT(tally.reads, 20 * NumSchedules());
  EXPECT_GT(tally.failed, 0u);
  EXPECT_GT(tally.leaders, NumSchedules());
  EXPECT_GT(tally.jobs_done, NumSchedules());
}

}  // namespace
}  // namespace coppice::fleet_faults

namespace coppice::faults {

INSTANTIATE_TYPED_TEST_SUITE_P(Fleet, ScheduleTest, fleet_faults::FleetCast);

}  // namespace coppice::faults
