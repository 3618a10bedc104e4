// The schedules find each planted bug, so the checker can fail.

#include <gtest/gtest.h>

#include <cstdint>

#include "tests/faults/schedule_tests.h"
#include "tests/fleet/world.h"
#include "tests/integration/balancer.h"
#include "tests/support/missing_package.h"
#include "tests/support/postgres_server.h"

namespace coppice::fleet_faults {
namespace {

constexpr uint64_t kSchedules = 15;

class FleetTwinTest : public ::testing::TestWithParam<Bug> {};

TEST_P(FleetTwinTest, TheSchedulesFindTheBug) {
  SKIP_UNLESS_INSTALLED(testing::PostgresServer::IsInstalled(), testing::PostgresServer::kMissing);
  SKIP_UNLESS_INSTALLED(testing::Balancer::IsInstalled(), testing::Balancer::kMissing);
  FleetCast cast;
  faults::ExpectIsFound(cast, GetParam(), kSchedules);
}

INSTANTIATE_TEST_SUITE_P(Bugs, FleetTwinTest, ::testing::ValuesIn(AllBugs()),
                         faults::NameOfBug<Bug>);

}  // namespace
}  // namespace coppice::fleet_faults
