#include "server/service/calls/worker_pool.h"

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <utility>

#include "tests/support/status_matchers.h"

namespace coppice::service {
namespace {

using ::coppice::testing::StatusIs;
using ::testing::HasSubstr;

TEST(WorkerPoolTest, FinishesAllWorkBeforeItGoes) {
  std::atomic<int> done = 0;
  {
    WorkerPool pool(3, 100);
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
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("try again later")));
  go.set_value();
}

TEST(WorkerPoolTest, DestroysWorkWithoutItsLock) {
  std::promise<bool> lock_was_free;
  std::future<absl::Status> used;
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
