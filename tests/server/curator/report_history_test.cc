// Counts over time: every report stays counted, in bounded memory, whatever the clocks do.

#include "server/curator/study/report_history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <thread>
#include <vector>

#include "common/base/status.h"
#include "tests/server/curator/curator_fixture.h"
#include "tests/support/memory_store.h"

namespace coppice::curator {
namespace {

using ::coppice::testing::HonestReports;
using ::coppice::testing::MemoryStore;
using ::coppice::testing::OpenStudies;
using ::coppice::testing::SendAndWait;
using ::coppice::testing::Spec;
using ::coppice::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr auto kAcceptedIndex = static_cast<size_t>(ReportOutcome::kAccepted);
constexpr auto kDuplicateIndex = static_cast<size_t>(ReportOutcome::kDuplicate);

std::array<uint64_t, kNumReportOutcomes> Accepted(uint64_t count) {
  std::array<uint64_t, kNumReportOutcomes> outcomes{};
  outcomes[kAcceptedIndex] = count;
  return outcomes;
}

uint64_t SumOf(const ReportSteps& read, size_t outcome = kAcceptedIndex) {
  uint64_t sum = 0;
  for (const ReportSteps::Step& step : read.steps) sum += step.outcomes[outcome];
  return sum;
}

// Steps must be in order and without gaps.
void ExpectEvenSteps(const ReportSteps& read) {
  for (size_t i = 1; i < read.steps.size(); ++i) {
    EXPECT_EQ(read.steps[i].begin_unix_seconds - read.steps[i - 1].begin_unix_seconds,
              int64_t{read.step_seconds});
  }
}

TEST(ReportHistoryTest, CountsReportsInTheStepInWhichTheyCame) {
  ReportHistory history(100);
  history.Add(Accepted(3), 100);
  history.Add(Accepted(4), 109);
  history.Add(Accepted(5), 131);
  const ReportSteps read = history.Read(145, 7045);
  EXPECT_EQ(read.step_seconds, 10u);
  ASSERT_THAT(read.steps, SizeIs(5));
  EXPECT_EQ(read.steps[0].begin_unix_seconds, 7000);
  EXPECT_EQ(read.steps[0].outcomes, Accepted(7));
  EXPECT_EQ(read.steps[1].outcomes, Accepted(0));
  EXPECT_EQ(read.steps[3].outcomes, Accepted(5));
  ExpectEvenSteps(read);
}

TEST(ReportHistoryTest, MergesNeighboursWhenThereAreTooManyAndForgetsNoReport) {
  ReportHistory history(0);
  uint64_t sent = 0;
  for (int64_t second = 0; second < 50'000; second += 7) {
    history.Add(Accepted(second), second);
    sent += second;
  }
  const ReportSteps read = history.Read(50'000, 1'000'000);
  EXPECT_EQ(read.step_seconds, 160u);  // 50,000 s / 512 is above 80
  EXPECT_THAT(read.steps, SizeIs(50'000 / 160 + 1));
  EXPECT_EQ(SumOf(read), sent);
  ExpectEvenSteps(read);
  // The second step has exactly the reports of 160 s to 319 s.
  uint64_t second_step = 0;
  for (int64_t second = 161; second < 320; second += 7) second_step += second;
  EXPECT_EQ(read.steps[1].outcomes, Accepted(second_step));
}

TEST(ReportHistoryTest, NeverHasMoreStepsThanItMay) {
  ReportHistory history(0);
  for (const int64_t second : {5'119, 5'120, 10'239, 10'240, 1'000'000'000}) {
    history.Add(Accepted(1), second);
    const ReportSteps read = history.Read(second, second);
    EXPECT_LE(read.steps.size(), ReportHistory::kMaxSteps) << second;
    EXPECT_GT(read.steps.size(), ReportHistory::kMaxSteps / 2) << second;
    ExpectEvenSteps(read);
  }
  EXPECT_EQ(SumOf(history.Read(1'000'000'000, 0)), 5u);
}

TEST(ReportHistoryTest, AWallClockThatIsSetMovesAllStepsAndChangesNoCount) {
  ReportHistory history(0);
  history.Add(Accepted(1), 5);
  history.Add(Accepted(2), 25);
  const ReportSteps before = history.Read(30, 10'000);
  history.Add(Accepted(4), 35);
  const ReportSteps after = history.Read(40, 10'010 - 7'200);
  EXPECT_EQ(before.steps[0].begin_unix_seconds - after.steps[0].begin_unix_seconds, 7'200);
  EXPECT_EQ(after.step_seconds, 10u);
  EXPECT_EQ(SumOf(after), 7u);
  ExpectEvenSteps(after);
}

TEST(ReportHistoryTest, ClocksThatRoundDifferentlyRenameNoStep) {
  ReportHistory history(0);
  const int64_t begin = history.Read(30, 1'030).steps[0].begin_unix_seconds;
  EXPECT_EQ(history.Read(31, 1'032).steps[0].begin_unix_seconds, begin);
  EXPECT_EQ(history.Read(33, 1'032).steps[0].begin_unix_seconds, begin);
}

TEST(ReportHistoryTest, ATimeBeforeTheLastCountsInTheLastStep) {
  ReportHistory history(100);
  history.Add(Accepted(1), 150);
  history.Add(Accepted(2), 90);
  const ReportSteps read = history.Read(120, 1'000);
  ASSERT_THAT(read.steps, SizeIs(6));
  EXPECT_EQ(read.steps[5].outcomes, Accepted(3));
}

TEST(ReportHistoryTest, WritersAndReadersMayMeet) {
  ReportHistory history(0);
  std::vector<std::thread> threads;
  for (int writer = 0; writer < 3; ++writer) {
    threads.emplace_back([&history] {
      for (int64_t second = 0; second < 20'000; ++second) history.Add(Accepted(1), second);
    });
  }
  threads.emplace_back([&history] {
    for (int64_t second = 0; second < 20'000; second += 20) {
      const ReportSteps read = history.Read(second, second);
      EXPECT_LE(read.steps.size(), ReportHistory::kMaxSteps);
    }
  });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(SumOf(history.Read(20'000, 0)), 60'000u);
}

TEST(ReportHistoryTest, AStudyHasWhatItsCountsHaveUntilItIsDeletedOrReopened) {
  MemoryStore store;
  std::optional<models::Models> models;
  std::unique_ptr<Studies> studies = *OpenStudies(store, models);
  ASSERT_OK_AND_ASSIGN(const StudyInfo study, studies->Create(Spec("one")));
  const auto reports = HonestReports(*studies, study, 20);
  ASSERT_OK(SendAndWait(*studies, study, reports));
  ASSERT_OK(SendAndWait(*studies, study, reports));
  ASSERT_OK_AND_ASSIGN(const ReportSteps read, studies->ReportsOverTime("one"));
  EXPECT_EQ(SumOf(read, kAcceptedIndex), 20u);
  EXPECT_EQ(SumOf(read, kDuplicateIndex), 20u);
  EXPECT_LE(read.steps.back().begin_unix_seconds, 1000);  // the clock of these studies

  studies.reset();
  studies = *OpenStudies(store, models);
  ASSERT_OK_AND_ASSIGN(const ReportSteps anew, studies->ReportsOverTime("one"));
  EXPECT_EQ(SumOf(anew), 0u);
  EXPECT_THAT(anew.steps, SizeIs(1));
  ASSERT_OK(studies->Delete("one"));
  EXPECT_THAT(studies->ReportsOverTime("one"), StatusIs(StatusCode::kNotFound, HasSubstr("one")));
}

}  // namespace
}  // namespace coppice::curator
