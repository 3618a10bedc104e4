#include "common/base/time_text.h"

#include <gtest/gtest.h>

namespace coppice {
namespace {

TEST(TimeTextTest, ReadsBackToTheSameTime) {
  EXPECT_EQ(TimeText(1'769'860'800), "2026-01-31T12:00:00Z");
  EXPECT_EQ(ParseTimeText("2026-01-31T12:00:00Z"), 1'769'860'800);
  EXPECT_EQ(ParseTimeText("2026-01-31T13:30:00+01:30"), 1'769'860'800);
}

TEST(TimeTextTest, RefusesTextThatIsNotATimeAfter1970) {
  for (const char* text : {"", "tomorrow", "2026-01-31", "2026-02-30T12:00:00Z",
                           "1970-01-01T00:00:00Z", "1969-12-31T23:59:59Z"}) {
    EXPECT_FALSE(ParseTimeText(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace coppice
