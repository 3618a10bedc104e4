#include "common/ldp/payload/bit_sums.h"

#include <random>
#include <string>
#include <vector>

#include "common/ldp/payload/bit_payload.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

class AddBitsTest : public ::testing::TestWithParam<size_t> {};

// Sizes around a byte and a column; numbers of payloads around a batch that is added at once.
INSTANTIATE_TEST_SUITE_P(Sizes, AddBitsTest, ::testing::Values(1, 7, 8, 9, 64, 511, 512, 513, 1100),
                         ::testing::PrintToStringParamName());

TEST_P(AddBitsTest, AddsWhatBitByBitGives) {
  const size_t bits = GetParam();
  std::mt19937 bytes(1);
  for (const size_t count : {0, 1, 15, 16, 17, 239, 240, 241, 600}) {
    std::vector<std::string> payloads(count, std::string(BitPayloadBytes(bits), '\0'));
    std::vector<int64_t> expected(bits, 5);
    for (std::string& payload : payloads) {
      for (size_t bit = 0; bit < bits; ++bit) {
        if (bytes() % 3 == 0) continue;  // Most bits are ones, so that counters fill up.
        FlipBit(payload, bit);
        ++expected[bit];
      }
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
