#include "common/predictor/weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "common/base/public_random.h"

namespace coppice {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::Pointwise;

// Half of w A w - b w.
class Parabola : public ConvexLoss {
 public:
  Parabola(std::vector<double> a, std::vector<double> b) : a_(std::move(a)), b_(std::move(b)) {}

  double Value(absl::Span<const double> w) const override {
    double value = 0;
    for (size_t i = 0; i < b_.size(); ++i) value += w[i] * (Row(i, w) / 2 - b_[i]);
    return value;
  }
  void Differentiate(absl::Span<const double> w, std::vector<double>& gradient,
                     std::vector<double>& hessian) const override {
    for (size_t i = 0; i < b_.size(); ++i) gradient[i] += Row(i, w) - b_[i];
    for (size_t i = 0; i < a_.size(); ++i) hessian[i] += a_[i];
  }

 private:
  double Row(size_t i, absl::Span<const double> w) const {
    return std::inner_product(w.begin(), w.end(), &a_[i * b_.size()], 0.0);
  }
  std::vector<double> a_, b_;
};

// sum of exp(w_i) + exp(-3 w_i) + w_i sum(w): steep on one side, so full steps overshoot.
class Steep : public ConvexLoss {
 public:
  double Value(absl::Span<const double> w) const override {
    double value = std::pow(std::accumulate(w.begin(), w.end(), 0.0), 2);
    for (const double x : w) value += std::exp(x) + std::exp(-3 * x);
    return value;
  }
  void Differentiate(absl::Span<const double> w, std::vector<double>& gradient,
                     std::vector<double>& hessian) const override {
    const double sum = std::accumulate(w.begin(), w.end(), 0.0);
    for (size_t i = 0; i < w.size(); ++i) {
      gradient[i] += 2 * sum + std::exp(w[i]) - 3 * std::exp(-3 * w[i]);
      for (size_t j = 0; j < w.size(); ++j) hessian[i * w.size() + j] += 2;
      hessian[i * w.size() + i] += std::exp(w[i]) + 9 * std::exp(-3 * w[i]);
    }
  }
};

// The gradient is 0 above a bound and not negative at it.
void ExpectOptimal(const ConvexLoss& loss, const std::vector<double>& weights, size_t bounded) {
  std::vector<double> gradient(weights.size()), hessian(weights.size() * weights.size());
  loss.Differentiate(weights, gradient, hessian);
  for (size_t i = 0; i < weights.size(); ++i) {
    if (i < bounded && weights[i] == 0) {
      EXPECT_GE(gradient[i], -1e-5) << "weight " << i;
    } else {
      EXPECT_NEAR(gradient[i], 0, 1e-5) << "weight " << i;
    }
    EXPECT_TRUE(i >= bounded || weights[i] >= 0);
  }
}

TEST(SolvePositiveTest, SolvesAndRefusesWhatIsNotPositive) {
  std::vector<double> a = {4, 2, 2, 3}, b = {10, 9};
  ASSERT_TRUE(SolvePositive(a, b));
  EXPECT_THAT(b, Pointwise(DoubleNear(1e-14), {1.5, 2.0}));
  std::vector<double> saddle = {1, 2, 2, 1}, right = {1, 1};
  EXPECT_FALSE(SolvePositive(saddle, right));
}

TEST(MinimizeTest, ReachesTheMinimumOfAParabolaThatMeetsNoBound) {
  EXPECT_THAT(Minimize(Parabola({4, 2, 2, 3}, {10, 9}), {0, 0}, 2),
              Pointwise(DoubleNear(1e-12), {1.5, 2.0}));
}

TEST(MinimizeTest, HoldsAWeightAtItsBound) {
  // Without bounds (-1, 2); with the first at 0 the second is b / a.
  EXPECT_THAT(Minimize(Parabola({4, 2, 2, 3}, {0, 4}), {1, 1}, 2),
              Pointwise(DoubleNear(1e-12), {0.0, 4.0 / 3}));
  EXPECT_THAT(Minimize(Parabola({4, 2, 2, 3}, {0, 4}), {1, 1}, 0),
              Pointwise(DoubleNear(1e-12), {-1.0, 2.0}))
      << "not bounded";
}

TEST(MinimizeTest, IsOptimalForStronglyRelatedWeights) {
  PublicRandom random(1);
  int at_bound = 0;
  for (int repetition = 0; repetition < 300; ++repetition) {
    const size_t n = 2 + random.Below(7);
    // A = X'X + a little, with columns of X that differ little from each other.
    std::vector<double> x(30 * n), a(n * n), b(n);
    for (size_t row = 0; row < 30; ++row) {
      const double common = random.Unit() - 0.5;
      for (size_t k = 0; k < n; ++k) x[row * n + k] = common + 0.1 * (random.Unit() - 0.5);
    }
    for (size_t i = 0; i < n; ++i) {
      for (size_t j = 0; j < n; ++j) {
        for (size_t row = 0; row < 30; ++row) a[i * n + j] += x[row * n + i] * x[row * n + j];
      }
      a[i * n + i] += 1e-3;
      b[i] = random.Unit() - 0.3;
    }
    const Parabola loss(a, b);
    std::vector<double> start(n);
    if (repetition % 2 == 0) start.assign(n, 1.0 / static_cast<double>(n));
    const std::vector<double> weights = Minimize(loss, start, n);
    ExpectOptimal(loss, weights, n);
    at_bound += static_cast<int>(std::count(weights.begin(), weights.end(), 0.0));
  }
  EXPECT_GT(at_bound, 300) << "else the bounds were not tested";
}

TEST(MinimizeTest, ShortensStepsThatOvershoot) {
  const Steep loss;
  for (const double start : {-8.0, 0.0, 30.0}) {
    const std::vector<double> weights = Minimize(loss, {std::max(start, 0.0), start, start}, 1);
    ExpectOptimal(loss, weights, 1);
    EXPECT_NEAR(weights[1], weights[2], 1e-6);
  }
}

TEST(MinimizeTest, OfNoWeightsIsNothing) {
  EXPECT_THAT(Minimize(Parabola({}, {}), {}, 0), ElementsAre());
}

}  // namespace
}  // namespace coppice
