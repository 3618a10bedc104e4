// A PrivateRandom that returns draws from lists, and counts and records what it is asked for.

#ifndef COPPICE_TESTS_SUPPORT_SCRIPTED_DRAWS_H_
#define COPPICE_TESTS_SUPPORT_SCRIPTED_DRAWS_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/privacy/private_random.h"

namespace coppice::testing {

class ScriptedDraws final : public PrivateRandom {
 public:
  // After the last of `draws` it returns `last` for ever.
  explicit ScriptedDraws(std::vector<SignedSteps> draws, SignedSteps last = 0)
      : draws_(std::move(draws)), last_(last) {}

  Status Geometric(const GeometricTable&, absl::Span<SignedSteps> out) override {
    for (SignedSteps& draw : out) draw = drawn_ < draws_.size() ? draws_[drawn_++] : Further();
    return OkStatus();
  }
  StatusOr<uint64_t> UniformBelow(uint64_t) override { return Unscripted(); }
  StatusOr<bool> Bernoulli(uint64_t, uint64_t) override { return Unscripted(); }
  // Returns what SetBinomials() set, then 0.
  StatusOr<uint64_t> Binomial(uint64_t trials, uint32_t) override {
    trials_.push_back(trials);
    return trials_.size() <= binomials_.size() ? binomials_[trials_.size() - 1] : 0;
  }

  void SetBinomials(std::vector<uint64_t> draws) { binomials_ = std::move(draws); }
  size_t drawn() const { return drawn_; }                          // geometric draws
  const std::vector<uint64_t>& trials() const { return trials_; }  // of each binomial draw

 private:
  SignedSteps Further() {
    ++drawn_;
    return last_;
  }
  static Status Unscripted() { return UnimplementedError("only geometric and binomial draws"); }

  std::vector<SignedSteps> draws_;
  SignedSteps last_;
  size_t drawn_ = 0;
  std::vector<uint64_t> binomials_;
  std::vector<uint64_t> trials_;
};

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_SUPPORT_SCRIPTED_DRAWS_H_
