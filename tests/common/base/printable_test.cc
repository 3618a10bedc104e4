#include "common/base/printable.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace coppice
