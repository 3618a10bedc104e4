// A PrivateRandom that returns geometric draws from a list and counts how many were asked for.

#ifndef COPPICE_TESTS_SUPPORT_SCRIPTED_RANDOM_H_
#define COPPICE_TESTS_SUPPORT_SCRIPTED_RANDOM_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/privacy/private_random.h"

namespace coppice::testing {

class ScriptedRandom final : public PrivateRandom {
 public:
  // After the last of `draws` each further one is `last`.
  explicit ScriptedRandom(std::vector<SignedSteps> draws, SignedSteps last = 0)
      : draws_(std::move(draws)), last_(last) {}

  absl::Status Geometric(const GeometricTable&, absl::Span<SignedSteps> out) override {
    for (SignedSteps& draw : out) draw = drawn_ < draws_.size() ? draws_[drawn_++] : Further();
    return absl::OkStatus();
  }
  absl::StatusOr<uint64_t> UniformBelow(uint64_t) override { return Unscripted(); }
  absl::StatusOr<bool> Bernoulli(uint64_t, uint64_t) override { return Unscripted(); }
  absl::StatusOr<uint64_t> Binomial(uint64_t, uint32_t) override { return Unscripted(); }

  size_t drawn() const { return drawn_; }

 private:
  SignedSteps Further() {
    ++drawn_;
    return last_;
  }
  static absl::Status Unscripted() { return absl::UnimplementedError("only geometric draws"); }

  std::vector<SignedSteps> draws_;
  SignedSteps last_;
  size_t drawn_ = 0;
};

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_SUPPORT_SCRIPTED_RANDOM_H_
