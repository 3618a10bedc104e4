#include "common/base/time_text.h"

#include <gtest/gtest.h>

namespace coppice {
namespace {

TEST(TimeTextTest, ReadsBackToTheSameTime) {
  EXPECT_EQ(TimeText(1'769'860'800), "2026-01-31T12:00:00Z");
  EXPECT_EQ(ParseTimeText("2026-01-31T12:00:00Z"), 1'769'860'800);
  EXPECT_EQ(ParseTimeText("2026-01-31T13:30:00+01:30"), 1'769'860'800);
}

TEST(TimeTextTest, KnowsLeapYearsFractionsAndOffsets) {
  EXPECT_EQ(TimeText(0), "1970-01-01T00:00:00Z");
  EXPECT_EQ(TimeText(-1), "1969-12-31T23:59:59Z");
  EXPECT_EQ(TimeText(951'782'400), "2000-02-29T00:00:00Z");
  EXPECT_EQ(TimeText(4'107'542'400), "2100-03-01T00:00:00Z");
  for (const char* text : {"2000-02-29T00:00:00z", "2000-02-29t00:00:00.75Z",
                           "2000-02-28T23:00:00-01:00", "2000-02-29T05:00:00+05"}) {
    EXPECT_EQ(ParseTimeText(text), 951'782'400) << text;
  }
}

// Of all days up to the year 2400, each has a date of its own, and reads back.
TEST(TimeTextTest, ReadsBackEveryDay) {
  std::string before = TimeText(0);
  for (int64_t day = 1; day < 157'000; ++day) {
    const std::string text = TimeText(day * 86'400);
    EXPECT_LT(before, text);
    EXPECT_EQ(ParseTimeText(text), day * 86'400);
    before = text;
  }
}

TEST(TimeTextTest, RefusesTextThatIsNotATimeAfter1970) {
  for (const char* text :
       {"", "tomorrow", "2026-01-31", "2026-02-30T12:00:00Z", "2100-02-29T12:00:00Z",
        "2026-13-01T12:00:00Z", "2026-01-31T24:00:00Z", "2026-01-31T12:60:00Z",
        "2026-01-31T12:00:00", "2026-01-31T12:00:00.Z", "2026-01-31T12:00:00+1:00",
        "2026-01-31T12:00:00Z ", "+026-01-31T12:00:00Z", "1970-01-01T00:00:00Z",
        "1969-12-31T23:59:59Z"}) {
    EXPECT_FALSE(ParseTimeText(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace coppice
