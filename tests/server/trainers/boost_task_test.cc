#include "server/trainers/boosting/boost_task.h"

#include <cmath>
#include <cstdlib>
#include <numeric>
#include <random>

#include "common/data/table.h"
#include "server/trainers/core/bins.h"
#include "tests/support/status_matchers.h"

namespace coppice::trainers {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::StatusIs;

constexpr int64_t kHalf = kResidualUnit / 2;

Residuals Filled(const BoostTask& task, size_t rows) {
  Residuals residuals(task.kind().outputs, std::vector<int32_t>(rows));
  task.Fill(residuals);
  return residuals;
}

// Scores of every size, the largest beyond what lines and trees can sum to.
std::vector<double> ManyScores() {
  std::vector<double> scores = {0, 1e-9, -1e-9, 1e3, -1e3, 2000, -2000, 1.6e7, -1.6e7};
  std::mt19937_64 engine(3);
  for (int i = 0; i < 3000; ++i) scores.push_back(std::normal_distribution<>(0, 6)(engine));
  return scores;
}

// Gives each row scores of its own.
void SetScores(BoostTask& task, size_t rows, uint32_t outputs, uint64_t seed) {
  const std::vector<double> scores = ManyScores();
  std::mt19937_64 engine(seed);
  std::vector<uint32_t> child(rows);
  std::iota(child.begin(), child.end(), 0u);
  std::vector<std::vector<double>> values(rows, std::vector<double>(outputs));
  for (std::vector<double>& value : values) {
    for (double& x : value) x = scores[engine() % scores.size()];
  }
  ASSERT_OK(task.Add(child, values));
}

TEST(ClassTaskTest, TwoClassesAskForWhatTheirProbabilityLacks) {
  const std::vector<uint32_t> labels = {0, 1, kUnlabelled};
  const auto task = ClassTask(labels, 2);
  EXPECT_THAT(Filled(*task, 3)[0], ElementsAre(-kHalf, kHalf, 0));
  ASSERT_OK(task->Add(std::vector<uint32_t>{0, 0, 0}, {{std::log(3)}}));  // a probability of 3/4
  EXPECT_THAT(Filled(*task, 3)[0], ElementsAre(-kHalf, kResidualUnit / 4, 0));
}

// Compilers work on several rows at once, and on what is left one by one: both must come to the
// same, or a row more would move others.
TEST(ClassTaskTest, WhatARowAsksForDoesNotDependOnWhereItStands) {
  const std::vector<double> scores = ManyScores();
  const std::vector<uint32_t> labels(scores.size(), 1);
  const auto all = ClassTask(labels, 2);
  std::vector<std::vector<double>> values;
  std::vector<uint32_t> child(scores.size());
  std::iota(child.begin(), child.end(), 0u);
  for (const double score : scores) values.push_back({score});
  ASSERT_OK(all->Add(child, values));
  const Residuals together = Filled(*all, scores.size());
  for (size_t row = 0; row < scores.size(); ++row) {
    const auto alone = ClassTask(absl::MakeConstSpan(labels).first(1), 2);
    ASSERT_OK(alone->Add(std::vector<uint32_t>{0}, {{scores[row]}}));
    ASSERT_EQ(Filled(*alone, 1)[0][0], together[0][row]) << scores[row];
    const double lacks = 1 / (1 + std::exp(scores[row]));
    ASSERT_NEAR(together[0][row], std::min(0.5, lacks) * kResidualUnit, 2) << scores[row];
  }
}

TEST(ClassTaskTest, NoRowOfTwoClassesAsksForMoreThanItsBounds) {
  constexpr size_t kRows = 3000;
  std::vector<uint32_t> labels(kRows);
  for (size_t r = 0; r < kRows; ++r) labels[r] = static_cast<uint32_t>(r % 2);
  const auto task = ClassTask(labels, 2);
  SetScores(*task, kRows, 1, 1);
  const ResidualKind kind = task->kind();
  const Residuals residuals = Filled(*task, kRows);
  for (const int32_t residual : residuals[0]) {
    const auto size = static_cast<uint64_t>(std::abs(residual));
    ASSERT_LE(size, kind.sensitivity.l1);
    ASSERT_LE(size * size, kind.sensitivity.l2_squared);
    ASSERT_LE(2 * size, kind.range);
  }
}

TEST(ClassTaskTest, NoRowOfMoreClassesAsksForMoreThanItsBounds) {
  constexpr size_t kRows = 3000;
  for (const uint32_t classes : {3u, 4u, 10u}) {
    for (const int64_t unit : {kResidualUnit, int64_t{2}, int64_t{16}}) {
      std::vector<uint32_t> labels(kRows);
      for (size_t r = 0; r < kRows; ++r) labels[r] = static_cast<uint32_t>(r % classes);
      const auto task = ClassTask(labels, classes, unit);
      SetScores(*task, kRows, classes, classes);
      const ResidualKind kind = task->kind();
      const Residuals residuals = Filled(*task, kRows);
      for (size_t row = 0; row < kRows; ++row) {
        uint64_t l1 = 0, squares = 0;
        int64_t sum = 0;
        for (uint32_t k = 0; k < classes; ++k) {
          const int64_t residual = residuals[k][row];
          ASSERT_TRUE(k == labels[row] ? residual >= 0 : residual <= 0);
          l1 += static_cast<uint64_t>(std::abs(residual));
          squares += static_cast<uint64_t>(residual * residual);
          sum += residual;
        }
        ASSERT_EQ(sum, 0);
        ASSERT_LE(l1, kind.sensitivity.l1);
        ASSERT_LE(squares, kind.sensitivity.l2_squared);
        ASSERT_LE(2 * l1, kind.range);
      }
    }
  }
}

TEST(BoostTaskTest, ScoresThatWouldHaveNoBoundsAreRefused) {
  const std::vector<uint32_t> labels = {0, 1, 2};
  const std::vector<uint32_t> child = {0, 0, 0};
  const auto refused = StatusIs(absl::StatusCode::kInternal, HasSubstr("finite"));
  for (const double bad : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
    const auto several = ClassTask(labels, 3);
    EXPECT_THAT(several->Add(child, {{1, bad, 2}}), refused) << bad;
    EXPECT_THAT(several->scores(0), ElementsAre(0, 0, 0)) << "nothing was added";
    EXPECT_THAT(ClassTask({labels.data(), 2}, 2)->Add(child, {{bad}}), refused) << bad;
    EXPECT_THAT(NumberTask(labels, 1, 1)->Add(child, {{bad}}), refused) << bad;
  }
}

TEST(ClassTaskTest, UnlabelledRowsAskForNothing) {
  const std::vector<uint32_t> labels = {kUnlabelled};
  for (const uint32_t classes : {2u, 3u}) {
    const Residuals residuals = Filled(*ClassTask(labels, classes), 1);
    for (const auto& of_output : residuals) EXPECT_EQ(of_output[0], 0);
  }
}

// Noise scale 2: its 1.5 deviations are 1.5 sqrt(2) * 2 on either side.
TEST(ClassTaskTest, ANodesValueIsTheSmoothedLogRatioOfWhatWasMeasured) {
  const std::vector<uint32_t> labels = {0};
  const double smoothing = 1.5 * std::sqrt(2.0) * 2;
  const std::vector<int64_t> positive = {30}, negative = {-7};
  std::vector<double> value(1);
  ClassTask(labels, 2)->Value({.positive = positive, .negative = negative, .scale = 2},
                              absl::MakeSpan(value));
  EXPECT_NEAR(value[0], std::log((30 + smoothing) / smoothing), 1e-12);
}

TEST(NumberTaskTest, RowsAskForWhatTheirScoreLacksWithinTheReach) {
  // 100 steps around 1000 are a score of 1.
  const std::vector<uint32_t> targets = {1000, 1020, 980, 1100, 60'000, 0};
  const auto task = NumberTask(targets, 1000, 100);
  // A step of 0.4 reaches is asked for in full.
  EXPECT_THAT(Filled(*task, 6)[0],
              ElementsAre(0, kHalf, -kHalf, kResidualUnit, kResidualUnit, -kResidualUnit));
  ASSERT_OK(task->Add(std::vector<uint32_t>(6, 0), {{0.9}}));
  EXPECT_EQ(Filled(*task, 6)[0][3], std::llround(0.25 * kResidualUnit));
  EXPECT_EQ(task->kind().sensitivity.l1, static_cast<uint64_t>(kResidualUnit));
  EXPECT_EQ(task->kind().range, static_cast<uint64_t>(2 * kResidualUnit));
}

TEST(NumberTaskTest, OutputsAreThePlaceInTheDeclaredRange) {
  const std::vector<uint32_t> targets = {0};
  const auto task = NumberTask(targets, 1000, kTargetSteps / 4.0);
  const std::vector<double> outputs = task->Outputs(std::vector<double>{0.5});
  EXPECT_THAT(outputs, ElementsAre(DoubleNear(-0.125, 1e-12), DoubleNear(0.125, 1e-12)));
}

}  // namespace
}  // namespace coppice::trainers
