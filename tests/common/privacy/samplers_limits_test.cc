// The samplers at the ends of what they take: nothing overflows, and nothing past the end is taken.

#include <algorithm>
#include <cmath>

#include "common/privacy/openssl_random.h"
#include "common/privacy/samplers.h"
#include "tests/support/status_matchers.h"
#include "tests/support/walking_random.h"

namespace coppice {
namespace {

using ::coppice::testing::IsOk;
using ::coppice::testing::StatusIs;
using ::coppice::testing::WalkAllBranches;
using ::testing::HasSubstr;

// Every coin shows heads, which no generator does for long.
class AlwaysTrue final : public PrivateRandom {
 public:
  absl::StatusOr<uint64_t> UniformBelow(uint64_t) override { return 0; }
  absl::StatusOr<bool> Bernoulli(uint64_t, uint64_t denominator) override {
    largest_denominator = std::max(largest_denominator, denominator);
    return true;
  }
  absl::StatusOr<uint64_t> Binomial(uint64_t, uint32_t) override { return 0; }
  absl::Status Geometric(const GeometricTable&, absl::Span<SignedSteps>) override {
    return absl::OkStatus();
  }

  uint64_t largest_denominator = 0;
};

TEST(SamplersLimitsTest, ProductsStayIn64Bits) {
  AlwaysTrue random;
  EXPECT_THAT(BernoulliExp(1, kMaxSamplerTerm, random),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("repeats itself")));
  EXPECT_EQ(random.largest_denominator, uint64_t{1} << 63);  // 2^48 times 2^15
}

TEST(SamplersLimitsTest, TermsUpTo2ToThe48AreTaken) {
  OpenSslRandom random;
  EXPECT_THAT(BernoulliExp(0, kMaxSamplerTerm, random), IsOk());
  EXPECT_THAT(BernoulliExp(kMaxSamplerTerm, kMaxSamplerTerm, random), IsOk());
  const auto too_large = StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("2^48"));
  EXPECT_THAT(BernoulliExp(0, kMaxSamplerTerm + 1, random), too_large);
  EXPECT_THAT(BernoulliExp(kMaxSamplerTerm + 1, 1, random), too_large);
}

TEST(SamplersLimitsTest, SensitivitiesAreTakenWhileTheirTermIs) {
  OpenSslRandom random;
  const Budget epsilon = *Budget::Parse("1000");
  EXPECT_THAT(DiscreteLaplace(epsilon, 281'474, random), IsOk());  // 2^48 / 10^9
  EXPECT_THAT(DiscreteLaplace(epsilon, 281'475, random),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("sensitivity")));
}

// The scale is sensitivity over epsilon, not its inverse.
TEST(SamplersLimitsTest, NoiseForABudgetHasItsScale) {
  const auto law = WalkAllBranches<int64_t>(
      1e-6, [](PrivateRandom& random) { return DiscreteLaplace(*Budget::Parse("1"), 2, random); });
  const double ratio = std::exp(-0.5);
  EXPECT_LE(law.probability.at(0), (1 - ratio) / (1 + ratio) + 1e-12);
  EXPECT_GE(law.probability.at(0), (1 - ratio) / (1 + ratio) - law.cut);
  EXPECT_LE(law.cut, 0.1);
}

}  // namespace
}  // namespace coppice
