#include "common/base/parallel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <vector>

#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using ::coppice::testing::IsOk;
using ::coppice::testing::StatusIs;
using ::testing::Each;

TEST(RunInParallelTest, DoesEveryPieceOnce) {
  for (const uint32_t threads : {0u, 1u, 2u, 9u}) {
    std::vector<int> done(100);
    EXPECT_THAT(RunInParallel(done.size(), threads,
                              [&](size_t i) {
                                ++done[i];
                                return OkStatus();
                              }),
                IsOk());
    EXPECT_THAT(done, Each(1));
  }
  EXPECT_THAT(RunInParallel(0, 4, [](size_t) { return InvalidArgumentError("no piece"); }), IsOk());
}

TEST(RunInParallelTest, BeginsNothingAfterAnError) {
  std::atomic<int> begun{0};
  const auto fail = [&](size_t) {
    ++begun;
    return InvalidArgumentError("broken");
  };
  EXPECT_THAT(RunInParallel(1000, 3, fail), StatusIs(StatusCode::kInvalidArgument, "broken"));
  EXPECT_LE(begun, 3);
}

}  // namespace
}  // namespace coppice
