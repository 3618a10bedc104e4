// A PrivateRandom that answers from a list, and is Unavailable when the list is used up: a test
// decides every draw, and which draw fails.

#ifndef COPPICE_TESTS_SUPPORT_SCRIPTED_RANDOM_H_
#define COPPICE_TESTS_SUPPORT_SCRIPTED_RANDOM_H_

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/privacy/private_random.h"
#include "tests/support/status_matchers.h"

namespace coppice::testing {

class ScriptedRandom final : public PrivateRandom {
 public:
  explicit ScriptedRandom(std::vector<uint64_t> script) : script_(std::move(script)) {}

  size_t drawn() const { return next_; }

  StatusOr<uint64_t> UniformBelow(uint64_t bound) override {
    if (bound == 0) return InvalidArgumentError("bound");
    return Next(bound - 1);
  }
  StatusOr<bool> Bernoulli(uint64_t numerator, uint64_t denominator) override {
    if (denominator == 0 || numerator > denominator) return InvalidArgumentError("fraction");
    COPPICE_ASSIGN_OR_RETURN(const uint64_t success, Next(1));
    return success == 1;
  }
  StatusOr<uint64_t> Binomial(uint64_t trials, uint32_t) override { return Next(trials); }
  Status Geometric(const GeometricTable&, absl::Span<SignedSteps> out) override {
    for (SignedSteps& draw : out) {
      COPPICE_ASSIGN_OR_RETURN(const uint64_t next, Next(kManySteps << 1 | 1));
      draw = static_cast<SignedSteps>(next);
    }
    return OkStatus();
  }

 private:
  StatusOr<uint64_t> Next(uint64_t max) {
    if (next_ == script_.size()) return UnavailableError("the script has ended");
    EXPECT_LE(script_[next_], max) << "no such draw: number " << next_;
    return script_[next_++];
  }

  std::vector<uint64_t> script_;
  size_t next_ = 0;
};

// Expects that sampler(random) gives `expected` with the whole of `script`, and that it passes on
// the failure of any of these draws, without another draw.
template <typename Output, typename Sampler>
void ExpectEveryFailurePassedOn(const std::vector<uint64_t>& script, Output expected,
                                Sampler sampler) {
  for (size_t draws = 0; draws < script.size(); ++draws) {
    ScriptedRandom random({script.begin(), script.begin() + static_cast<ptrdiff_t>(draws)});
    EXPECT_THAT(sampler(random), StatusIs(StatusCode::kUnavailable, ::testing::HasSubstr("script")))
        << "after " << draws << " draws";
    EXPECT_EQ(random.drawn(), draws);
  }
  ScriptedRandom random(script);
  const StatusOr<Output> output = sampler(random);
  ASSERT_OK(output);
  EXPECT_EQ(*output, expected);
  EXPECT_EQ(random.drawn(), script.size());
}

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_SUPPORT_SCRIPTED_RANDOM_H_
