// A fixed set of schedules: nothing acknowledged is lost, nothing is counted twice, and the
// schedules find each planted bug. fault_run runs thousands.

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include "common/base/status.h"
#include "tests/faults/schedule.h"
#include "tests/faults/world.h"
#include "tests/support/status_matchers.h"

namespace coppice::testing {
namespace {

constexpr uint64_t kSchedules = 60;

// In memory if possible: the simulated disk decides what was synced, and the devices' journals
// would wait for a real disk.
class Folder {
 public:
  Folder()
      : path_((HasMemory() ? std::string("/dev/shm") : ::testing::TempDir()) +
              "/coppice_faults_XXXXXX") {
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
  static bool HasMemory() { return access("/dev/shm", W_OK | X_OK) == 0; }

  std::string path_;
};

TEST(FaultSchedulesTest, NothingAcknowledgedIsLostAndNothingIsCountedTwice) {
  const Folder folder;
  Tally tally;
  for (uint64_t seed = 1; seed <= kSchedules; ++seed) {
    const Schedule schedule = MakeSchedule(seed);
    const RunResult result = RunSchedule(schedule, folder.path());
    ASSERT_EQ(result.violation, "") << "seed " << seed << ": " << ToText(schedule);
    tally.Add(result.tally);
  }
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
TEST(FaultSchedulesTest, NothingIsLostIfAnswersAreSentBesideCommits) {
  const Folder folder;
  Tally tally;
  for (uint64_t seed = 1; seed <= kSchedules / 3; ++seed) {
    const Schedule schedule = MakeSchedule(seed);
    const RunResult result = RunSchedule(schedule, folder.path(), {.answer_beside_commits = true});
    ASSERT_EQ(result.violation, "") << "seed " << seed << ": " << ToText(schedule);
    tally.Add(result.tally);
  }
  EXPECT_GT(tally.crashes, kSchedules / 3);
  EXPECT_GT(tally.accepted, 3 * kSchedules);
}

class PlantedBugTest : public ::testing::TestWithParam<Bug> {};

TEST_P(PlantedBugTest, TheFixedSeedsFindTheBug) {
  const Folder folder;
  for (uint64_t seed = 1; seed <= kSchedules; ++seed) {
    const RunResult result = RunSchedule(MakeSchedule(seed), folder.path(), {.bug = GetParam()});
    if (!result.violation.empty()) {
      RecordProperty("seed", static_cast<int>(seed));
      RecordProperty("violation", result.violation);
      return;
    }
  }
  FAIL() << "no schedule found it";
}

INSTANTIATE_TEST_SUITE_P(Bugs, PlantedBugTest, ::testing::ValuesIn(AllBugs()),
                         [](const auto& bug) { return std::string(BugName(bug.param)); });

TEST(ScheduleTest, TheSameSeedMakesTheSameRun) {
  const Folder folder;
  for (const uint64_t seed : {3, 4}) {
    ASSERT_EQ(MakeSchedule(seed), MakeSchedule(seed));
    const RunOptions options{.bug = Bug::kHalvedBatch};
    const RunResult first = RunSchedule(MakeSchedule(seed), folder.path(), options);
    const RunResult second = RunSchedule(MakeSchedule(seed), folder.path(), options);
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
              StatusIs(StatusCode::kInvalidArgument, ::testing::HasSubstr("nonsense")));
  EXPECT_THAT(ParseSchedule("offer 99"),
              StatusIs(StatusCode::kInvalidArgument, ::testing::HasSubstr("below 36")));
}

TEST(ScheduleTest, ShrinksToTheStepsThatFail) {
  const Schedule schedule = MakeSchedule(7);
  const auto has_send = [](absl::Span<const Step> steps) {
    for (const Step& step : steps) {
      if (step.kind == StepKind::kSend) return true;
    }
    return false;
  };
  ASSERT_TRUE(has_send(schedule));
  EXPECT_EQ(ToText(Shrink(schedule, 1000, has_send)), "send 0");
}

}  // namespace
}  // namespace coppice::testing
