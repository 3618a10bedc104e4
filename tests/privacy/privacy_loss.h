// What an observer can learn from laws that were computed branch by branch (walking_random.h).

#ifndef COPPICE_TESTS_PRIVACY_PRIVACY_LOSS_H_
#define COPPICE_TESTS_PRIVACY_PRIVACY_LOSS_H_

#include <algorithm>
#include <cmath>

#include "tests/support/walking_random.h"

namespace coppice::testing {

// The largest log ratio log(P(o) / Q(o)) that the two laws prove: P is at least what was walked, Q
// at most that plus all that was cut off. A value above epsilon refutes a claim of epsilon; what a
// lower value leaves open is bounded by Q's cut, which a test must check too. Rounding of the
// test's own sums of doubles is subtracted.
template <typename Output>
double ProvenLoss(const Law<Output>& p, const Law<Output>& q) {
  constexpr double kRounding = 1e-12;
  double worst = 0;
  for (const auto& [output, probability] : p.probability) {
    const double at_most = q.at(output) + q.cut + kRounding;
    worst = std::max(worst, std::log((probability - kRounding) / at_most));
  }
  return worst;
}

// The delta that the two laws prove to be lost at `epsilon`, by the same bounds.
template <typename Output>
double ProvenDelta(const Law<Output>& p, const Law<Output>& q, double epsilon) {
  double delta = -std::exp(epsilon) * q.cut;
  for (const auto& [output, probability] : p.probability) {
    delta += std::max(0.0, probability - std::exp(epsilon) * q.at(output));
  }
  return delta;
}

// The Renyi divergence of `order` > 1 that the two laws prove, by the same bounds.
template <typename Output>
double ProvenDivergence(const Law<Output>& p, const Law<Output>& q, double order) {
  double moment = 0;
  for (const auto& [output, probability] : p.probability) {
    moment += std::pow(probability, order) * std::pow(q.at(output) + q.cut, 1 - order);
  }
  return std::log(moment) / (order - 1);
}

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_PRIVACY_PRIVACY_LOSS_H_
