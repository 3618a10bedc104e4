#include "common/privacy/noisy_sums.h"

#include <cmath>
#include <limits>
#include <vector>

#include "common/base/status.h"
#include "common/privacy/openssl_random.h"
#include "tests/support/binomial_plan.h"
#include "tests/support/status_matchers.h"
#include "tests/support/walking_random.h"

namespace coppice {
namespace {

using ::coppice::testing::BinomialPlan;
using ::coppice::testing::Law;
using ::coppice::testing::StatusIs;
using ::coppice::testing::WalkAllBranches;
using ::testing::HasSubstr;

// The scale is 2 / 4: checks the exact law around the sum.
TEST(ReleaseSumsTest, AddsDiscreteLaplaceNoise) {
  const Law<int64_t> law =
      WalkAllBranches<int64_t>({.cut_off = 1e-8}, [](PrivateRandom& random) -> StatusOr<int64_t> {
        const auto noisy = ReleaseSums({10}, 2, *Budget::Parse("4"), random);
        if (!noisy.ok()) return noisy.status();
        return noisy->at(0);
      });
  const double ratio = std::exp(-2.0);
  for (int64_t noise = -3; noise <= 3; ++noise) {
    const double expected =
        (1 - ratio) / (1 + ratio) * std::pow(ratio, static_cast<double>(std::abs(noise)));
    EXPECT_NEAR(law.at(10 + noise), expected, law.cut + 1e-9);
  }
  EXPECT_LT(law.cut, 5e-3);
}

// False alarm < 1e-9: two noises are equal with probability sum p(z)^2 = (1 - r) (1 + r^2) / (1 +
// r)^3.
TEST(ReleaseSumsTest, EachSumHasNoiseOfItsOwn) {
  OpenSslRandom random;
  const double r = std::exp(-1.0);
  const BinomialPlan plan{.p = (1 - r) * (1 + r * r) / std::pow(1 + r, 3), .trials = 50'000};
  uint64_t equal = 0;
  for (uint64_t i = 0; i < plan.trials; ++i) {
    const std::vector<int64_t> noisy = *ReleaseSums({5, 5}, 1, *Budget::Parse("1"), random);
    equal += noisy[0] == noisy[1] ? 1 : 0;
  }
  EXPECT_TRUE(plan.Accepts(equal)) << equal;
}

TEST(ReleaseSumsTest, HoldsSumsAtTheirBounds) {
  OpenSslRandom random;
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
  for (int i = 0; i < 50; ++i) {
    const auto noisy = *ReleaseSums({kMost, kLeast}, 1000, *Budget::Parse("1"), random);
    EXPECT_GT(noisy[0], kMost - 1'000'000);
    EXPECT_LT(noisy[1], kLeast + 1'000'000);
  }
}

TEST(ReleaseSumsTest, RefusesSensitivitiesOutOfRange) {
  OpenSslRandom random;
  EXPECT_THAT(ReleaseSums({1}, 0, *Budget::Parse("1"), random),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("sensitivity")));
  EXPECT_THAT(ReleaseSums({1}, uint64_t{1} << 48, *Budget::Parse("1"), random),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("scale")));
  EXPECT_EQ(ReleaseSums({}, 1, *Budget::Parse("1"), random)->size(), 0u);
}

// The deviation is 1: checks the exact law around the sum.
TEST(ReleaseSumsTest, AddsDiscreteGaussianNoiseForARho) {
  const Rho half = *Rho::FromPicos(Rho::kPicosPerRho / 2);
  const Law<int64_t> law =
      WalkAllBranches<int64_t>({.cut_off = 1e-7}, [&](PrivateRandom& random) -> StatusOr<int64_t> {
        const auto noisy = ReleaseSums({10}, 1, half, random);
        if (!noisy.ok()) return noisy.status();
        return noisy->at(0);
      });
  // The sum of exp(-x^2 / 2) over all whole x.
  const double all = 2.5066282880429055;
  for (int64_t noise = -2; noise <= 2; ++noise) {
    const double expected = std::exp(-static_cast<double>(noise * noise) / 2) / all;
    EXPECT_NEAR(law.at(10 + noise), expected, law.cut + 1e-9);
  }
  EXPECT_LT(law.cut, 0.05);
  OpenSslRandom random;
  EXPECT_THAT(ReleaseSums({1}, 0, half, random),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("sensitivity")));
}

}  // namespace
}  // namespace coppice
