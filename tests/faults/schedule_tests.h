// What is tested of every cast (cast.h): its schedules are repeatable, printed and parsed, and
// shrink to what fails; everything holds in a fixed set of them, and they find each planted bug.

#ifndef COPPICE_TESTS_FAULTS_SCHEDULE_TESTS_H_
#define COPPICE_TESTS_FAULTS_SCHEDULE_TESTS_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/text.h"
#include "tests/faults/cast.h"
#include "tests/support/schedule.h"
#include "tests/support/status_matchers.h"

namespace coppice::faults {

// Runs the schedules of the seeds from 1 on, and fails at the first that does not hold. Returns
// what they met.
template <typename Cast>
typename Cast::Tally ExpectEverythingHolds(Cast& cast, uint64_t schedules) {
  const WorldFolder folder;
  typename Cast::Tally tally;
  for (uint64_t seed = 1; seed <= schedules; ++seed) {
    const auto schedule = cast.Make(seed);
    const auto result = cast.Run(schedule, seed, folder.path(), Cast::Bug::kNone);
    AddUp(result.tally, tally);
    if (result.violation.empty()) continue;
    ADD_FAILURE() << "seed " << seed << ": " << result.violation << "\n" << Cast::ToText(schedule);
    break;
  }
  ::testing::Test::RecordProperty("tally", TallyText(tally));
  return tally;
}

// Fails unless one of the schedules finds the bug.
template <typename Cast>
void ExpectIsFound(Cast& cast, typename Cast::Bug bug, uint64_t schedules) {
  const WorldFolder folder;
  for (uint64_t seed = 1; seed <= schedules; ++seed) {
    const auto result = cast.Run(cast.MakeFor(bug, seed), seed, folder.path(), bug);
    if (result.violation.empty()) continue;
    ::testing::Test::RecordProperty("seed", static_cast<int>(seed));
    ::testing::Test::RecordProperty("violation", result.violation);
    return;
  }
  ADD_FAILURE() << "no schedule found it";
}

template <typename Bug>
std::string NameOfBug(const ::testing::TestParamInfo<Bug>& bug) {
  return std::string(BugName(bug.param));
}

template <typename Cast>
class ScheduleTest : public ::testing::Test {};
TYPED_TEST_SUITE_P(ScheduleTest);

TYPED_TEST_P(ScheduleTest, TheSameSeedMakesTheSameStepsAndTheyAreParsed) {
  TypeParam cast;
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    const auto schedule = cast.Make(seed);
    EXPECT_EQ(cast.Make(seed), schedule);
    ASSERT_OK_AND_ASSIGN(const auto parsed, TypeParam::Parse(TypeParam::ToText(schedule)));
    EXPECT_EQ(parsed, schedule);
  }
}

TYPED_TEST_P(ScheduleTest, NamesTheStepThatIsWrong) {
  using ::coppice::testing::StatusIs;
  EXPECT_THAT(TypeParam::Parse("nonsense"),
              StatusIs(StatusCode::kInvalidArgument, ::testing::HasSubstr("'nonsense'")));
  EXPECT_THAT(TypeParam::Parse(TypeParam::kTooLarge),
              StatusIs(StatusCode::kInvalidArgument, ::testing::HasSubstr("must be below")));
}

TYPED_TEST_P(ScheduleTest, ShrinksToWhatFails) {
  TypeParam cast;
  const auto schedule = cast.Make(7);
  const auto last = schedule.back().kind;
  const auto has_it = [last](absl::Span<const typename TypeParam::Step> steps) {
    return std::any_of(steps.begin(), steps.end(),
                       [last](const auto& step) { return step.kind == last; });
  };
  const auto small = testing::Shrink(schedule, 1000, has_it);
  ASSERT_EQ(small.size(), 1u);
  EXPECT_EQ(small[0], (typename TypeParam::Step{.kind = last, .numbers = {}}));
}

REGISTER_TYPED_TEST_SUITE_P(ScheduleTest, TheSameSeedMakesTheSameStepsAndTheyAreParsed,
                            NamesTheStepThatIsWrong, ShrinksToWhatFails);

}  // namespace coppice::faults

#endif  // COPPICE_TESTS_FAULTS_SCHEDULE_TESTS_H_
