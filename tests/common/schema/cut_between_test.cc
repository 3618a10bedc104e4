#include "common/schema/cut_between.h"

#include <gtest/gtest.h>

#include <cmath>

namespace coppice {
namespace {

TEST(MidpointTest, IsShortWhereThatChangesNothing) {
  EXPECT_EQ(Midpoint(29.7, 29.9), 29.8);
  EXPECT_EQ(Midpoint(0, 2.0 / 3), 0.333333333333);
  const double low = 1e15, high = 1e15 + 1;  // 12 digits would leave the gap
  EXPECT_EQ(Midpoint(low, high), 1e15 + 0.5);
}

TEST(MidpointTest, LiesAboveTheLowerNumberWithoutOverflow) {
  EXPECT_EQ(Midpoint(1, 4), 2.5);
  EXPECT_EQ(Midpoint(1e307, 1.7e308), 9e307);
  const double next = std::nextafter(1.0, 2.0);
  EXPECT_EQ(Midpoint(1, next), next);
}

}  // namespace
}  // namespace coppice
