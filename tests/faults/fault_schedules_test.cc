// A fixed set of schedules: nothing acknowledged is lost, nothing is counted twice; and each
// planted bug is found by it. fault_run runs thousands.

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/faults/schedule.h"
#include "tests/faults/world.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace coppice::testing {
namespace {

constexpr uint64_t kSeeds = 60;

TEST(FaultSchedulesTest, NothingAcknowledgedIsLostAndNothingIsCountedTwice) {
  const TempDir folder;
  Tally tally;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const Schedule schedule = MakeSchedule(seed);
    const RunResult result = RunSchedule(schedule, folder.path());
    ASSERT_EQ(result.violation, "") << "seed " << seed << ": " << ToText(schedule);
    tally.Add(result.tally);
  }
  // They met what they were made for.
  EXPECT_GT(tally.crashes, kSeeds);
  EXPECT_GT(tally.accepted, 10 * kSeeds);
  EXPECT_GT(tally.duplicates, 10 * kSeeds);
  EXPECT_GT(tally.refused, 0u);
  EXPECT_GT(tally.failed, 0u);
  EXPECT_GT(tally.lost, 0u);
}

class PlantedBugTest : public ::testing::TestWithParam<Bug> {};

TEST_P(PlantedBugTest, IsFoundByTheFixedSeeds) {
  const TempDir folder;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const RunResult result = RunSchedule(MakeSchedule(seed), folder.path(), GetParam());
    if (!result.violation.empty()) {
      RecordProperty("seed", static_cast<int>(seed));
      RecordProperty("violation", result.violation);
      return;
    }
  }
  FAIL() << "no schedule found it";
}

INSTANTIATE_TEST_SUITE_P(Bugs, PlantedBugTest, ::testing::ValuesIn(kAllBugs),
                         [](const auto& bug) { return std::string(BugName(bug.param)); });

TEST(ScheduleTest, TheSameSeedMakesTheSameRun) {
  const TempDir folder;
  for (const uint64_t seed : {3, 4}) {
    ASSERT_EQ(MakeSchedule(seed), MakeSchedule(seed));
    const RunResult first = RunSchedule(MakeSchedule(seed), folder.path(), Bug::kHalvedBatch);
    const RunResult second = RunSchedule(MakeSchedule(seed), folder.path(), Bug::kHalvedBatch);
    EXPECT_EQ(first.violation, second.violation);
    EXPECT_EQ(first.tally.accepted, second.tally.accepted);
    EXPECT_EQ(first.tally.lost, second.tally.lost);
    EXPECT_EQ(first.tally.crashes, second.tally.crashes);
  }
}

TEST(ScheduleTest, IsPrintedAndParsed) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const Schedule schedule = MakeSchedule(seed);
    ASSERT_OK_AND_ASSIGN(const Schedule parsed, ParseSchedule(ToText(schedule)));
    EXPECT_EQ(parsed, schedule);
  }
  EXPECT_THAT(ParseSchedule("offer 3, nonsense"),
              StatusIs(absl::StatusCode::kInvalidArgument, ::testing::HasSubstr("nonsense")));
  EXPECT_THAT(ParseSchedule("offer 99"),
              StatusIs(absl::StatusCode::kInvalidArgument, ::testing::HasSubstr("below 24")));
}

TEST(ScheduleTest, ShrinksToWhatFails) {
  const Schedule schedule = MakeSchedule(7);
  const auto has_offer = [](absl::Span<const Step> steps) {
    for (const Step& step : steps) {
      if (step.kind == StepKind::kOffer) return true;
    }
    return false;
  };
  ASSERT_TRUE(has_offer(schedule));
  EXPECT_EQ(ToText(Shrink(schedule, 1000, has_offer)), "offer 0");
}

}  // namespace
}  // namespace coppice::testing
