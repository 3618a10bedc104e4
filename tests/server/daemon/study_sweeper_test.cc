#include "server/daemon/operation/study_sweeper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <string>
#include <utility>

#include "common/base/status.h"

namespace coppice::daemon {
namespace {

size_t Count(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

// Counts the sweeps and answers each with the status that the test chose.
class SweepScript {
 public:
  Status Sweep() {
    const std::lock_guard lock(mutex_);
    ++sweeps_;
    changed_.notify_all();
    return status_;
  }
  void AnswerWith(Status status) {
    const std::lock_guard lock(mutex_);
    status_ = std::move(status);
  }
  // Waits until Sweep() was called `count` more times.
  void AwaitSweeps(size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&, enough = sweeps_ + count] { return sweeps_ >= enough; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  Status status_;
  size_t sweeps_ = 0;
};

TEST(StudySweeperTest, SweepsAgainAndAgainAndStopsAtOnce) {
  SweepScript script;
  const auto sweep = [&] { return script.Sweep(); };
  const Log log(LogLevel::kError, false);
  const StudySweeper sweeper(sweep, log, absl::Milliseconds(1));
  script.AwaitSweeps(5);
  const StudySweeper slow(sweep, log, absl::Hours(1));  // ends without waiting an hour
}

TEST(StudySweeperTest, LogsAFailureWhenItBeginsAndWhenItEnds) {
  SweepScript script;
  const Log log(LogLevel::kInfo, false);
  ::testing::internal::CaptureStderr();
  {
    const StudySweeper sweeper([&] { return script.Sweep(); }, log, absl::Milliseconds(1));
    script.AwaitSweeps(2);
    script.AnswerWith(UnavailableError("no disk"));
    script.AwaitSweeps(5);
    script.AnswerWith(OkStatus());
    script.AwaitSweeps(5);
  }
  const std::string text = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(Count(text, "no disk"), 1u) << text;
  EXPECT_EQ(Count(text, "works again"), 1u) << text;
}

}  // namespace
}  // namespace coppice::daemon
