#include "common/schema/number.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace coppice {
namespace {

TEST(NumberTest, ReadsDecimalNumbersWithBlanksAndSigns) {
  EXPECT_EQ(ParseFinite("12"), 12.0);
  EXPECT_EQ(ParseFinite(" -0.5\r"), -0.5);
  EXPECT_EQ(ParseFinite("+1e3"), 1000.0);
  EXPECT_EQ(ParseFinite("1e-999"), 0.0);
}

TEST(NumberTest, RefusesTextThatIsNotAFiniteDecimalNumber) {
  for (const char* text : {"", " ", "nan", "-NaN", "inf", "Infinity", "1e999", "-1e999", "12x",
                           "0x10", "0x1p3", "1,5", "1 2", "--1", "+-1", "."}) {
    EXPECT_FALSE(ParseFinite(text).has_value()) << text;
  }
}

TEST(NumberTest, NegativeZeroIsZero) { EXPECT_FALSE(std::signbit(*ParseFinite("-0.0"))); }

TEST(NumberTest, ShortestTextReadsBackToTheSameDouble) {
  EXPECT_EQ(ShortestNumber(0.1), "0.1");
  EXPECT_EQ(ShortestNumber(25), "25");
  for (const double value : {1.0 / 3, -1e-300, std::numeric_limits<double>::max(),
                             std::numeric_limits<double>::denorm_min()}) {
    EXPECT_EQ(ParseFinite(ShortestNumber(value)), value);
  }
}

TEST(NumberTest, ReadableTextHasNoExponentUnlessFarFromOne) {
  EXPECT_EQ(ReadableNumber(100000), "100000");
  EXPECT_EQ(ReadableNumber(-0.00002), "-0.00002");
  EXPECT_EQ(ReadableNumber(0), "0");
  EXPECT_EQ(ReadableNumber(1e15), "1e+15");
  EXPECT_EQ(ReadableNumber(9e-6), "9e-06");
  for (const double value : {1.0 / 3, 999999999999999.875, 1.2345678901234567e-5, -2.0 / 3}) {
    EXPECT_EQ(ParseFinite(ReadableNumber(value)), value);
  }
}

}  // namespace
}  // namespace coppice
