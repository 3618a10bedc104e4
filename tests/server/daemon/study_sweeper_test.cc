#include "server/daemon/operation/study_sweeper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "common/base/status.h"
#include "tests/server/serving/service/fake_studies.h"

namespace coppice::daemon {
namespace {

using ::coppice::testing::FakeStudies;

size_t Count(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(StudySweeperTest, SweepsAgainAndAgainAndStopsAtOnce) {
  FakeStudies studies;
  const Log log(LogLevel::kError, false);
  const StudySweeper upkeep(studies, log, absl::Milliseconds(1));
  studies.AwaitSweeps(5);
  const StudySweeper slow(studies, log, absl::Hours(1));  // ends without waiting an hour
}

TEST(StudySweeperTest, FailureIsLoggedWhenItBeginsAndWhenItEnds) {
  FakeStudies studies;
  const Log log(LogLevel::kInfo, false);
  ::testing::internal::CaptureStderr();
  {
    const StudySweeper upkeep(studies, log, absl::Milliseconds(1));
    studies.AwaitSweeps(2);
    studies.Fail(UnavailableError("no disk"));
    studies.AwaitSweeps(5);
    studies.Fail(OkStatus());
    studies.AwaitSweeps(5);
  }
  const std::string text = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(Count(text, "no disk"), 1u) << text;
  EXPECT_EQ(Count(text, "works again"), 1u) << text;
}

}  // namespace
}  // namespace coppice::daemon
