#include "common/ldp/steps.h"

#include <vector>

#include "tests/support/scripted_draws.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using ::coppice::testing::ScriptedDraws;

constexpr SignedSteps kMany = kManySteps << 1;
SignedSteps Steps(uint32_t steps) { return static_cast<SignedSteps>(steps << 1); }

const GeometricTable& AnyTable() {
  static const GeometricTable table = *GeometricTable::Create(1u << 31);
  return table;
}

TEST(DrawStepsTest, AddsDrawsUntilOneEnds) {
  ScriptedDraws random({Steps(0), Steps(61), kMany, kMany, Steps(5), Steps(7)});
  for (const uint32_t expected : {0u, 61u, 2 * kManySteps + 5, 7u}) {
    EXPECT_EQ(*DrawSteps(AnyTable(), random), expected);
  }
  EXPECT_EQ(random.drawn(), 6u);
}

// An endless source is cut off, at the first draw past 2^30.
TEST(DrawStepsTest, EndsAtTheCutOff) {
  ScriptedDraws random({}, kMany);
  constexpr uint32_t kDraws = (1u << 30) / kManySteps + 1;
  EXPECT_EQ(*DrawSteps(AnyTable(), random), kDraws * kManySteps);
  EXPECT_EQ(random.drawn(), kDraws);
}

std::vector<size_t> Successes(std::vector<SignedSteps> draws, size_t trials) {
  ScriptedDraws random(std::move(draws), kMany);
  std::vector<size_t> positions;
  EXPECT_OK(ForEachSuccess(AnyTable(), trials, random,
                           [&](size_t position) { positions.push_back(position); }));
  return positions;
}

TEST(ForEachSuccessTest, CountsTheFailuresBetween) {
  EXPECT_EQ(Successes({Steps(0), Steps(0), Steps(3), kMany, Steps(2), Steps(30)}, 200),
            (std::vector<size_t>{0, 1, 5, 6 + kManySteps + 2, 6 + kManySteps + 2 + 31}));
}

TEST(ForEachSuccessTest, EndsAtTheLastTrial) {
  EXPECT_EQ(Successes({Steps(9), Steps(0)}, 10), std::vector<size_t>{9});
  EXPECT_EQ(Successes({Steps(10)}, 10), std::vector<size_t>{});
  EXPECT_EQ(Successes({kMany}, kManySteps), std::vector<size_t>{});
  EXPECT_EQ(Successes({Steps(0)}, 0), std::vector<size_t>{});
  // More trials than one batch of draws.
  EXPECT_EQ(Successes(std::vector<SignedSteps>(50, Steps(0)), 40).size(), 40u);
}

// Draws about as many at a time as successes are expected, so that few are wasted.
TEST(ForEachSuccessTest, DrawsAboutWhatItNeeds) {
  const auto drawn_for = [](size_t trials) {
    ScriptedDraws random({}, kMany);
    EXPECT_OK(ForEachSuccess(AnyTable(), trials, random, [](size_t) {}));
    return random.drawn();
  };
  EXPECT_EQ(drawn_for(1), 1u);
  EXPECT_EQ(drawn_for(10), 6u);
  EXPECT_EQ(drawn_for(1000), 32u);
}

}  // namespace
}  // namespace coppice
