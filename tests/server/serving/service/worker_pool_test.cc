#include "server/serving/calls/worker_pool.h"

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "tests/support/status_matchers.h"

namespace coppice::service {
namespace {

using ::coppice::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST(WorkerPoolTest, FinishesAllWorkBeforeItGoes) {
  std::atomic<int> done = 0;
  {
    WorkerPool pool(3, 200);
    for (int i = 0; i < 100; ++i) EXPECT_OK(pool.Run([&] { ++done; }));
  }
  EXPECT_EQ(done, 100);
}

TEST(WorkerPoolTest, RefusesWorkWhenTooMuchWaits) {
  std::promise<void> started, go;
  WorkerPool pool(1, 1);
  ASSERT_OK(pool.Run([&] {
    started.set_value();
    go.get_future().wait();
  }));
  started.get_future().wait();
  EXPECT_OK(pool.Run([] {}));
  EXPECT_THAT(pool.Run([] {}),
              StatusIs(StatusCode::kResourceExhausted, HasSubstr("try again later")));
  go.set_value();
}

// A pool that notes whose work it ran, in order.
class StoppedPool {
 public:
  // Its one thread does nothing until Finish().
  explicit StoppedPool(size_t max_waiting) : pool_(std::make_unique<WorkerPool>(1, max_waiting)) {
    std::promise<void> started;
    EXPECT_OK(pool_->Run([&] {
      started.set_value();
      go_.get_future().wait();
    }));
    started.get_future().wait();
  }
  Status Run(const std::string& owner) {
    return pool_->Run([this, owner] { ran_.push_back(owner); }, owner);
  }
  // Queues as much work of this owner as there is room for, and returns how much that is.
  size_t Fill(const std::string& owner) {
    size_t taken = 0;
    while (Run(owner).ok()) ++taken;
    return taken;
  }
  // Runs all that is queued, and returns whose it was.
  std::vector<std::string> Finish() {
    go_.set_value();
    pool_.reset();
    return ran_;
  }

 private:
  std::promise<void> go_;
  std::vector<std::string> ran_;  // by the pool's one thread
  std::unique_ptr<WorkerPool> pool_;
};

TEST(WorkerPoolTest, OwnersTakeTurnsHoweverMuchOneHasQueued) {
  StoppedPool pool(100);
  for (int i = 0; i < 4; ++i) ASSERT_OK(pool.Run("noisy"));
  for (int i = 0; i < 2; ++i) ASSERT_OK(pool.Run("quiet"));
  ASSERT_OK(pool.Run("late"));
  EXPECT_THAT(pool.Finish(),
              ElementsAre("noisy", "quiet", "late", "noisy", "quiet", "noisy", "noisy"));
}

TEST(WorkerPoolTest, NoOwnerTakesTheRoomOfOthers) {
  StoppedPool pool(16);
  EXPECT_EQ(pool.Fill("noisy"), 8u);
  EXPECT_EQ(pool.Fill("louder"), 4u);
  EXPECT_OK(pool.Run("quiet"));
  EXPECT_THAT(pool.Run("noisy"), StatusIs(StatusCode::kResourceExhausted, ::testing::_));
  EXPECT_THAT(pool.Finish(), SizeIs(13));
}

// Under the thread sanitizer this looks for races.
TEST(WorkerPoolTest, OwnersOnManyThreadsLoseNoWork) {
  std::atomic<int> taken = 0, done = 0;
  {
    WorkerPool pool(3, 50);
    std::vector<std::thread> callers;
    for (int owner = 0; owner < 4; ++owner) {
      callers.emplace_back([&, name = std::string(1, static_cast<char>('a' + owner))] {
        for (int i = 0; i < 1000; ++i) taken += pool.Run([&] { ++done; }, name).ok() ? 1 : 0;
      });
    }
    for (std::thread& caller : callers) caller.join();
  }
  EXPECT_GT(taken, 0);
  EXPECT_EQ(done, taken);
}

TEST(WorkerPoolTest, DestroysWorkWithoutItsLock) {
  std::promise<bool> lock_was_free;
  std::future<Status> used;
  WorkerPool pool(1, 1);
  const auto use_the_pool = [&](void*) {
    used = std::async(std::launch::async, [&] { return pool.Run([] {}); });
    lock_was_free.set_value(used.wait_for(std::chrono::minutes(5)) == std::future_status::ready);
  };
  std::shared_ptr<void> held(nullptr, use_the_pool);
  ASSERT_OK(pool.Run([held = std::move(held)] {}));
  EXPECT_TRUE(lock_was_free.get_future().get());
  EXPECT_OK(used.get());
}

}  // namespace
}  // namespace coppice::service
