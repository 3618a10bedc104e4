// The samplers at the ends of what they take: nothing overflows, and nothing past the end is taken.

#include <algorithm>

#include "common/privacy/openssl_random.h"
#include "common/privacy/samplers.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using ::coppice::testing::IsOk;
using ::coppice::testing::StatusIs;
using ::testing::HasSubstr;

// Every draw is 0 and every coin shows heads, which no generator does for long.
class AlwaysTrue final : public PrivateRandom {
 public:
  absl::StatusOr<uint64_t> UniformBelow(uint64_t bound) override {
    if (bound != uint64_t{1} << 63) largest_bound = std::max(largest_bound, bound);
    return 0;
  }
  absl::StatusOr<bool> Bernoulli(uint64_t, uint64_t) override { return true; }
  absl::StatusOr<uint64_t> Binomial(uint64_t, uint32_t) override { return 0; }
  absl::Status Geometric(const GeometricTable&, absl::Span<SignedSteps>) override {
    return absl::OkStatus();
  }

  uint64_t largest_bound = 0;  // of the high piece; the low one has 63 bits
};

TEST(SamplersLimitsTest, ProductsStayIn128Bits) {
  AlwaysTrue random;
  EXPECT_THAT(BernoulliExp(1, kMaxSamplerTerm, random),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("repeats itself")));
  EXPECT_EQ(random.largest_bound, uint64_t{1} << 52);  // 2^100 times 2^15, over 2^63
}

TEST(SamplersLimitsTest, DenominatorsUpTo2ToThe100AreTaken) {
  OpenSslRandom random;
  EXPECT_THAT(BernoulliExp(0, kMaxSamplerTerm, random), IsOk());
  EXPECT_THAT(BernoulliExp(kMaxSamplerTerm, kMaxSamplerTerm, random), IsOk());
  EXPECT_THAT(BernoulliExp(0, kMaxSamplerTerm + 1, random),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("2^100")));
}

TEST(SamplersLimitsTest, NoiseIsTakenBelowAScaleOf2ToThe48) {
  OpenSslRandom random;
  EXPECT_THAT(DiscreteLaplace(1, (uint64_t{1} << 48) - 1, random), IsOk());
  EXPECT_THAT(DiscreteLaplace(1, uint64_t{1} << 48, random),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("2^48")));
}

}  // namespace
}  // namespace coppice
