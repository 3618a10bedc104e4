#include "server/trainers/boosting/boost_task.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/table/table.h"
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

// Scores of every size, the largest beyond any sum of lines and trees.
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
  task->Observe({.sums = {1000 * kResidualUnit}, .scale = 1});            // changes nothing
  ASSERT_OK(task->Add(std::vector<uint32_t>{0, 0, 0}, {{std::log(3)}}));  // a probability of 3/4
  EXPECT_THAT(Filled(*task, 3)[0], ElementsAre(-kHalf, kResidualUnit / 4, 0));
}

// What a row lacks is divided by twice the larger probability, in both classes.
TEST(ClassTaskTest, WeightedResidualsHoldBothClassesBackAlike) {
  const std::vector<uint32_t> labels = {0, 1, kUnlabelled};
  const auto task = ClassTask(labels, 2);
  task->WeightResiduals(/*rows=*/2);
  EXPECT_THAT(Filled(*task, 3)[0], ElementsAre(-kHalf, kHalf, 0));
  ASSERT_OK(task->Add(std::vector<uint32_t>{0, 0, 0}, {{std::log(3)}}));  // a probability of 3/4
  const std::vector<int32_t> asked = Filled(*task, 3)[0];
  EXPECT_NEAR(asked[0], -kHalf, 2);
  EXPECT_NEAR(asked[1], kResidualUnit / 6.0, 2);
  EXPECT_EQ(asked[2], 0);
}

// If they were cut, what is left would push scores on towards certainty.
TEST(ClassTaskTest, ResidualsOfRightProbabilitiesCancel) {
  for (const uint32_t of_second : {5u, 30u, 50u, 70u, 99u}) {
    std::vector<uint32_t> labels(100);
    std::fill_n(labels.begin(), of_second, 1u);
    const auto task = ClassTask(labels, 2);
    task->WeightResiduals(/*rows=*/100);
    const double share = of_second / 100.0;
    ASSERT_OK(task->AddToAll({std::log(share / (1 - share))}));
    const Residuals residuals = Filled(*task, labels.size());
    const int64_t sum = std::accumulate(residuals[0].begin(), residuals[0].end(), int64_t{0});
    EXPECT_LE(std::abs(sum), 200) << of_second;  // two steps a row, from rounding
  }
}

// The released sums of all rows, in which each of ten rows lacks `lacks`.
Measurement OfTenRows(double lacks) {
  return {
      .sums = {std::llround(6 * lacks * kResidualUnit), std::llround(4 * lacks * kResidualUnit)},
      .scale = 1};
}

TEST(ClassTaskTest, NearlyCertainRowsAskForAllThatTheyLackUpToTheBound) {
  const std::vector<uint32_t> labels = {0, 1};
  const auto task = ClassTask(labels, 2);
  task->WeightResiduals(/*rows=*/10);
  ASSERT_OK(task->AddToAll({std::log(3)}));
  const std::vector<std::pair<double, double>> share_and_asked = {
      {-0.3, 1.0 / 4}, {0.05, 1.0 / 4}, {0.1, 5.0 / 24}, {0.15, 1.0 / 6}, {0.5, 1.0 / 6}};
  for (const auto& [share, asked] : share_and_asked) {
    task->Observe(OfTenRows(share));
    const Residuals residuals = Filled(*task, 2);
    EXPECT_NEAR(residuals[0][1], asked * kResidualUnit, 2) << share;
    EXPECT_NEAR(residuals[0][0], -kHalf, 2) << share;
  }
}

// Compilers work on several rows at once, and on the rest one by one. Both must give the same, or
// one more row would move others.
TEST(ClassTaskTest, WhatARowAsksForDoesNotDependOnWhereItStands) {
  const std::vector<double> scores = ManyScores();
  const std::vector<uint32_t> labels(scores.size(), 1);
  const auto all = ClassTask(labels, 2);
  all->WeightResiduals(/*rows=*/1);
  std::vector<std::vector<double>> values;
  std::vector<uint32_t> child(scores.size());
  std::iota(child.begin(), child.end(), 0u);
  for (const double score : scores) values.push_back({score});
  ASSERT_OK(all->Add(child, values));
  const Residuals together = Filled(*all, scores.size());
  for (size_t row = 0; row < scores.size(); ++row) {
    const auto alone = ClassTask(absl::MakeConstSpan(labels).first(1), 2);
    alone->WeightResiduals(/*rows=*/1);
    ASSERT_OK(alone->Add(std::vector<uint32_t>{0}, {{scores[row]}}));
    ASSERT_EQ(Filled(*alone, 1)[0][0], together[0][row]) << scores[row];
    const double lacks = 1 / (1 + std::exp(scores[row]));
    const double weight = 0.5 / std::max(lacks, 1 - lacks);
    ASSERT_NEAR(together[0][row], weight * lacks * kResidualUnit, 2) << scores[row];
  }
}

TEST(ClassTaskTest, NoRowOfTwoClassesAsksForMoreThanItsBounds) {
  constexpr size_t kRows = 3000;
  std::vector<uint32_t> labels(kRows);
  for (size_t r = 0; r < kRows; ++r) labels[r] = static_cast<uint32_t>(r % 2);
  for (const int64_t unit : {kResidualUnit, int64_t{2}, int64_t{16}, int64_t{1} << 20}) {
    const auto task = ClassTask(labels, 2, unit);
    task->WeightResiduals(/*rows=*/10);
    SetScores(*task, kRows, 1, 1);
    const ResidualKind kind = task->kind();
    for (const double lacks : {0.5, 0.12, 0.07, 0.0}) {
      const int64_t sum = std::llround(10 * lacks * static_cast<double>(unit));
      task->Observe({.sums = {sum, 0}, .scale = 1});
      const Residuals residuals = Filled(*task, kRows);
      for (const int32_t residual : residuals[0]) {
        const auto size = static_cast<uint64_t>(std::abs(residual));
        ASSERT_LE(size, kind.sensitivity.l1);
        ASSERT_LE(size * size, kind.sensitivity.l2_squared);
        ASSERT_LE(2 * size, kind.range);
      }
    }
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
  const auto refused = StatusIs(StatusCode::kInternal, HasSubstr("finite"));
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

// At noise scale 2 the smoothing is 1.5 deviations, 1.5 sqrt(2) * 2, on either side.
TEST(ClassTaskTest, ANodesValueIsTheSmoothedLogRatioOfWhatWasMeasured) {
  const std::vector<uint32_t> labels = {0};
  const double smoothing = 1.5 * std::sqrt(2.0) * 2;
  const std::vector<int64_t> positive = {30}, negative = {-7};
  std::vector<double> value(1);
  ClassTask(labels, 2)->Value({.positive = positive, .negative = negative, .scale = 2},
                              absl::MakeSpan(value));
  EXPECT_NEAR(value[0], std::log((30 + smoothing) / smoothing), 1e-12);
}

// Noisy sums of a child's parts: positive ones, and negative ones.
struct PartSums {
  std::vector<int64_t> positive, negative;
  double scale = 0;
  bool is_gaussian = false;

  std::vector<ChildSums> parts() const {
    std::vector<ChildSums> sums;
    for (size_t i = 0; i < positive.size(); ++i) {
      sums.push_back({.positive = absl::MakeConstSpan(positive).subspan(i, 1),
                      .negative = absl::MakeConstSpan(negative).subspan(i, 1),
                      .scale = scale,
                      .is_gaussian = is_gaussian});
    }
    return sums;
  }
  std::vector<double> Values() const {
    const std::vector<uint32_t> labels = {0};
    std::vector<double> values(positive.size());
    ClassTask(labels, 2)->Values(parts(), absl::MakeSpan(values));
    return values;
  }
  std::vector<OutputNoise> Noise() const {
    const std::vector<uint32_t> labels = {0};
    std::vector<OutputNoise> noise(positive.size());
    ClassTask(labels, 2)->ValuesNoise(parts(), absl::MakeSpan(noise));
    return noise;
  }
};

// With eight deviations parts are drawn towards h, the share of positive sums in the whole child.
TEST(ClassTaskTest, PartsAreDrawnToWhatTheChildSays) {
  const PartSums sums{.positive = {900, -40, 50}, .negative = {100, 60, 200}, .scale = 10};
  const double deviation = std::sqrt(2.0) * 10;
  const double s = 1.5 * deviation * std::sqrt(3.0), w = 8 * deviation;
  const double h = (910 + s) / (910 + 360 + 2 * s);
  EXPECT_THAT(sums.Values(),
              ElementsAre(DoubleNear(std::log((900 + w * h) / (100 + w * (1 - h))), 1e-12),
                          DoubleNear(std::log((0 + w * h) / (60 + w * (1 - h))), 1e-12),
                          DoubleNear(std::log((50 + w * h) / (200 + w * (1 - h))), 1e-12)));
}

TEST(ClassTaskTest, APartAloneIsTheChild) {
  const PartSums sums{.positive = {300}, .negative = {70}, .scale = 10};
  std::vector<double> value(1);
  ClassTask(std::vector<uint32_t>{0}, 2)->Value(sums.parts()[0], absl::MakeSpan(value));
  EXPECT_EQ(sums.Values(), value);
}

TEST(ClassTaskTest, PartsOfExtremeSumsHaveBounds) {
  constexpr int64_t kHuge = int64_t{1} << 61;
  for (const double scale : {0.0, 1.0, 0x1p39}) {
    for (const int64_t sum : {-kHuge, int64_t{0}, kHuge}) {
      const PartSums sums{.positive = {sum, 0, -sum}, .negative = {0, -sum, sum}, .scale = scale};
      for (const double value : sums.Values()) EXPECT_LE(std::abs(value), 10) << sum;
      for (const OutputNoise& noise : sums.Noise()) {
        EXPECT_TRUE(std::isfinite(noise.mean)) << sum;
        EXPECT_TRUE(std::isfinite(noise.variance)) << sum;
      }
    }
  }
}

// Noise adds on average what it is said to add, and varies as much as is said.
TEST(ClassTaskTest, NoiseOfPartsIsWhatDrawsOfItShow) {
  const PartSums exact{.positive = {9000, 2500, 700, 4000}, .negative = {1000, 3000, 2100, 4000}};
  constexpr int kDraws = 20'000;
  for (const bool is_gaussian : {false, true}) {
    constexpr double kScale = 150;
    PartSums smooth = exact;  // the same function, smoothed by noise
    smooth.scale = kScale;
    const std::vector<double> before = smooth.Values();
    std::mt19937_64 engine(5);
    std::exponential_distribution<> size(1 / kScale);
    std::normal_distribution<> bell(0, kScale * std::sqrt(2.0));
    const auto draw = [&] {
      if (is_gaussian) return std::llround(bell(engine));
      return std::llround(size(engine)) - std::llround(size(engine));
    };
    std::vector<double> sum(4), squares(4), said(4);
    for (int i = 0; i < kDraws; ++i) {
      PartSums noisy = exact;
      noisy.scale = kScale;
      noisy.is_gaussian = is_gaussian;
      for (int64_t& x : noisy.positive) x += draw();
      for (int64_t& x : noisy.negative) x += draw();
      const std::vector<double> values = noisy.Values();
      const std::vector<OutputNoise> noise = noisy.Noise();
      for (size_t part = 0; part < 4; ++part) {
        const double off = values[part] - noise[part].mean - before[part];
        sum[part] += off;
        squares[part] += off * off;
        said[part] += noise[part].variance;
      }
    }
    for (size_t part = 0; part < 4; ++part) {
      const double deviation = std::sqrt(squares[part] / kDraws);
      EXPECT_LT(std::abs(sum[part] / kDraws), 0.04 * deviation) << part << is_gaussian;
      EXPECT_NEAR(said[part] / squares[part], 1, 0.06) << part << is_gaussian;
    }
  }
}

TEST(NumberTaskTest, RowsAskForWhatTheirScoreLacksWithinTheReach) {
  // 100 steps away from 1000 are a score of 1.
  const std::vector<uint32_t> targets = {1000, 1020, 980, 1100, 60'000, 0};
  const auto task = NumberTask(targets, 1000, 100);
  // The largest residual stands for a step of 0.4 of the reach.
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
