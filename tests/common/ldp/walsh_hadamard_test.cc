#include "common/ldp/walsh_hadamard.h"

#include <gtest/gtest.h>

#include <vector>

namespace coppice {
namespace {

int64_t Entry(size_t i, size_t j) { return IsNegativeEntry(i, j) ? -1 : 1; }

TEST(WalshHadamardTest, ColumnsAreOrthogonal) {
  constexpr size_t kSize = 32;
  for (size_t a = 0; a < kSize; ++a) {
    EXPECT_EQ(Entry(a, 0), 1);
    for (size_t b = 0; b < kSize; ++b) {
      EXPECT_EQ(Entry(a, b), Entry(b, a));
      int64_t product = 0;
      for (size_t j = 0; j < kSize; ++j) product += Entry(j, a) * Entry(j, b);
      EXPECT_EQ(product, a == b ? int64_t{kSize} : 0);
    }
  }
}

TEST(WalshHadamardTest, IsTheProductWithTheMatrix) {
  for (size_t size = 1; size <= 64; size *= 2) {
    std::vector<int64_t> values(size), expected(size);
    for (size_t i = 0; i < size; ++i) values[i] = static_cast<int64_t>(i * i) - 7;
    for (size_t i = 0; i < size; ++i) {
      for (size_t j = 0; j < size; ++j) expected[i] += Entry(i, j) * values[j];
    }
    WalshHadamard(absl::MakeSpan(values));
    EXPECT_EQ(values, expected) << size;
  }
}

}  // namespace
}  // namespace coppice
