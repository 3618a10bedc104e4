#include "common/privacy/concentrated.h"

#include <cmath>

#include "absl/numeric/int128.h"
#include "common/base/status.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using ::coppice::testing::StatusIs;
using ::testing::HasSubstr;

constexpr uint64_t kMillionth = kDeltaOne / 1'000'000;

TEST(RhoTest, ImplyingHasTheReferenceValues) {
  const auto at = [](const char* epsilon) {
    return static_cast<double>(Rho::Implying(*Budget::Parse(epsilon), kMillionth)->picos()) / 1e12;
  };
  EXPECT_NEAR(at("0.1"), 0.000321, 0.0000005);
  EXPECT_NEAR(at("0.5"), 0.00664, 0.000005);
  EXPECT_NEAR(at("0.99"), 0.0239, 0.00005);
  EXPECT_NEAR(at("4"), 0.311, 0.0005);
}

TEST(RhoTest, NothingFollowsWithoutADeltaOrWithAWholeOne) {
  for (const uint64_t delta : {uint64_t{0}, kDeltaOne, kDeltaOne + 1}) {
    EXPECT_THAT(Rho::Implying(*Budget::Parse("1"), delta),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("delta")));
  }
  EXPECT_THAT(Rho::Implying(*Budget::FromNanos(1), 1),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("too small")));
}

TEST(RhoTest, MustBePositiveAndFitInto63Bits) {
  EXPECT_THAT(Rho::FromPicos(0), StatusIs(StatusCode::kInvalidArgument, HasSubstr("rho")));
  EXPECT_THAT(Rho::FromPicos(uint64_t{1} << 63),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("rho")));
  EXPECT_EQ(Rho::FromPicos((uint64_t{1} << 63) - 1)->picos(), (uint64_t{1} << 63) - 1);
}

// epsilon^2 / 8 is at most rho, and exceeds it with one more nano.
TEST(RhoTest, ASelectionCostsAtMostItsRho) {
  for (const uint64_t picos :
       {uint64_t{1}, uint64_t{7}, uint64_t{123'456}, uint64_t{24'400'000'000}, Rho::kPicosPerRho,
        (uint64_t{1} << 63) - 1}) {
    const absl::uint128 epsilon = Rho::FromPicos(picos)->ForSelection().nanos();
    EXPECT_LE(epsilon * epsilon, absl::uint128(picos) * 8'000'000);
    EXPECT_GT((epsilon + 1) * (epsilon + 1), absl::uint128(picos) * 8'000'000);
  }
  EXPECT_EQ(Rho::FromPicos(Rho::kPicosPerRho / 8)->ForSelection().nanos(),
            Budget::kNanosPerEpsilon);
}

// epsilon^2 / 2 is at most rho, and exceeds it with one more nano.
TEST(RhoTest, APureReleaseCostsAtMostItsRho) {
  for (const uint64_t picos :
       {uint64_t{1}, uint64_t{7}, uint64_t{123'456}, uint64_t{24'400'000'000}, Rho::kPicosPerRho}) {
    const absl::uint128 epsilon = Rho::FromPicos(picos)->ForPure().nanos();
    EXPECT_LE(epsilon * epsilon, absl::uint128(picos) * 2'000'000);
    EXPECT_GT((epsilon + 1) * (epsilon + 1), absl::uint128(picos) * 2'000'000);
  }
  EXPECT_EQ(Rho::FromPicos(Rho::kPicosPerRho / 2)->ForPure().nanos(), Budget::kNanosPerEpsilon);
}

// l2_squared / (2 deviation^2) is at most rho, and exceeds it with a deviation of one less.
TEST(RhoTest, GaussianNoiseCostsAtMostItsRho) {
  for (const uint64_t l2_squared :
       {uint64_t{1}, uint64_t{2}, uint64_t{1} << 30, uint64_t{1} << 41}) {
    for (const uint64_t picos :
         {uint64_t{2'000'000'000}, Rho::kPicosPerRho / 3, Rho::kPicosPerRho}) {
      const absl::uint128 deviation = *Rho::FromPicos(picos)->DeviationFor(l2_squared);
      const absl::uint128 wanted = absl::uint128(l2_squared) * Rho::kPicosPerRho;
      EXPECT_GE(deviation * deviation * 2 * picos, wanted);
      EXPECT_LT((deviation - 1) * (deviation - 1) * 2 * picos, wanted);
    }
  }
  EXPECT_EQ(*Rho::FromPicos(Rho::kPicosPerRho / 2)->DeviationFor(49), 7u);
}

TEST(RhoTest, NoiseWithoutBoundsIsRefused) {
  const Rho rho = *Rho::FromPicos(1);
  EXPECT_THAT(rho.DeviationFor(0), StatusIs(StatusCode::kInvalidArgument, HasSubstr("2^60")));
  EXPECT_THAT(rho.DeviationFor((uint64_t{1} << 60) + 1),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("2^60")));
  EXPECT_THAT(rho.DeviationFor(uint64_t{1} << 60),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("2^40")));
}

}  // namespace
}  // namespace coppice
