#include "common/ldp/unary_vector.h"

#include <string>

#include "common/base/status.h"
#include "common/ldp/mechanisms.h"
#include "common/ldp/payload/bit_payload.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using ::coppice::testing::IsOk;
using ::coppice::testing::StatusIs;
using ::testing::HasSubstr;

// Opens what only mechanisms may make.
class AnyRates : public UnaryVector {
 public:
  static Status Create(uint64_t truth, uint64_t lie) { return Rates::Create(truth, lie).status(); }
};

TEST(UnaryVectorTest, RatesAreInOrder) {
  constexpr uint64_t kOne = uint64_t{1} << 32;
  EXPECT_THAT(AnyRates::Create(2, 1), IsOk());
  EXPECT_THAT(AnyRates::Create(kOne - 1, kOne - 2), IsOk());
  const auto refused = StatusIs(StatusCode::kInternal, HasSubstr("out of order"));
  EXPECT_THAT(AnyRates::Create(2, 0), refused);
  EXPECT_THAT(AnyRates::Create(2, 2), refused);
  EXPECT_THAT(AnyRates::Create(1, 2), refused);
  EXPECT_THAT(AnyRates::Create(kOne, 2), refused);
  EXPECT_THAT(AnyRates::Create(kOne + 1, kOne), refused);
}

std::unique_ptr<LocalMechanism> Make(Domain domain) {
  return *MakeOptimizedUnary(*Budget::Parse("1"), domain);
}

// 1002 bits that lie with probability 0.26894: 269.48 ones on average, and 186.35 to either side.
TEST(UnaryVectorTest, NumbersOfOnesAreThoseWithinReach) {
  const auto mechanism = Make({501, 2});
  const auto& unary = static_cast<const UnaryVector&>(*mechanism);
  EXPECT_EQ(unary.min_ones(), 83u);
  EXPECT_EQ(unary.max_ones(), 457u);
  for (const size_t ones : {82u, 83u, 457u, 458u}) {
    std::string payload(BitPayloadBytes(1002), '\0');
    for (size_t bit = 0; bit < ones; ++bit) FlipBit(payload, bit);
    EXPECT_EQ(mechanism->Check(payload).ok(), ones >= 83 && ones <= 457) << ones;
  }
}

// Holds for any number of bits in the last byte.
TEST(UnaryVectorTest, OnlyPaddingIsRefused) {
  for (uint32_t leaves = 1; leaves <= 40; ++leaves) {
    const auto mechanism = Make({leaves, 2});
    const size_t bits = mechanism->sum_size();
    for (size_t bit = 0; bit < 8 * BitPayloadBytes(bits); ++bit) {
      std::string payload(BitPayloadBytes(bits), '\0');
      FlipBit(payload, bit);
      EXPECT_EQ(mechanism->Check(payload).ok(), bit < bits) << bit << " of " << bits;
    }
  }
  const auto odd = Make({3, 3});
  EXPECT_THAT(odd->Check(std::string("\1\2", 2)),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("past its last")));
}

}  // namespace
}  // namespace coppice
