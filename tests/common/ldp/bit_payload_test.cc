#include "common/ldp/bit_payload.h"

#include <random>
#include <vector>

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

class AddBitsTest : public ::testing::TestWithParam<size_t> {};

// Sizes around a byte and a word; numbers of payloads around what is added together.
INSTANTIATE_TEST_SUITE_P(Sizes, AddBitsTest, ::testing::Values(1, 7, 8, 9, 63, 64, 65, 127, 512),
                         ::testing::PrintToStringParamName());

TEST_P(AddBitsTest, AddsAndCountsWhatBitByBitGives) {
  const size_t bits = GetParam();
  std::mt19937 bytes(1);
  for (const size_t count : {0, 1, 6, 7, 8, 251, 252, 253, 600}) {
    std::vector<std::string> payloads(count, std::string(BitPayloadBytes(bits), '\0'));
    std::vector<int64_t> expected(bits, 5);
    for (std::string& payload : payloads) {
      size_t ones = 0;
      for (size_t bit = 0; bit < bits; ++bit) {
        if (bytes() % 3 == 0) continue;  // Most are ones, so that counters fill up.
        FlipBit(payload, bit);
        ++expected[bit];
        ++ones;
      }
      EXPECT_EQ(CountOnes(payload), ones);
    }
    std::vector<int64_t> sums(bits, 5);
    std::vector<Contribution> reports;
    for (const std::string& payload : payloads) reports.push_back({.payload = payload});
    AddBits(reports, absl::MakeSpan(sums));
    EXPECT_EQ(sums, expected) << count;
  }
}

TEST_P(AddBitsTest, NoCounterOverflows) {
  const size_t bits = GetParam();
  std::string ones(BitPayloadBytes(bits), '\0');
  for (size_t bit = 0; bit < bits; ++bit) FlipBit(ones, bit);
  std::vector<int64_t> sums(bits);
  AddBits(std::vector<Contribution>(1000, {.payload = ones}), absl::MakeSpan(sums));
  EXPECT_EQ(sums, std::vector<int64_t>(bits, 1000));
}

}  // namespace
}  // namespace coppice
