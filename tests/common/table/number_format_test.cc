#include "common/table/number_format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "tests/common/table/is_refused.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using ::coppice::testing::IsRefused;

// The number that `text` is in this format, or "none".
std::string Read(std::string_view text, std::string_view format) {
  return PlainNumber(text, *ParseNumberFormat(format)).value_or("none");
}

TEST(NumberFormatTest, MarksStandBetweenGroupsOfThreeOrAreLeftOut) {
  for (const char* format : {"1,234.5", "$1,234.5"}) {
    EXPECT_EQ(Read("1,234,567.25", format), "1234567.25");
    EXPECT_EQ(Read("675", format), "675.0");
    EXPECT_EQ(Read("1234.5", format), "1234.5");
    EXPECT_EQ(Read(" -1,000 ", format), "-1000.0");
    for (const char* wrong : {"1,23", "1,2345", ",123", "1,,234", "1,234,56", "12,34.5", "1.234,5",
                              "1,234.", "", "-", ",", ".", "1,234.5.6", "1 234", "1e5", "0x10"}) {
      EXPECT_EQ(Read(wrong, format), "none") << wrong;
    }
  }
}

TEST(NumberFormatTest, EachFormatReadsItsOwnExampleAndRefusesThoseWithOtherDecimals) {
  for (const std::string& body : NumberBodies()) {
    EXPECT_EQ(Read(body, body), "1234.5");
    for (const std::string& other : NumberBodies()) {
      const std::string read = Read(other, body);
      EXPECT_TRUE(read == "1234.5" || read == "none")
          << other << " read as " << body << ": " << read;
    }
  }
}

TEST(NumberFormatTest, TypographicBlanksSignsAndApostrophesAreAlike) {
  EXPECT_EQ(Read("1\u202F234\u00A0567,5", "1 234,5"), "1234567.5");
  EXPECT_EQ(Read("\u22121\u2019234.5", "1'234.5"), "-1234.5");
}

TEST(NumberFormatTest, ACurrencyMayBeLeftOutAndAPercentSignMayNot) {
  EXPECT_EQ(Read("$1,200.50", "$1,234.5"), "1200.50");
  EXPECT_EQ(Read("-$5", "$1,234.5"), "-5.0");
  EXPECT_EQ(Read("$ -5", "$1,234.5"), "-5.0");
  EXPECT_EQ(Read("5", "$1,234.5"), "5.0");
  EXPECT_EQ(Read("€5", "$1,234.5"), "none");
  EXPECT_EQ(Read("5 EUR", "1.234,5 EUR"), "5.0");
  EXPECT_EQ(Read("EUR 5", "1.234,5 EUR"), "none");
  EXPECT_EQ(Read("45 %", "1234.5%"), "45.0");
  EXPECT_EQ(Read("0.45", "1234.5%"), "none");
}

TEST(NumberFormatTest, AFormatIsWrittenAsItIsRead) {
  for (const char* text : {"1,234.5", "$1,234.5", "1.234,5 EUR", "1234.5%", "US$1'234.5"}) {
    EXPECT_EQ(ParseNumberFormat(text)->ToText(), text);
  }
  for (const char* wrong : {"", "$", "1,234.56", "-1,234.5", "1,234.5 1,234.5", "5 1,234.5",
                            "1,234.5 of a rather long unit"}) {
    EXPECT_THAT(ParseNumberFormat(wrong), IsRefused("a number format is how 1234.5 is written"))
        << wrong;
  }
}

}  // namespace
}  // namespace coppice
