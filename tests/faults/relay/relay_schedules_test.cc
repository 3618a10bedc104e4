// A fixed set of schedules: nothing that the curator acknowledged is lost, nothing counts twice, no
// batch is split and no small one goes unsaid; and the schedules find each planted bug.
// relay_fault_run runs thousands.

#include <stdlib.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <system_error>

#include "common/base/status.h"
#include "tests/faults/relay/schedule.h"
#include "tests/faults/relay/world.h"
#include "tests/support/status_matchers.h"

namespace coppice::relay_faults {
namespace {

using ::coppice::testing::StatusIs;
using ::testing::HasSubstr;

constexpr uint64_t kSchedules = 60;

// In memory if possible: simulated disks decide what was synced.
class Folder {
 public:
  Folder()
      : path_((access("/dev/shm", W_OK | X_OK) == 0 ? std::string("/dev/shm")
                                                    : ::testing::TempDir()) +
              "/coppice_relay_faults_XXXXXX") {
    if (mkdtemp(path_.data()) == nullptr) ADD_FAILURE() << "no temporary folder at " << path_;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST(RelaySchedulesTest, NothingIsLostCountedTwiceOrSplit) {
  const Folder folder;
  Tally tally;
  for (uint64_t seed = 1; seed <= kSchedules; ++seed) {
    const Schedule schedule = MakeSchedule(seed);
    const RunResult result = RunSchedule(schedule, folder.path());
    ASSERT_EQ(result.violation, "") << "seed " << seed << ": " << ToText(schedule);
    tally.Add(result.tally);
  }
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

TEST_P(RelayBugTest, TheFixedSeedsFindTheBug) {
  const Folder folder;
  for (uint64_t seed = 1; seed <= kSchedules; ++seed) {
    const RunResult result = RunSchedule(MakeSchedule(seed), folder.path(), GetParam());
    if (!result.violation.empty()) {
      RecordProperty("seed", static_cast<int>(seed));
      RecordProperty("violation", result.violation);
      return;
    }
  }
  FAIL() << "no schedule found it";
}

INSTANTIATE_TEST_SUITE_P(Bugs, RelayBugTest, ::testing::ValuesIn(AllBugs()),
                         [](const auto& bug) { return std::string(BugName(bug.param)); });

TEST(RelayScheduleTest, TheSameSeedMakesTheSameRun) {
  const Folder folder;
  for (const uint64_t seed : {3, 4, 5}) {
    const RunResult first = RunSchedule(MakeSchedule(seed), folder.path());
    const RunResult second = RunSchedule(MakeSchedule(seed), folder.path());
    EXPECT_EQ(first.tally.ToString(), second.tally.ToString());
  }
}

TEST(RelayScheduleTest, IsPrintedAndParsed) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const Schedule schedule = MakeSchedule(seed);
    ASSERT_OK_AND_ASSIGN(const Schedule parsed, ParseSchedule(ToText(schedule)));
    EXPECT_EQ(parsed, schedule);
  }
  EXPECT_THAT(ParseSchedule("work, nonsense"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("nonsense")));
  EXPECT_THAT(ParseSchedule("answer 24"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("below 24")));
}

TEST(RelayScheduleTest, ShrinksToTheStepsThatFail) {
  const auto ends = [](absl::Span<const Step> steps) {
    for (const Step& step : steps) {
      if (step.kind == StepKind::kEnd) return true;
    }
    return false;
  };
  EXPECT_EQ(ToText(Shrink(MakeSchedule(7), 1000, ends)), "end");
}

}  // namespace
}  // namespace coppice::relay_faults
