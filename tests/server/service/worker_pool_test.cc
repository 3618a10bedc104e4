#include "server/service/calls/worker_pool.h"

#include <atomic>
#include <future>

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

}  // namespace
}  // namespace coppice::service
