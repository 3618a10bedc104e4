// A PrivateRandom that walks every branch of a sampler with its exact probability, so that a test
// can compute the sampler's law instead of sampling it.
//
//   const Law<int64_t> law = WalkAllBranches<int64_t>(1e-12, [](PrivateRandom& random) {
//     return DiscreteLaplace(1, 2, random);
//   });
//
// law.probability[x] is a lower bound of P(x), short of it by at most law.cut, the mass of the
// branches that were less likely than the cut-off and so not walked to their end.

#ifndef COPPICE_TESTS_SUPPORT_WALKING_RANDOM_H_
#define COPPICE_TESTS_SUPPORT_WALKING_RANDOM_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/privacy/private_random.h"

namespace coppice::testing {

class WalkingRandom final : public PrivateRandom {
 public:
  explicit WalkingRandom(double cut_off) : cut_off_(cut_off) {}

  absl::StatusOr<uint64_t> UniformBelow(uint64_t bound) override {
    if (bound == 0) return absl::InvalidArgumentError("bound");
    return Branch(std::vector<double>(bound, 1.0 / static_cast<double>(bound)));
  }
  absl::StatusOr<bool> Bernoulli(uint64_t numerator, uint64_t denominator) override {
    if (denominator == 0 || numerator > denominator) return absl::InvalidArgumentError("fraction");
    const double p = static_cast<double>(numerator) / static_cast<double>(denominator);
    const absl::StatusOr<uint64_t> branch = Branch({1 - p, p});
    if (!branch.ok()) return branch.status();
    return *branch == 1;
  }
  absl::StatusOr<uint64_t> Binomial(uint64_t, uint32_t) override {
    return absl::UnimplementedError("no test walks a binomial draw");
  }
  absl::Status Geometric(const GeometricTable&, absl::Span<SignedSteps>) override {
    return absl::UnimplementedError("no test walks a geometric draw");
  }

  double probability() const { return probability_; }
  // Starts the next path. False when there is none.
  bool NextPath() {
    while (!path_.empty() && path_.back().chosen + 1 == path_.back().probabilities.size()) {
      path_.pop_back();
    }
    if (path_.empty()) return false;
    ++path_.back().chosen;
    at_ = 0;
    probability_ = 1;
    return true;
  }

 private:
  struct Step {
    std::vector<double> probabilities;
    size_t chosen = 0;
  };

  absl::StatusOr<uint64_t> Branch(std::vector<double> probabilities) {
    if (probability_ < cut_off_) return absl::OutOfRangeError("cut off");
    if (at_ == path_.size()) path_.push_back({std::move(probabilities), 0});
    const Step& step = path_[at_++];
    probability_ *= step.probabilities[step.chosen];
    return step.chosen;
  }

  double cut_off_;
  std::vector<Step> path_;
  size_t at_ = 0;
  double probability_ = 1;
};

template <typename Output>
struct Law {
  std::map<Output, double> probability;
  double cut = 0;
};

template <typename Output, typename Sampler>
Law<Output> WalkAllBranches(double cut_off, Sampler sampler) {
  WalkingRandom random(cut_off);
  Law<Output> law;
  do {
    const absl::StatusOr<Output> output = sampler(random);
    if (output.ok()) {
      law.probability[*output] += random.probability();
    } else {
      law.cut += random.probability();
    }
  } while (random.NextPath());
  return law;
}

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_SUPPORT_WALKING_RANDOM_H_
