#include "common/pages/chart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <regex>
#include <string>
#include <vector>

namespace coppice::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Chart OneLine() {
  return {.title = "Accuracy",
          .description = "over epsilon",
          .x_label = "epsilon",
          .y_label = "accuracy",
          .log_x = true,
          .lines = {{.name = "auto",
                     .points = {{.x = 0.1, .y = 0.7, .low = 0.65, .high = 0.75},
                                {.x = 1, .y = 0.8, .low = 0.78, .high = 0.82},
                                {.x = 10, .y = 0.9, .low = 0.89, .high = 0.91}}}}};
}

// Returns every number of `attribute` in elements of the class.
std::vector<double> Numbers(const std::string& svg, const std::string& css_class,
                            const std::string& attribute) {
  std::vector<double> numbers;
  const std::regex wanted("<[a-z]+ class=\"" + css_class + "[^>]* " + attribute +
                          "=\"([-0-9.]+)\"");
  for (std::sregex_iterator it(svg.begin(), svg.end(), wanted), end; it != end; ++it) {
    numbers.push_back(std::stod((*it)[1]));
  }
  return numbers;
}

TEST(ChartTest, ALogarithmicAxisGivesEachFactorTheSameRoom) {
  const std::vector<double> x = Numbers(DrawChart(OneLine(), ChartUse::kPart), "dot", "cx");
  ASSERT_EQ(x.size(), 3u);
  EXPECT_NEAR(x[1] - x[0], x[2] - x[1], 0.2);
  EXPECT_GT(x[1], x[0]);
}

TEST(ChartTest, MoreIsHigher) {
  const std::vector<double> y = Numbers(DrawChart(OneLine(), ChartUse::kPart), "dot", "cy");
  ASSERT_EQ(y.size(), 3u);
  EXPECT_GT(y[0], y[1]);
  EXPECT_NEAR(y[0] - y[1], y[1] - y[2], 0.2);
}

TEST(ChartTest, ABandIsDrawnWhereThereIsOne) {
  Chart chart = OneLine();
  EXPECT_THAT(DrawChart(chart, ChartUse::kPart), HasSubstr("class=\"band s0\""));
  for (ChartPoint& point : chart.lines[0].points) point.low = point.high = point.y;
  EXPECT_THAT(DrawChart(chart, ChartUse::kPart), Not(HasSubstr("band")));
}

TEST(ChartTest, LinesAreNamedAtTheirEndsWithoutTouching) {
  Chart chart = OneLine();
  chart.lines.push_back(chart.lines[0]);
  chart.lines[1].name = "the same again";
  chart.levels = {{"a level there", 0.9}};
  const std::vector<double> y = Numbers(DrawChart(chart, ChartUse::kPart), "label", "y");
  ASSERT_EQ(y.size(), 3u);
  EXPECT_GE(std::abs(y[0] - y[1]), 16);
  EXPECT_GE(std::abs(y[1] - y[2]), 16);
  EXPECT_GE(std::abs(y[0] - y[2]), 16);
}

TEST(ChartTest, WhatLiesBeyondTheAxisIsRightOfIt) {
  Chart chart = OneLine();
  chart.beyond_label = "no privacy";
  chart.lines[0].beyond = ChartPoint{.y = 0.95, .low = 0.95, .high = 0.95};
  const std::string svg = DrawChart(chart, ChartUse::kPart);
  ASSERT_EQ(Numbers(svg, "hollow", "cx").size(), 1u);
  EXPECT_GT(Numbers(svg, "hollow", "cx")[0], Numbers(svg, "dot", "cx").back());
  EXPECT_THAT(svg, HasSubstr(">no privacy<"));
}

TEST(ChartTest, AFileHasItsStyleAndAPartHasNone) {
  EXPECT_THAT(DrawChart(OneLine(), ChartUse::kFile), HasSubstr("<style>"));
  EXPECT_THAT(DrawChart(OneLine(), ChartUse::kFile), HasSubstr("<?xml"));
  EXPECT_THAT(DrawChart(OneLine(), ChartUse::kPart), Not(HasSubstr("<style>")));
}

TEST(ChartTest, NamesAreEscaped) {
  Chart chart = OneLine();
  chart.title = chart.lines[0].name = "<script>&\"";
  const std::string svg = DrawChart(chart, ChartUse::kFile);
  EXPECT_THAT(svg, Not(HasSubstr("<script>")));
  EXPECT_THAT(svg, HasSubstr("&lt;script&gt;&amp;&quot;"));
}

// A single point, or points at one height, have no span to divide by.
TEST(ChartTest, OnePointCanBeDrawn) {
  Chart chart = OneLine();
  chart.lines[0].points = {{.x = 1, .y = 0.5, .low = 0.5, .high = 0.5}};
  const std::string svg = DrawChart(chart, ChartUse::kPart);
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(svg, Not(HasSubstr("inf")));
  EXPECT_EQ(Numbers(svg, "dot", "cx").size(), 1u);
}

TEST(ChartTest, IntervalsShareAScale) {
  const std::string svg =
      DrawIntervals("Two", {{{.name = "first", .value = 0.6, .low = 0.5, .high = 0.7},
                             {.name = "second", .value = 0.5, .low = 0.5, .high = 0.5}}});
  const std::vector<double> x = Numbers(svg, "dot", "cx");
  ASSERT_EQ(x.size(), 2u);
  EXPECT_GT(x[0], x[1]);
  EXPECT_NEAR(x[1], Numbers(svg, "span", "x1").at(0), 0.2);
}

}  // namespace
}  // namespace coppice::report
