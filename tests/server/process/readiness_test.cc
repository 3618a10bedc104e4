#include "server/process/readiness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <utility>
#include <vector>

#include "common/base/status.h"

namespace coppice {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

// Has checks that a test switches, and keeps what was reported.
class ReadinessTest : public ::testing::Test {
 protected:
  std::vector<ReadinessCheck> Checks() {
    return {{"good", [] { return OkStatus(); }}, {"switched", [this] {
                                                    const std::lock_guard lock(mutex_);
                                                    ++rounds_;
                                                    changed_.notify_all();
                                                    return status_;
                                                  }}};
  }
  std::function<void(bool)> Tell() {
    return [this](bool ready) {
      const std::lock_guard lock(mutex_);
      told_.push_back(ready);
      changed_.notify_all();
    };
  }
  void Switch(Status status) {
    const std::lock_guard lock(mutex_);
    status_ = std::move(status);
  }
  void AwaitTold(bool ready) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !told_.empty() && told_.back() == ready; });
  }
  void AwaitRounds(int more) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this, until = rounds_ + more] { return rounds_ >= until; });
  }

  const Log log_{LogLevel::kError, false};
  std::mutex mutex_;
  std::condition_variable changed_;
  Status status_;
  int rounds_ = 0;
  std::vector<bool> told_;
};

TEST_F(ReadinessTest, IsReadyOnceEveryCheckPassedAndFollowsThem) {
  Readiness readiness(Checks(), absl::Milliseconds(1), log_, Tell());
  AwaitTold(true);
  EXPECT_THAT(readiness.Passed(), ElementsAre(Pair("good", true), Pair("switched", true)));
  Switch(InternalError("counts do not agree"));
  AwaitTold(false);
  EXPECT_THAT(readiness.Passed(), ElementsAre(Pair("good", true), Pair("switched", false)));
  Switch(OkStatus());
  AwaitTold(true);
}

TEST_F(ReadinessTest, StartsNotReadyIfACheckFails) {
  Switch(UnavailableError("no disk"));
  Readiness readiness(Checks(), absl::Milliseconds(1), log_, Tell());
  AwaitRounds(3);
  readiness.Stop();
  EXPECT_THAT(told_, ::testing::Each(false));
}

TEST_F(ReadinessTest, StaysNotReadyOnceStopped) {
  Readiness readiness(Checks(), absl::Milliseconds(1), log_, Tell());
  AwaitTold(true);
  readiness.Stop();
  EXPECT_FALSE(told_.back());
  const int rounds = rounds_;
  readiness.Stop();
  EXPECT_EQ(rounds_, rounds);
}

TEST_F(ReadinessTest, StopReportsNotReadyBeforeItWaitsForASlowCheck) {
  std::mutex held;
  held.lock();
  std::atomic<bool> let_go = false;
  Readiness readiness({{"slow",
                        [&] {
                          const std::lock_guard wait(held);
                          return OkStatus();
                        }}},
                      absl::Milliseconds(1), log_, [&](bool ready) {
                        EXPECT_FALSE(ready);  // even a check that now passes comes too late
                        if (!let_go.exchange(true)) held.unlock();
                      });
  readiness.Stop();
  EXPECT_TRUE(let_go);
}

}  // namespace
}  // namespace coppice
