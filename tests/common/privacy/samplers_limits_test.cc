// The samplers at their limits: nothing overflows, and nothing past a limit is accepted.

#include <algorithm>
#include <utility>
#include <vector>

#include "common/base/status.h"
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
  StatusOr<uint64_t> UniformBelow(uint64_t bound) override {
    if (bound != uint64_t{1} << 63) largest_bound = std::max(largest_bound, bound);
    return 0;
  }
  StatusOr<bool> Bernoulli(uint64_t, uint64_t) override { return true; }
  StatusOr<uint64_t> Binomial(uint64_t, uint32_t) override { return 0; }
  Status Geometric(const GeometricTable&, absl::Span<SignedSteps>) override { return OkStatus(); }

  uint64_t largest_bound = 0;  // of the high piece; the low one has 63 bits
};

TEST(SamplersLimitsTest, ProductsStayIn128Bits) {
  AlwaysTrue random;
  EXPECT_THAT(BernoulliExp(1, kMaxSamplerTerm, random),
              StatusIs(StatusCode::kInternal, HasSubstr("repeats itself")));
  EXPECT_EQ(random.largest_bound, uint64_t{1} << 52);  // 2^100 times 2^15, over 2^63
}

// Uniform draws from a list.
class ScriptedUniforms final : public PrivateRandom {
 public:
  explicit ScriptedUniforms(std::vector<uint64_t> draws) : draws_(std::move(draws)) {}

  StatusOr<uint64_t> UniformBelow(uint64_t bound) override {
    bounds.push_back(bound);
    if (bounds.size() > draws_.size()) return OutOfRangeError("another draw");
    return draws_[bounds.size() - 1];
  }
  StatusOr<bool> Bernoulli(uint64_t, uint64_t) override { return false; }
  StatusOr<uint64_t> Binomial(uint64_t, uint32_t) override { return 0; }
  Status Geometric(const GeometricTable&, absl::Span<SignedSteps>) override { return OkStatus(); }

  std::vector<uint64_t> bounds;  // the bounds asked for

 private:
  std::vector<uint64_t> draws_;
};

// A coin of 2^65 sides or more is drawn as a high piece and a low one of 63 bits; the first failure
// at an odd coin means true.
TEST(SamplersLimitsTest, PiecesMakeOneNumber) {
  constexpr uint64_t kPiece = uint64_t{1} << 63;
  const absl::uint128 sides = absl::uint128(1) << 65;
  const absl::uint128 drawn = absl::uint128(3) * kPiece + 5;
  ScriptedUniforms fails({3, 5});
  EXPECT_TRUE(*BernoulliExp(drawn, sides, fails));  // the draw is not below the numerator
  EXPECT_EQ(fails.bounds, (std::vector<uint64_t>{4, kPiece}));
  ScriptedUniforms succeeds({3, 5, 3, 6});
  EXPECT_FALSE(*BernoulliExp(drawn + 1, sides, succeeds));
  EXPECT_EQ(succeeds.bounds, (std::vector<uint64_t>{4, kPiece, 8, kPiece}));
}

TEST(SamplersLimitsTest, PiecesAreDrawnAgainUntilBelowTheBound) {
  constexpr uint64_t kPiece = uint64_t{1} << 63;
  const absl::uint128 sides = (absl::uint128(1) << 65) + 1;
  ScriptedUniforms random({4, 1, 4, 0});  // the first is the bound itself, the second the largest
  EXPECT_TRUE(*BernoulliExp(1, sides, random));
  EXPECT_EQ(random.bounds, (std::vector<uint64_t>{5, kPiece, 5, kPiece}));
}

TEST(SamplersLimitsTest, DenominatorsUpTo2ToThe100AreTaken) {
  OpenSslRandom random;
  EXPECT_THAT(BernoulliExp(0, kMaxSamplerTerm, random), IsOk());
  EXPECT_THAT(BernoulliExp(kMaxSamplerTerm, kMaxSamplerTerm, random), IsOk());
  EXPECT_THAT(BernoulliExp(0, kMaxSamplerTerm + 1, random),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("2^100")));
}

TEST(SamplersLimitsTest, NoiseIsTakenBelowAScaleOf2ToThe48) {
  OpenSslRandom random;
  EXPECT_THAT(DiscreteLaplace(1, (uint64_t{1} << 48) - 1, random), IsOk());
  EXPECT_THAT(DiscreteLaplace(1, uint64_t{1} << 48, random),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("2^48")));
}

}  // namespace
}  // namespace coppice
