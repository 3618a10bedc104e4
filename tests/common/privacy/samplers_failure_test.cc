// The samplers on scripted draws: whichever draw fails, nothing is released.

#include "common/base/status.h"
#include "common/privacy/samplers.h"
#include "tests/support/scripted_random.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using ::coppice::testing::ExpectEveryFailurePassedOn;
using ::coppice::testing::ScriptedRandom;
using ::coppice::testing::StatusIs;
using ::testing::_;
using ::testing::HasSubstr;

TEST(BernoulliExpFailureTest, AnyDrawMayFail) {
  // exp(-5/2) is exp(-1) twice and then exp(-1/2): each takes a row of coins up to its first tail,
  // and only the last row ends at an even place.
  ExpectEveryFailurePassedOn({1, 1, 0, 0, 1, 0}, false,
                             [](PrivateRandom& random) { return BernoulliExp(5, 2, random); });
}

TEST(BernoulliExpFailureTest, ASourceThatOnlySaysYesIsAnErrorAndNoLoop) {
  ScriptedRandom random(std::vector<uint64_t>(1 << 16, 1));
  EXPECT_THAT(BernoulliExp(1, 1, random),
              StatusIs(StatusCode::kInternal, HasSubstr("repeats itself")));
}

TEST(BernoulliExpFailureTest, RefusesDenominatorsOutOfRange) {
  ScriptedRandom random({});
  EXPECT_THAT(BernoulliExp(1, 0, random), StatusIs(StatusCode::kInvalidArgument, _));
  EXPECT_THAT(BernoulliExp(1, kMaxSamplerTerm + 1, random),
              StatusIs(StatusCode::kInvalidArgument, _));
}

// At the rate 3/2: u = 1, rejected; u = 0, accepted, no step and a minus, which zero may not have;
// u = 1, accepted, one step and a minus: -(1 + 2 * 1) / 3.
const std::vector<uint64_t> kMinusOne = {1, 1, 0, 0, 0, 1, 0, 1, 1, 0, 1, 1, 0, 1, 0, 1};

TEST(DiscreteLaplaceFailureTest, AnyDrawMayFail) {
  ExpectEveryFailurePassedOn<int64_t>(
      kMinusOne, -1, [](PrivateRandom& random) { return DiscreteLaplace(3, 2, random); });
}

TEST(DiscreteLaplaceFailureTest, EpsilonOverSensitivityIsTheRate) {
  const Budget epsilon = *Budget::Parse("4.5");
  ExpectEveryFailurePassedOn<int64_t>(
      kMinusOne, -1, [&](PrivateRandom& random) { return DiscreteLaplace(epsilon, 3, random); });
}

// Terms beyond 64 bits are drawn in two pieces. The first u, 7 * 2^63 + 2^63 - 1, is the bound
// itself and rejected; the second is 0 and accepted, one step, plus: (2^66 - 1) / 2^50.
TEST(DiscreteLaplaceFailureTest, AnyPieceOfALargeDrawMayFail) {
  const absl::uint128 t = (absl::uint128(1) << 66) - 1;
  ExpectEveryFailurePassedOn<int64_t>(
      {7, (uint64_t{1} << 63) - 1, 0, 0, 0, 0, 0, 1, 0, 0}, 65535,
      [&](PrivateRandom& random) { return DiscreteLaplace(absl::uint128(1) << 50, t, random); });
}

TEST(DiscreteLaplaceFailureTest, RefusesASensitivityWhoseNoiseIsTooWide) {
  ScriptedRandom random({});
  EXPECT_THAT(DiscreteLaplace(*Budget::Parse("1"), ~uint64_t{0}, random),
              StatusIs(StatusCode::kInvalidArgument, _));
}

// A Laplace draw of 0 (place 0, kept, no further round, not negative), which is kept.
TEST(DiscreteGaussianFailureTest, AnyDrawMayFail) {
  ExpectEveryFailurePassedOn({0, 0, 1, 0, 0, 0}, int64_t{0},
                             [](PrivateRandom& random) { return DiscreteGaussian(1, random); });
}

}  // namespace
}  // namespace coppice
