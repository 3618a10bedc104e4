// A fixed set of schedules: nothing that the curator acknowledged is lost, nothing counts twice, no
// batch is split and no small one goes unsaid; and the schedules find each planted bug.
// relay_fault_run runs thousands.

#include <cstdint>

#include "tests/faults/relay/world.h"
#include "tests/faults/schedule_tests.h"

namespace coppice::relay_faults {
namespace {

constexpr uint64_t kSchedules = 60;

TEST(RelaySchedulesTest, NothingIsLostCountedTwiceOrSplit) {
  RelayCast cast;
  const Tally tally = faults::ExpectEverythingHolds(cast, kSchedules);
  // The schedules met the faults that they were made for.
  EXPECT_GT(tally.relay_ends, kSchedules / 3);
  EXPECT_GT(tally.curator_ends, kSchedules / 8);
  EXPECT_GT(tally.batches, kSchedules / 2);
  EXPECT_GT(tally.short_deals, kSchedules / 2);
  EXPECT_GT(tally.counted, 500 * kSchedules);
  EXPECT_GT(tally.refused, 0u);
  EXPECT_GT(tally.lost, 0u);
  EXPECT_GT(tally.late, 0u);
  EXPECT_GT(tally.forged, 0u);
  EXPECT_GT(tally.images, 0u);
  EXPECT_GT(tally.models, kSchedules / 2);
}

class RelayBugTest : public ::testing::TestWithParam<Bug> {};

TEST_P(RelayBugTest, IsFoundByTheFixedSeeds) {
  RelayCast cast;
  faults::ExpectIsFound(cast, GetParam(), kSchedules);
}

INSTANTIATE_TEST_SUITE_P(Bugs, RelayBugTest, ::testing::ValuesIn(AllBugs()),
                         faults::NameOfBug<Bug>);

TEST(RelaySchedulesTest, TheSameSeedMakesTheSameRun) {
  const faults::WorldFolder folder;
  for (const uint64_t seed : {3, 4, 5}) {
    const RunResult first = RunSchedule(MakeSchedule(seed), folder.path());
    const RunResult second = RunSchedule(MakeSchedule(seed), folder.path());
    EXPECT_EQ(faults::TallyText(first.tally), faults::TallyText(second.tally));
  }
}

}  // namespace
}  // namespace coppice::relay_faults

namespace coppice::faults {

INSTANTIATE_TYPED_TEST_SUITE_P(Relay, ScheduleTest, relay_faults::RelayCast);

}  // namespace coppice::faults
