#include "common/ldp/payload/bit_payload.h"

#include <random>
#include <string>

#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

TEST(BitPayloadTest, FlipsAndReadsBits) {
  std::string payload(BitPayloadBytes(11), '\0');
  ASSERT_EQ(payload.size(), 2u);
  FlipBit(payload, 10);
  EXPECT_EQ(payload, std::string("\0\4", 2));
  EXPECT_TRUE(GetBit(payload, 10));
  EXPECT_FALSE(GetBit(payload, 9));
  FlipBit(payload, 10);
  EXPECT_FALSE(GetBit(payload, 10));
  std::string wide(BitPayloadBytes(80), '\0');
  for (size_t bit = 0; bit < 80; ++bit) {
    FlipBit(wide, bit);
    for (size_t other = 0; other < 80; ++other) EXPECT_EQ(GetBit(wide, other), other == bit);
    FlipBit(wide, bit);
  }
}

TEST(BitPayloadTest, CountsOnes) {
  std::mt19937 bytes(1);
  for (const size_t bits : {1, 7, 8, 9, 63, 64, 65, 127, 512}) {
    std::string payload(BitPayloadBytes(bits), '\0');
    size_t ones = 0;
    for (size_t bit = 0; bit < bits; ++bit) {
      if (bytes() % 3 == 0) continue;
      FlipBit(payload, bit);
      ++ones;
    }
    EXPECT_EQ(CountOnes(payload), ones) << bits;
  }
}

}  // namespace
}  // namespace coppice
