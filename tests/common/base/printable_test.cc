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
            "\uFFFD\uFFFD31m");  // CSI in one character
  EXPECT_EQ(Printable("\xff\xc3"), "\uFFFD\uFFFD");
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
