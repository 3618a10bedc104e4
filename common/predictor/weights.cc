#include "common/predictor/weights.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace coppice {
namespace {

constexpr int kMostSteps = 100;
constexpr int kMostHalvings = 60;
// An expected decrease below this part of the function's value is lost in its rounding.
constexpr double kNegligible = 1e-15;
// A step must bring this part of the decrease that the gradient promises (Armijo's rule).
constexpr double kLeastPart = 1e-4;
// A weight this near its bound that the gradient pushes to it counts as at it: a step computed as
// if the weight could go on would send the others the wrong way.
constexpr double kAtBound = 1e-9;

// What a minimization knows about its current weights.
struct Place {
  std::vector<double> weights{}, gradient{}, hessian{};
  size_t bounded = 0;
};

// The Newton step of the weights that move; none of the others.
std::vector<double> StepOf(const Place& at, const std::vector<bool>& moves) {
  const size_t n = at.weights.size();
  std::vector<size_t> free;
  for (size_t i = 0; i < n; ++i) {
    if (moves[i]) free.push_back(i);
  }
  std::vector<double> a, b;
  for (const size_t i : free) {
    b.push_back(-at.gradient[i]);
    for (const size_t j : free) a.push_back(at.hessian[i * n + j]);
  }
  if (!SolvePositive(a, b)) {  // never for a positive definite Hessian; then follow the gradient
    for (size_t i = 0; i < free.size(); ++i) b[i] = -at.gradient[free[i]];
  }
  std::vector<double> step(n);
  for (size_t i = 0; i < free.size(); ++i) step[free[i]] = b[i];
  return step;
}

// The Newton step that keeps to the bounds at first. A weight at its bound that would have to leave
// the allowed side, for the sake of the others, is held, the worst first; one that is alone in
// having a gradient moves against it, so not all of them can be held in vain.
std::vector<double> AllowedStep(const Place& at) {
  std::vector<bool> moves(at.weights.size(), true);
  for (size_t i = 0; i < at.bounded; ++i) {
    moves[i] = at.weights[i] > kAtBound || at.gradient[i] < 0;
  }
  for (;;) {
    std::vector<double> step = StepOf(at, moves);
    size_t worst = at.bounded;
    for (size_t i = 0; i < at.bounded; ++i) {
      const bool leaves = moves[i] && at.weights[i] <= kAtBound && step[i] < 0;
      if (leaves && (worst == at.bounded || step[i] < step[worst])) worst = i;
    }
    if (worst == at.bounded) {
      for (size_t i = 0; i < at.bounded; ++i) {
        if (!moves[i] && at.gradient[i] > 0) step[i] = -at.weights[i];
      }
      return step;
    }
    moves[worst] = false;
  }
}

std::vector<double> Moved(const std::vector<double>& weights, const std::vector<double>& step,
                          double length, size_t bounded) {
  std::vector<double> moved = weights;
  for (size_t i = 0; i < moved.size(); ++i) {
    moved[i] += length * step[i];
    if (i < bounded) moved[i] = std::max(moved[i], 0.0);
  }
  return moved;
}

}  // namespace

bool SolvePositive(std::vector<double>& a, std::vector<double>& b) {
  const size_t n = b.size();
  for (size_t i = 0; i < n; ++i) {  // Cholesky: the lower half of `a` becomes its factor
    for (size_t j = 0; j <= i; ++j) {
      double rest = a[i * n + j];
      for (size_t k = 0; k < j; ++k) rest -= a[i * n + k] * a[j * n + k];
      if (i > j) {
        a[i * n + j] = rest / a[j * n + j];
      } else if (rest > 0) {
        a[i * n + i] = std::sqrt(rest);
      } else {
        return false;
      }
    }
  }
  for (size_t i = 0; i < n; ++i) {
    for (size_t k = 0; k < i; ++k) b[i] -= a[i * n + k] * b[k];
    b[i] /= a[i * n + i];
  }
  for (size_t i = n; i-- > 0;) {
    for (size_t k = i + 1; k < n; ++k) b[i] -= a[k * n + i] * b[k];
    b[i] /= a[i * n + i];
  }
  return true;
}

std::vector<double> Minimize(const ConvexLoss& loss, std::vector<double> start, size_t bounded) {
  Place at{.weights = std::move(start), .bounded = bounded};
  const size_t n = at.weights.size();
  double value = loss.Value(at.weights);
  for (int iteration = 0; iteration < kMostSteps; ++iteration) {
    at.gradient.assign(n, 0);
    at.hessian.assign(n * n, 0);
    loss.Differentiate(at.weights, at.gradient, at.hessian);
    const std::vector<double> step = AllowedStep(at);
    const double expected =
        -std::inner_product(step.begin(), step.end(), at.gradient.begin(), 0.0) / 2;
    if (!(expected > kNegligible * std::abs(value))) break;
    bool is_better = false;
    for (int halving = 0; halving < kMostHalvings && !is_better; ++halving) {
      std::vector<double> moved = Moved(at.weights, step, std::ldexp(1.0, -halving), bounded);
      double promised = 0;
      for (size_t i = 0; i < n; ++i) promised += at.gradient[i] * (at.weights[i] - moved[i]);
      const double reached = loss.Value(moved);
      is_better = promised > 0 && reached <= value - kLeastPart * promised;
      if (!is_better) continue;
      at.weights = std::move(moved);
      value = reached;
    }
    if (!is_better) break;
  }
  return at.weights;
}

}  // namespace coppice
