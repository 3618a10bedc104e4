// A fixed set of schedules: nothing acknowledged is lost, nothing is counted twice, and the
// schedules find each planted bug. fault_run runs thousands.

#include <cstdint>

#include "tests/faults/schedule_tests.h"
#include "tests/faults/world.h"

namespace coppice::testing {
namespace {

constexpr uint64_t kSchedules = 60;

TEST(FaultSchedulesTest, NothingAcknowledgedIsLostAndNothingIsCountedTwice) {
  CuratorCast cast;
  const Tally tally = faults::ExpectEverythingHolds(cast, kSchedules);
  // The schedules met the faults that they were made for.
  EXPECT_GT(tally.crashes, kSchedules);
  EXPECT_GT(tally.accepted, 10 * kSchedules);
  EXPECT_GT(tally.duplicates, 10 * kSchedules);
  EXPECT_GT(tally.refused, 0u);
  EXPECT_GT(tally.failed, 0u);
  EXPECT_GT(tally.lost, 0u);
  EXPECT_GT(tally.forged, kSchedules / 2);
  EXPECT_GT(tally.declined, 0u);
  EXPECT_GT(tally.key_changes, kSchedules / 2);
  EXPECT_GT(tally.retired, 0u);
  EXPECT_GT(tally.backups, kSchedules);
  EXPECT_GT(tally.failed_backups, 0u);
  EXPECT_GT(tally.restores, kSchedules);
}

// A daemon answers on another thread than the one that commits.
TEST(FaultSchedulesTest, EverythingHoldsWhereAnswersGoOutBesideCommits) {
  CuratorCast cast(/*beside=*/true);
  const Tally tally = faults::ExpectEverythingHolds(cast, kSchedules / 3);
  EXPECT_GT(tally.crashes, kSchedules / 3);
  EXPECT_GT(tally.accepted, 3 * kSchedules);
}

class PlantedBugTest : public ::testing::TestWithParam<Bug> {};

TEST_P(PlantedBugTest, IsFoundByTheFixedSeeds) {
  CuratorCast cast;
  faults::ExpectIsFound(cast, GetParam(), kSchedules);
}

INSTANTIATE_TEST_SUITE_P(Bugs, PlantedBugTest, ::testing::ValuesIn(AllBugs()),
                         faults::NameOfBug<Bug>);

TEST(FaultSchedulesTest, TheSameSeedMakesTheSameRun) {
  const faults::WorldFolder folder;
  const CuratorCast cast;
  for (const uint64_t seed : {3, 4}) {
    const auto run = [&] {
      return cast.Run(MakeSchedule(seed), seed, folder.path(), Bug::kHalvedBatch);
    };
    const RunResult first = run(), second = run();
    EXPECT_EQ(first.violation, second.violation);
    EXPECT_EQ(first.tally.accepted, second.tally.accepted);
    EXPECT_EQ(first.tally.lost, second.tally.lost);
    EXPECT_EQ(first.tally.crashes, second.tally.crashes);
  }
}

}  // namespace
}  // namespace coppice::testing

namespace coppice::faults {

INSTANTIATE_TYPED_TEST_SUITE_P(Curator, ScheduleTest, testing::CuratorCast);

}  // namespace coppice::faults
