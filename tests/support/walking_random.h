// A PrivateRandom that walks every branch of the code that draws from it, with its exact
// probability. So a test can compute the law of a sampler, a mechanism or a whole trainer, instead
// of sampling it.
//
//   const Law<int64_t> law = WalkAllBranches<int64_t>(
//       {.cut_off = 1e-12}, [](PrivateRandom& random) { return DiscreteLaplace(1, 2, random); });
//
// law.probability[x] is a lower bound of P(x), too small by at most law.cut: the mass of the
// branches that were less likely than the cut-off and so not walked to their end.

#ifndef COPPICE_TESTS_SUPPORT_WALKING_RANDOM_H_
#define COPPICE_TESTS_SUPPORT_WALKING_RANDOM_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/privacy/private_random.h"

namespace coppice::testing {

struct Walk {
  // Branches less likely than this are not followed.
  double cut_off = 1e-9;
  // Geometric draws of this many steps or more are walked as one branch, which reads "kManySteps or
  // more". For code that treats them alike, such as a search for the next of fewer positions.
  uint32_t lump_from = kManySteps;
};

class WalkingRandom final : public PrivateRandom {
 public:
  explicit WalkingRandom(const Walk& walk) : walk_(walk) {}

  StatusOr<uint64_t> UniformBelow(uint64_t bound) override {
    if (bound == 0) return InvalidArgumentError("bound");
    return Branch({kUniform, bound, 0},
                  [bound] { return std::vector<double>(bound, 1.0 / static_cast<double>(bound)); });
  }

  StatusOr<bool> Bernoulli(uint64_t numerator, uint64_t denominator) override {
    if (denominator == 0 || numerator > denominator) return InvalidArgumentError("fraction");
    const StatusOr<uint64_t> branch =
        Branch({kBernoulli, numerator, denominator}, [numerator, denominator] {
          const double p = static_cast<double>(numerator) / static_cast<double>(denominator);
          return std::vector<double>{1 - p, p};
        });
    if (!branch.ok()) return branch.status();
    return *branch == 1;
  }

  StatusOr<uint64_t> Binomial(uint64_t trials, uint32_t numerator) override {
    return Branch({kBinomial, trials, numerator}, [trials, numerator] {
      const double p = std::ldexp(static_cast<double>(numerator), -32);
      const auto n = static_cast<double>(trials);
      std::vector<double> law(trials + 1);
      for (size_t k = 0; k <= trials; ++k) {
        const auto successes = static_cast<double>(k);
        law[k] = std::exp(std::lgamma(n + 1) - std::lgamma(successes + 1) -
                          std::lgamma(n - successes + 1)) *
                 std::pow(p, successes) * std::pow(1 - p, n - successes);
      }
      return law;
    });
  }

  Status Geometric(const GeometricTable& table, absl::Span<SignedSteps> out) override {
    for (SignedSteps& draw : out) {
      const StatusOr<uint64_t> branch =
          Branch({kGeometric, table.numerator(), 0}, [this, &table] { return StepsLaw(table); });
      if (!branch.ok()) return branch.status();
      const uint64_t steps = *branch / 2 < walk_.lump_from ? *branch / 2 : uint64_t{kManySteps};
      draw = static_cast<SignedSteps>(steps << 1 | (*branch & 1));
    }
    return OkStatus();
  }

  // Draws from a law of the test's own, which `name` distinguishes from its others; returns the
  // place in `law` that was drawn.
  StatusOr<uint64_t> Place(uint64_t name, const std::vector<double>& law) {
    return Branch({kOwn, name, 0}, [&law] { return law; });
  }

  double probability() const { return probability_; }

  // Starts the next path. Returns false when there is none.
  bool NextPath() {
    while (!path_.empty() && !path_.back().Advance()) path_.pop_back();
    if (path_.empty()) return false;
    at_ = 0;
    probability_ = 1;
    return true;
  }

 private:
  enum Kind : uint8_t { kUniform, kBernoulli, kBinomial, kGeometric, kOwn };
  struct Draw {
    Kind kind;
    uint64_t a, b;
    friend auto operator<=>(const Draw&, const Draw&) = default;
  };
  using Probabilities = std::shared_ptr<const std::vector<double>>;

  struct Step {
    Probabilities probabilities;
    size_t chosen = 0;

    double probability() const { return (*probabilities)[chosen]; }
    // Advances to the next branch of non-zero probability.
    bool Advance() {
      do {
        if (++chosen == probabilities->size()) return false;
      } while (probability() == 0);
      return true;
    }
  };

  // Branch 2 i + s stands for i steps with the sign s.
  std::vector<double> StepsLaw(const GeometricTable& table) const {
    const double ratio = std::ldexp(static_cast<double>(table.numerator()), -32);
    std::vector<double> law;
    for (uint32_t steps = 0; steps <= walk_.lump_from; ++steps) {
      const double here = steps < walk_.lump_from ? 1 - ratio : 1;
      law.insert(law.end(), 2, std::pow(ratio, steps) * here / 2);
    }
    return law;
  }

  template <typename MakeLaw>
  StatusOr<uint64_t> Branch(const Draw& draw, MakeLaw make_law) {
    if (probability_ < walk_.cut_off) return OutOfRangeError("cut off");
    if (at_ == path_.size()) {
      Probabilities& law = laws_[draw];
      if (law == nullptr) law = std::make_shared<const std::vector<double>>(make_law());
      Step step{law};
      if (step.probability() == 0) step.Advance();
      path_.push_back(std::move(step));
    }
    const Step& step = path_[at_++];
    probability_ *= step.probability();
    return step.chosen;
  }

  const Walk walk_;
  std::map<Draw, Probabilities> laws_;
  std::vector<Step> path_;
  size_t at_ = 0;
  double probability_ = 1;
};

template <typename Output>
struct Law {
  std::map<Output, double> probability;
  double cut = 0;

  double at(const Output& output) const {
    const auto found = probability.find(output);
    return found == probability.end() ? 0 : found->second;
  }
  // The mass of all paths that were walked to their end; 1 - cut except for rounding.
  double total() const {
    double sum = 0;
    for (const auto& [output, p] : probability) sum += p;
    return sum;
  }
};

// Fails on an error other than the cut-off: such a path has no output to account for.
template <typename Output, typename Sampler>
Law<Output> WalkAllBranches(const Walk& walk, Sampler sampler) {
  WalkingRandom random(walk);
  Law<Output> law;
  do {
    const StatusOr<Output> output = sampler(random);
    if (output.ok()) {
      law.probability[*output] += random.probability();
    } else if (IsOutOfRange(output.status())) {
      law.cut += random.probability();
    } else {
      ADD_FAILURE() << output.status();
      return law;
    }
  } while (random.NextPath());
  return law;
}

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_SUPPORT_WALKING_RANDOM_H_
