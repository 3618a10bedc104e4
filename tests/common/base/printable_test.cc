#include "common/base/printable.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace coppice {
namespace {

TEST(PrintableTest, KeepsTextAndReplacesWhatSteersATerminal) {
  EXPECT_EQ(Printable("plain, \u03b5 = 1, \U0001F333"), "plain, \u03b5 = 1, \U0001F333");
  EXPECT_EQ(Printable("\x1b]0;OWNED\x07"), "\uFFFD]0;OWNED\uFFFD");
  EXPECT_EQ(Printable("a\tb\nc\x7f"), "a\uFFFDb\uFFFDc\uFFFD");
  EXPECT_EQ(Printable("\xc2\x9b"
                      "31m"),
            "\uFFFD31m");  // CSI in one character
  EXPECT_EQ(Printable("\xff\xc3"), "\uFFFD\uFFFD");
}

TEST(PrintableTest, ReplacesWhatMakesATextPassForAnother) {
  for (const char* invisible :
       {"\u200B",     "\u200C",     "\u200D",    "\u200E", "\u200F", "\u202A", "\u202B",
        "\u202C",     "\u202D",     "\u202E",    "\u2066", "\u2067", "\u2068", "\u2069",
        "\u061C",     "\u00AD",     "\u034F",    "\u180E", "\u2028", "\u2029", "\u2060",
        "\u206F",     "\u3164",     "\uFE0F",    "\uFEFF", "\uFFF9", "\u115F", "\U0001D173",
        "\U000E0001", "\U000E0041", "\U000E01EF"}) {
    EXPECT_EQ(Printable(std::string("a") + invisible + "b"), "a\uFFFDb") << invisible;
  }
  for (const char* visible : {"\u00A0", "\u00AC", "\u00AE", "\u0301", "\u05D0", "\u0627", "\u2027",
                              "\u2030", "\u2070", "\u3000", "\uFDFF", "\uFE10", "\uFFFC", "\uFFFD",
                              "\U00010000", "\U0001F468", "\U000DFFFD", "\U00100000"}) {
    EXPECT_EQ(Printable(visible), visible);
  }
}

TEST(PrintableTest, EveryByteOfWhatIsNoUtf8IsReplaced) {
  EXPECT_EQ(Printable("\xc0\xaf"), "\uFFFD\uFFFD");            // "/" in too many bytes
  EXPECT_EQ(Printable("\xe2\x80"), "\uFFFD\uFFFD");            // cut
  EXPECT_EQ(Printable("\xed\xa0\x80"), "\uFFFD\uFFFD\uFFFD");  // a surrogate
  EXPECT_EQ(Printable("\xf4\x90\x80\x80"), "\uFFFD\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(Printable("\xe2\x80(\xae"), "\uFFFD\uFFFD(\uFFFD");
}

TEST(PrintableTest, ACharacterHasItsCode) {
  const Character mark = FirstCharacter("\u202Ex");
  EXPECT_EQ(mark.bytes, 3u);
  EXPECT_EQ(mark.code, U'\u202E');
  EXPECT_FALSE(mark.is_visible);
  EXPECT_EQ(FirstCharacter("\U0001F333").code, U'\U0001F333');
  EXPECT_TRUE(FirstCharacter("\U0001F333").is_visible);
  EXPECT_EQ(FirstCharacter("\xff").code, U'\uFFFD');
}

TEST(PrintableTest, ListsAreCutWhereNobodyReadsOn) {
  EXPECT_EQ(ListOf({}), "");
  EXPECT_EQ(ListOf({"age", "job"}), "age, job");
  EXPECT_EQ(ListOf(std::vector<std::string>(20, "x")),
            "x, x, x, x, x, x, x, x, x, x, x, x and 8 more");
  EXPECT_LT(ListOf(std::vector<std::string>(3, std::string(100'000, 'x'))).size(), 1000u);
}

}  // namespace
}  // namespace coppice
