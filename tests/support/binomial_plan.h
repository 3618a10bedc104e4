// A statistical test of one probability with a stated false-alarm rate.
//
// Accepts() is true if `successes` of `trials` lie within the Chernoff bound around p: with the
// right p it is false with probability below `false_alarm`, whatever the number of trials. Each
// test that uses a plan has a broken twin that the plan must refuse.

#ifndef COPPICE_TESTS_SUPPORT_BINOMIAL_PLAN_H_
#define COPPICE_TESTS_SUPPORT_BINOMIAL_PLAN_H_

#include <cmath>
#include <cstdint>

namespace coppice::testing {

struct BinomialPlan {
  double p;
  uint64_t trials;
  double false_alarm = 1e-9;

  bool Accepts(uint64_t successes) const {
    const double n = static_cast<double>(trials);
    const double seen = static_cast<double>(successes) / n;
    // Chernoff: P(mean is as far on its side) <= exp(-n KL(seen || p)); two sides.
    return n * KullbackLeibler(seen, p) <= std::log(2 / false_alarm);
  }

 private:
  static double KullbackLeibler(double a, double b) {
    const auto term = [](double x, double y) { return x == 0 ? 0 : x * std::log(x / y); };
    return term(a, b) + term(1 - a, 1 - b);
  }
};

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_SUPPORT_BINOMIAL_PLAN_H_
