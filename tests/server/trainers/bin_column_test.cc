#include "server/trainers/core/bin_column.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace coppice::trainers {
namespace {

using ::testing::ElementsAreArray;

std::vector<uint16_t> RandomBins(size_t bins, size_t rows, uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::vector<uint16_t> drawn;
  for (size_t i = 0; i < rows; ++i) drawn.push_back(static_cast<uint16_t>(engine() % bins));
  if (rows > 0) drawn.back() = static_cast<uint16_t>(bins - 1);
  return drawn;
}

TEST(BinColumnTest, EveryBinComesBackWhateverTheNumberOfBins) {
  for (const size_t bins : {1u, 2u, 255u, 256u, 257u, 300u, 511u, 512u, 513u, 4'000u, 65'536u}) {
    SCOPED_TRACE(bins);
    for (const size_t rows : {0u, 1u, 7u, 8u, 9u, 100u, 3'001u}) {
      const std::vector<uint16_t> drawn = RandomBins(bins, rows, bins + rows);
      BinColumn column(bins, rows);
      // Some rows after the others, in parts that do not end where bytes do.
      for (size_t first = 0; first < rows; first += 13) {
        column.Set(first, absl::MakeConstSpan(drawn).subspan(first, 13));
      }
      ASSERT_EQ(column.size(), rows);
      EXPECT_THAT(column, ElementsAreArray(drawn));
      EXPECT_THAT(column.Widened(), ElementsAreArray(drawn));
      for (const size_t first : {size_t{0}, size_t{3}, size_t{8}, size_t{1'024}}) {
        if (first > rows) continue;
        std::vector<uint16_t> got(rows - first);
        column.Get(first, absl::MakeSpan(got));
        EXPECT_THAT(got, ElementsAreArray(absl::MakeConstSpan(drawn).subspan(first)));
      }
    }
  }
}

TEST(BinColumnTest, SelectsRowsInAnyOrderAndRepeatsThem) {
  for (const size_t bins : {256u, 512u, 1'000u}) {
    const std::vector<uint16_t> drawn = RandomBins(bins, 2'000, bins);
    BinColumn column(bins, drawn.size());
    column.Set(0, drawn);
    std::mt19937_64 engine(1);
    std::vector<uint32_t> positions;
    std::vector<uint16_t> expected;
    for (int i = 0; i < 3'000; ++i) {
      positions.push_back(static_cast<uint32_t>(engine() % drawn.size()));
      expected.push_back(drawn[positions.back()]);
    }
    EXPECT_THAT(column.Select(positions), ElementsAreArray(expected));
  }
}

TEST(BinColumnTest, TakesAByteARowANinthBitOrTwoBytes) {
  EXPECT_EQ(BinColumn::BytesOf(256, 1'000), 1'000u);
  EXPECT_EQ(BinColumn::BytesOf(257, 1'000), 1'125u);
  EXPECT_EQ(BinColumn::BytesOf(512, 1'001), 1'001u + 126u);
  EXPECT_EQ(BinColumn::BytesOf(513, 1'000), 2'000u);
  EXPECT_NE(BinColumn(256, 1).bytes(), nullptr);
  EXPECT_EQ(BinColumn(257, 1).bytes(), nullptr);
}

}  // namespace
}  // namespace coppice::trainers
