#include "common/privacy/geometric_table.h"

#include <cmath>
#include <vector>

#include "absl/numeric/int128.h"
#include "common/base/status.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using ::coppice::testing::StatusIs;
using ::testing::HasSubstr;

StatusOr<uint16_t> NoMoreWords() { return InternalError("asked for a word"); }

// The draw for a uniform number that starts with `words` (the sign bit first) and continues with
// zeros.
SignedSteps DrawFrom(const GeometricTable& table, const std::vector<uint16_t>& words) {
  const SignedSteps draw = table.Lookup(words[0]);
  if (draw != GeometricTable::kUndecided) return draw;
  size_t next = 1;
  return *table.Resolve(words[0], [&]() -> StatusOr<uint16_t> {
    return next < words.size() ? words[next++] : uint16_t{0};
  });
}

TEST(GeometricTableTest, RefusesAZeroRatio) {
  EXPECT_EQ(GeometricTable::Create(1)->numerator(), 1u);
  EXPECT_THAT(GeometricTable::Create(0),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("positive")));
}

// With ratio A/2^32 the number of 63-bit uniform numbers with at least i steps is ceil(ratio^i
// 2^63); for i = 1 and 2 this is checked at the exact boundary, in integers.
TEST(GeometricTableTest, ThresholdsAreExactPowers) {
  for (const uint32_t numerator : {1u, 0x80000000u, 0x9b4597e3u, 0xfd70b1a2u, 0xffffffffu}) {
    const GeometricTable table = *GeometricTable::Create(numerator);
    for (uint32_t power = 1; power <= 2; ++power) {
      // ratio^power as a numerator over 2^64.
      const absl::uint128 threshold =
          power == 1 ? absl::uint128(numerator) << 32 : absl::uint128(numerator) * numerator;
      const auto words_of = [](uint64_t uniform) {  // 0.uniform, after a sign bit of 0
        return std::vector<uint16_t>{
            static_cast<uint16_t>(uniform >> 49), static_cast<uint16_t>(uniform >> 33),
            static_cast<uint16_t>(uniform >> 17), static_cast<uint16_t>(uniform >> 1),
            static_cast<uint16_t>(uniform << 15)};
      };
      const uint64_t at = absl::Uint128Low64(threshold);
      EXPECT_LT(StepsOf(DrawFrom(table, words_of(at))), power) << numerator;
      EXPECT_GE(StepsOf(DrawFrom(table, words_of(at - 1))), power) << numerator;
    }
  }
}

// The look-up table and the digit by digit comparison must agree wherever the table decides.
TEST(GeometricTableTest, LookupAgreesWithTheComparison) {
  for (const uint32_t numerator : {0x80000000u, 0xc75f7cf6u, 0xfeb851ecu}) {
    const GeometricTable table = *GeometricTable::Create(numerator);
    int undecided = 0;
    for (uint32_t word = 0; word < 1u << 16; ++word) {
      const auto first = static_cast<uint16_t>(word);
      const SignedSteps draw = table.Lookup(first);
      undecided += draw == GeometricTable::kUndecided ? 1 : 0;
      if (draw == GeometricTable::kUndecided) continue;
      for (const uint16_t rest : {uint16_t{0}, uint16_t{0xffff}}) {
        EXPECT_EQ(*table.Resolve(first, [rest] { return StatusOr<uint16_t>(rest); }), draw);
      }
    }
    EXPECT_LT(undecided, 1 << 12);  // the table decides nearly all
  }
}

TEST(GeometricTableTest, SignIsTheTopBitAndChangesNothingElse) {
  const GeometricTable table = *GeometricTable::Create(0xc75f7cf6u);
  for (uint32_t word = 0; word < 1u << 15; word += 7) {
    const SignedSteps positive = DrawFrom(table, {static_cast<uint16_t>(word), 12345});
    const SignedSteps negative = DrawFrom(table, {static_cast<uint16_t>(word | 0x8000), 12345});
    EXPECT_FALSE(IsNegative(positive));
    EXPECT_TRUE(IsNegative(negative));
    EXPECT_EQ(StepsOf(positive), StepsOf(negative));
  }
}

// The share of first words that decide "at least i steps" must bracket ratio^i.
TEST(GeometricTableTest, WholeLawMatchesTheRatio) {
  for (const uint32_t numerator : {0x80000000u, 0xc75f7cf6u, 0xfeb851ecu}) {
    const GeometricTable table = *GeometricTable::Create(numerator);
    for (uint32_t i = 1; i <= kManySteps; ++i) {
      const double expected = std::pow(std::ldexp(numerator, -32), i);
      int at_least = 0;
      for (uint32_t word = 0; word < 1u << 15; ++word) {
        at_least += StepsOf(DrawFrom(table, {static_cast<uint16_t>(word), 0x8000})) >= i ? 1 : 0;
      }
      EXPECT_NEAR(at_least / 32768.0, expected, 1.0 / 32768) << i;
    }
  }
}

TEST(GeometricTableTest, AsksForNoMoreWordsThanItNeeds) {
  const GeometricTable table = *GeometricTable::Create(0xc75f7cf6u);
  // The first two digits are the ratio's own, and the third is less or more.
  const auto first = static_cast<uint16_t>(0xc75f7cf6u >> 17);
  const auto second = static_cast<uint16_t>(0xc75f7cf6u >> 1);
  for (const int off : {-1, 1}) {
    int words = 0;
    EXPECT_EQ(StepsOf(*table.Resolve(first,
                                     [&]() -> StatusOr<uint16_t> {
                                       ++words;
                                       return static_cast<uint16_t>(second + off);
                                     })),
              off < 0 ? 1u : 0u);
    EXPECT_EQ(words, 1);
  }
}

TEST(GeometricTableTest, PassesOnTheErrorOfItsSource) {
  const GeometricTable table = *GeometricTable::Create(0xc75f7cf6u);
  // The first 15 digits of the ratio itself cannot decide between zero steps and one.
  const auto first = static_cast<uint16_t>(0xc75f7cf6u >> 17);
  EXPECT_EQ(table.Lookup(first), GeometricTable::kUndecided);
  EXPECT_THAT(table.Resolve(first, &NoMoreWords),
              StatusIs(StatusCode::kInternal, HasSubstr("asked")));
}

}  // namespace
}  // namespace coppice
