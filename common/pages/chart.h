// Draws SVG: lines over a range of numbers, each with its band and its name at its end.
//
// A drawing has a title and a description for screen readers. Colors follow the reader's choice of
// light or dark.
//
// Threads    plain functions and values.

#ifndef COPPICE_COMMON_PAGES_CHART_H_
#define COPPICE_COMMON_PAGES_CHART_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"

namespace coppice::report {

struct ChartPoint {
  double x = 0, y = 0;
  double low = 0, high = 0;  // the band; both equal to y: none
};

struct ChartLine {
  std::string name;
  std::vector<ChartPoint> points;      // in ascending x
  std::optional<ChartPoint> beyond{};  // beyond the axis' end: see Chart::beyond_label; x is unused
};

struct ChartLevel {
  std::string name;
  double y = 0;
};

struct Chart {
  std::string title, description;
  std::string x_label, y_label;
  bool log_x = false;
  bool unit_square = false;    // both axes go from 0 to 1, with the diagonal
  std::string beyond_label{};  // labels a place right of the axis for `beyond`; empty: none
  std::vector<ChartLine> lines;
  std::vector<ChartLevel> levels{};  // dashed lines across
};

// kPart is for a page that has the style sheet; kFile is a complete file.
enum class ChartUse { kPart, kFile };
std::string DrawChart(const Chart& chart, ChartUse use);

// A value with its interval; low and high equal to the value: none.
struct IntervalBar {
  std::string name;
  double value = 0, low = 0, high = 0;
};
// Draws the bars on one scale, one below the other, with the first one marked; part of a page.
std::string DrawIntervals(const std::string& title, absl::Span<const IntervalBar> bars);

}  // namespace coppice::report

#endif  // COPPICE_COMMON_PAGES_CHART_H_
