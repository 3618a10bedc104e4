#include "server/trainers/core/noise_of_sums.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <vector>

namespace coppice::trainers {
namespace {

using ::testing::DoubleNear;

constexpr double kSmoothing = 1.5 * 1.4142135623730951;  // in scales, as in boosting

// The mean of f(sum + noise) over Laplace noise of scale 1, by the trapezoidal rule.
double MeanOverNoise(double sum, const std::function<double(double)>& f) {
  constexpr double kReach = 40, kStep = 1e-3;
  double total = 0;
  for (double noise = -kReach; noise <= kReach; noise += kStep) {
    total += std::exp(-std::abs(noise)) / 2 * f(sum + noise) * kStep;
  }
  return total;
}

double Released(double sum) { return std::log(std::max(sum, 0.0) + kSmoothing); }

TEST(NoiseOfLogTest, WithoutItScoresHaveTheMeanThatExactSumsGive) {
  for (const double sum : {0.0, 0.3, 1.0, 4.0, 20.0}) {
    const auto estimate = [](double noisy) {
      return Released(noisy) - NoiseOfLog(noisy, kSmoothing, {.scale = 1}).mean;
    };
    EXPECT_THAT(MeanOverNoise(sum, estimate), DoubleNear(Released(sum), 1e-4)) << sum;
  }
}

TEST(NoiseOfLogTest, VarianceHasTheMeanThatTheEstimatesSpreadHas) {
  for (const double sum : {0.0, 0.3, 1.0, 4.0, 20.0}) {
    const auto estimate = [](double noisy) {
      return Released(noisy) - NoiseOfLog(noisy, kSmoothing, {.scale = 1}).mean;
    };
    const double mean = MeanOverNoise(sum, estimate);
    const double spread =
        MeanOverNoise(sum, [&](double noisy) { return std::pow(estimate(noisy) - mean, 2); });
    const double stated = MeanOverNoise(
        sum, [](double noisy) { return NoiseOfLog(noisy, kSmoothing, {.scale = 1}).variance; });
    EXPECT_THAT(stated, DoubleNear(spread, 1e-3)) << sum;
  }
}

TEST(NoiseOfLogTest, IsZeroWithoutNoise) { EXPECT_EQ(NoiseOfLog(7, 1, {}), OutputNoise{}); }

Measurement Measured(std::vector<int64_t> sums, double scale) {
  return {.sums = std::move(sums), .scale = scale, .is_gaussian = false};
}

TEST(NoiseBySimulationTest, OfALineHasNoMeanAndTheVarianceOfItsSums) {
  const auto line = [](const Measurement& m) -> std::vector<double> {
    return {3.0 * static_cast<double>(m.sums[0]) - static_cast<double>(m.sums[1])};
  };
  const Measurement measured = Measured({1000, 50}, 20);
  const OutputNoise noise = NoiseBySimulation(measured, line(measured), line)[0];
  EXPECT_THAT(noise.mean, DoubleNear(0, 1e-9));
  const double exact = (9 + 1) * 2.0 * 20 * 20;
  EXPECT_THAT(noise.variance, DoubleNear(exact, exact / 2)) << "of few draws";
}

TEST(NoiseBySimulationTest, OfABendHasTheMeanThatNoiseAddsOnceMore) {
  const auto square = [](const Measurement& m) -> std::vector<double> {
    return {std::pow(static_cast<double>(m.sums[0]), 2)};
  };
  const Measurement measured = Measured({1000}, 20);
  const OutputNoise noise = NoiseBySimulation(measured, square(measured), square)[0];
  EXPECT_THAT(noise.mean, DoubleNear(2.0 * 20 * 20, 500));
}

TEST(NoiseBySimulationTest, CountsWhatWasReleasedBesideItsContinuation) {
  const auto smooth = [](const Measurement& m) -> std::vector<double> {
    return {static_cast<double>(m.sums[0])};
  };
  const Measurement measured = Measured({-30}, 20);
  EXPECT_THAT(NoiseBySimulation(measured, {0.0}, smooth)[0].mean, DoubleNear(30, 1e-9));
}

TEST(NoiseBySimulationTest, IsZeroWithoutNoise) {
  const auto any = [](const Measurement&) -> std::vector<double> { return {1}; };
  EXPECT_EQ(NoiseBySimulation(Measured({5}, 0), {1.0}, any)[0], OutputNoise{});
}

TEST(AddNoiseTest, AddsMeansAndVariances) {
  std::vector<OutputNoise> noise = {{.mean = 1, .variance = 2}};
  AddNoise({{.mean = -3, .variance = 5}}, noise);
  EXPECT_EQ(noise[0], (OutputNoise{.mean = -2, .variance = 7}));
  EXPECT_EQ(Scaled(noise[0], -2), (OutputNoise{.mean = 4, .variance = 28}));
}

}  // namespace
}  // namespace coppice::trainers
