#include "common/ldp/keep_rate.h"

#include <array>
#include <compare>
#include <cstdint>
#include <vector>

#include "absl/numeric/int128.h"
#include "common/ldp/window_response.h"
#include "common/privacy/exp_bound.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

// The whole product of two numbers, the larger half first.
using Product = std::array<absl::uint128, 2>;

Product Times(absl::uint128 a, absl::uint128 b) {
  const absl::uint128 a0 = absl::Uint128Low64(a), a1 = absl::Uint128High64(a);
  const absl::uint128 b0 = absl::Uint128Low64(b), b1 = absl::Uint128High64(b);
  const absl::uint128 low = a0 * b0;
  const absl::uint128 middle = a1 * b0 + (low >> 64);
  const absl::uint128 other = a0 * b1 + absl::Uint128Low64(middle);
  return {a1 * b1 + (middle >> 64) + (other >> 64), (other << 64) + absl::Uint128Low64(low)};
}

// Whether the worst ratio, 1 + symbols K / (kept (2^62 - K)), is at most e / 2^60, exactly.
bool IsWithin(uint64_t rate, uint32_t kept, uint32_t symbols, absl::uint128 e) {
  const absl::uint128 one = absl::uint128(1) << kExpBits;
  const absl::uint128 lies = kKeepAlways - rate;
  return Times(absl::uint128(rate) * symbols, one) <= Times(lies * kept, e - one);
}

// Computed with integers of any size.
TEST(KeepRateTest, IsAsLargeAsTheBudgetAllows) {
  struct Expected {
    const char* epsilon;
    uint32_t kept, symbols;
    uint64_t rate;
  };
  for (const auto& [epsilon, kept, symbols, rate] :
       std::vector<Expected>{{"0.01", 1, 3, 15397821448874530},
                             {"0.01", 125, 127, 45171490158838375},
                             {"1", 7, 17, 1910889002543789357},
                             {"2", 35, 107, 3119172147379173573},
                             {"4", 25, 125, 4218185027711902029},
                             {"8", 7, 113, 4586838460733298993},
                             {"20", 1, 127, 4611684811242746927},
                             {"20", 125, 127, 4611686008769908268},
                             {"1000", 125, 127, 4611686008769908268},
                             {"20", 127, ~0u, 4311173864832491916}}) {
    EXPECT_EQ(KeepRate(*Budget::Parse(epsilon), kept, symbols), rate)
        << epsilon << " " << kept << " of " << symbols;
  }
}

// Every window, in exact fractions: within epsilon, and one more would not be.
TEST(KeepRateTest, HoldsForEveryWindowAndOneMoreWouldNot) {
  for (const uint64_t nanos :
       std::vector<uint64_t>{10'000'000, 100'000'000, 780'000'001, 1'000'000'000, 1'098'612'289,
                             2'500'000'000, 4'000'000'000, 8'000'000'000, 13'333'333'333,
                             19'999'999'999, 20'000'000'000, 1'000'000'000'000}) {
    const Budget epsilon = *Budget::FromNanos(nanos);
    const absl::uint128 e = ExpLowerBound(epsilon, 1);
    for (uint32_t reach = 1; reach <= kMaxReach; ++reach) {
      for (uint32_t half_width = 0; half_width < reach; ++half_width) {
        const uint32_t kept = 2 * half_width + 1, symbols = 2 * reach + 1;
        const uint64_t rate = KeepRate(epsilon, kept, symbols);
        ASSERT_GT(rate, 0u);
        ASSERT_LT(rate, kKeepAlways);
        ASSERT_TRUE(IsWithin(rate, kept, symbols, e)) << nanos << " " << kept << " " << symbols;
        ASSERT_FALSE(IsWithin(rate + 1, kept, symbols, e)) << nanos << " " << kept;
      }
    }
  }
}

}  // namespace
}  // namespace coppice
