#include "common/pages/chart.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

#include "absl/strings/str_format.h"
#include "common/base/text.h"
#include "common/pages/html.h"

namespace coppice::report {
namespace {

constexpr double kHeight = 420, kSquareHeight = 440, kLeft = 62, kTop = 18, kBottom = 58;
constexpr double kPlotWidth = 560, kSquareWidth = 364, kCharacter = 7.2, kLabelGap = 17;
constexpr double kNameWidth = 150;  // minimum, so that drawings of a page look alike
constexpr double kBeyondGap = 76;   // between the end of the axis and `beyond`
constexpr size_t kColors = 6;       // colors of the style sheet

size_t Letters(const std::string& utf8) {
  return static_cast<size_t>(std::count_if(utf8.begin(), utf8.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0u) != 0x80u;
  }));
}

// A coordinate of a drawing.
std::string Px(double value) { return absl::StrFormat("%.1f", value); }

std::string SvgText(double x, double y, std::string_view css_class, std::string_view anchor,
                    std::string_view text) {
  return StrCat("<text class=\"", css_class, "\" x=\"", Px(x), "\" y=\"", Px(y),
                "\" text-anchor=\"", anchor, "\">", Text(text), "</text>\n");
}

std::string SvgLine(double x1, double y1, double x2, double y2, std::string_view css_class) {
  return StrCat("<line class=\"", css_class, "\" x1=\"", Px(x1), "\" y1=\"", Px(y1), "\" x2=\"",
                Px(x2), "\" y2=\"", Px(y2), "\"/>\n");
}

// The round step that divides `span` into four to nine parts.
double RoundStep(double span) {
  const double raw = span / 6;
  const double ten = std::pow(10, std::floor(std::log10(raw)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * ten >= raw) return factor * ten;
  }
  return 10 * ten;
}

std::string TickText(double value, double step) {
  const int digits = std::clamp(static_cast<int>(std::ceil(-std::log10(step) - 1e-9)), 0, 9);
  const std::string text = absl::StrFormat("%.*f", digits, std::abs(value));
  return value < -step / 2 ? StrCat("−", text) : text;
}

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  void Hold(double value) {
    if (!std::isfinite(value)) return;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  double span() const { return high - low; }
};

// Places labels at the wanted heights, moved apart where they would touch, inside [top, bottom].
std::vector<double> Spread(const std::vector<double>& wanted, double top, double bottom) {
  std::vector<size_t> order(wanted.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return wanted[a] < wanted[b]; });
  std::vector<double> placed(wanted.size());
  double least = top;
  for (const size_t i : order) {
    placed[i] = std::max(wanted[i], least);
    least = placed[i] + kLabelGap;
  }
  double most = bottom;
  for (size_t k = order.size(); k-- > 0;) {
    placed[order[k]] = std::min(placed[order[k]], most);
    most = placed[order[k]] - kLabelGap;
  }
  return placed;
}

// Draws one chart. Plot coordinates: x to the right, y down, in pixels.
class LineDrawing {
 public:
  explicit LineDrawing(const Chart& chart) : chart_(chart) {
    for (const ChartLine& line : chart.lines) {
      for (const ChartPoint& point : line.points) {
        x_.Hold(AxisX(point.x));
        HoldY(point);
      }
      if (line.beyond) HoldY(*line.beyond);
    }
    for (const ChartLevel& level : chart.levels) y_.Hold(level.y);
    if (chart.unit_square) x_ = y_ = {0, 1};
    if (!(x_.span() > 0)) x_ = {x_.low - 0.5, x_.low + 0.5};
    if (!chart.unit_square) RoundY();
    width_ = chart.unit_square ? kSquareWidth : kPlotWidth;
    bottom_ = (chart.unit_square ? kSquareHeight : kHeight) - kBottom;
    double letters = 0;
    for (const ChartLine& line : chart.lines) letters = std::max(letters, LettersOf(line.name));
    for (const ChartLevel& level : chart.levels) letters = std::max(letters, LettersOf(level.name));
    right_ = kLeft + width_ + (HasBeyond() ? kBeyondGap : 0);
    total_width_ = right_ + (letters == 0 ? 24 : std::max(kNameWidth, letters * kCharacter + 20));
  }

  std::string Draw(ChartUse use) const {
    const bool file = use == ChartUse::kFile;
    return StrCat(
        file ? "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n" : "",
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"chart\" role=\"img\" viewBox=\"0 0 ",
        Px(total_width_), " ", Px(bottom_ + kBottom), "\"",
        file ? StrCat(" width=\"", Px(total_width_), "\" height=\"", Px(bottom_ + kBottom), "\"")
             : "",
        ">\n<title>", Text(chart_.title), "</title>\n<desc>", Text(chart_.description), "</desc>\n",
        file ? StrCat("<style>", ChartStyleSheet(), "</style>\n",
                      "<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n")
             : "",
        Axes(), Levels(), Bands(), Lines(), Names(), "</svg>\n");
  }

 private:
  static double LettersOf(const std::string& name) { return static_cast<double>(Letters(name)); }

  bool HasBeyond() const { return !chart_.beyond_label.empty(); }
  double AxisX(double x) const { return chart_.log_x ? std::log(x) : x; }
  double X(double x) const {
    const double margin = chart_.unit_square ? 0 : 22;
    return kLeft + margin + (AxisX(x) - x_.low) / x_.span() * (width_ - 2 * margin);
  }
  double BeyondX() const { return right_ - 22; }
  double Y(double y) const { return bottom_ - (y - y_.low) / y_.span() * (bottom_ - kTop); }

  void HoldY(const ChartPoint& point) {
    for (const double y : {point.y, point.low, point.high}) y_.Hold(y);
  }

  void RoundY() {
    if (!(y_.span() > 0)) y_ = {y_.low - 0.05, y_.low + 0.05};
    step_ = RoundStep(y_.span());
    y_ = {std::floor(y_.low / step_) * step_, std::ceil(y_.high / step_) * step_};
  }

  std::string Axes() const {
    std::string svg;
    for (double y = y_.low; y < y_.high + step_ / 2; y += step_) {
      StrAppend(&svg, SvgLine(kLeft, Y(y), right_, Y(y), "grid"),
                SvgText(kLeft - 9, Y(y) + 4, "tick", "end", TickText(y, step_)));
    }
    StrAppend(&svg, SvgLine(kLeft, bottom_, kLeft + width_, bottom_, "axis"));
    double last = -100;
    for (const double x : Ticks()) {
      StrAppend(&svg, SvgLine(X(x), bottom_, X(x), bottom_ + 5, "axis"));
      if (X(x) - last < 30) continue;  // labels would touch
      last = X(x);
      StrAppend(&svg, SvgText(X(x), bottom_ + 21, "tick", "middle", absl::StrFormat("%g", x)));
    }
    if (HasBeyond()) {
      StrAppend(&svg, SvgLine(BeyondX() - 22, bottom_, right_, bottom_, "axis"),
                SvgText(BeyondX(), bottom_ + 21, "tick", "middle", chart_.beyond_label));
    }
    if (chart_.unit_square) StrAppend(&svg, SvgLine(X(0), Y(0), X(1), Y(1), "level"));
    const double middle = (kTop + bottom_) / 2;
    StrAppend(&svg, SvgText(kLeft + width_ / 2, bottom_ + 46, "name", "middle", chart_.x_label),
              "<text class=\"name\" text-anchor=\"middle\" transform=\"translate(15 ", Px(middle),
              ") rotate(-90)\">", Text(chart_.y_label), "</text>\n");
    return svg;
  }

  // The x of the points, or a round grid.
  std::vector<double> Ticks() const {
    if (chart_.unit_square) return {0, 0.2, 0.4, 0.6, 0.8, 1};
    std::vector<double> ticks;
    for (const ChartLine& line : chart_.lines) {
      for (const ChartPoint& point : line.points) ticks.push_back(point.x);
    }
    std::sort(ticks.begin(), ticks.end());
    ticks.erase(std::unique(ticks.begin(), ticks.end()), ticks.end());
    return ticks;
  }

  std::string Levels() const {
    std::string svg;
    for (const ChartLevel& level : chart_.levels) {
      StrAppend(&svg, SvgLine(kLeft, Y(level.y), right_, Y(level.y), "level"));
    }
    return svg;
  }

  static std::string ColorOf(size_t line) { return StrCat("s", line % kColors); }

  std::string Bands() const {
    std::string svg;
    for (size_t i = 0; i < chart_.lines.size(); ++i) {
      const std::vector<ChartPoint>& points = chart_.lines[i].points;
      const bool has_band = std::any_of(points.begin(), points.end(),
                                        [](const ChartPoint& p) { return p.low < p.high; });
      if (!has_band || !HasBand(points)) continue;
      std::string path;
      for (const ChartPoint& p : points) {
        StrAppend(&path, path.empty() ? "M" : "L", Px(X(p.x)), " ", Px(Y(p.high)));
      }
      for (size_t k = points.size(); k-- > 0;) {
        StrAppend(&path, "L", Px(X(points[k].x)), " ", Px(Y(points[k].low)));
      }
      StrAppend(&svg, "<path class=\"band ", ColorOf(i), "\" d=\"", path, "Z\"/>\n");
    }
    return svg;
  }

  // No band in a unit square, whose points are separate, or for one point, which has no area.
  bool HasBand(const std::vector<ChartPoint>& points) const {
    return !chart_.unit_square && points.size() > 1;
  }

  std::string Mark(const ChartPoint& point, double x, size_t line, bool hollow) const {
    std::string svg;
    if (point.low < point.high && (hollow || !HasBand(chart_.lines[line].points))) {
      StrAppend(&svg, SvgLine(x, Y(point.low), x, Y(point.high), "bar " + ColorOf(line)));
    }
    StrAppend(&svg, "<circle class=\"", hollow ? "hollow " : "dot ", ColorOf(line), "\" cx=\"",
              Px(x), "\" cy=\"", Px(Y(point.y)), "\" r=\"", hollow ? "4.5" : "4", "\"/>\n");
    return svg;
  }

  std::string Lines() const {
    std::string svg;
    for (size_t i = 0; i < chart_.lines.size(); ++i) {
      const ChartLine& line = chart_.lines[i];
      std::string path, marks;
      for (const ChartPoint& p : line.points) {
        StrAppend(&path, path.empty() ? "M" : "L", Px(X(p.x)), " ", Px(Y(p.y)));
        StrAppend(&marks, Mark(p, X(p.x), i, /*hollow=*/false));
      }
      StrAppend(&svg, "<path class=\"line ", ColorOf(i), "\" d=\"", path, "\"/>\n");
      if (line.beyond && !line.points.empty()) {
        const ChartPoint& end = line.points.back();
        StrAppend(&svg,
                  SvgLine(X(end.x), Y(end.y), BeyondX(), Y(line.beyond->y), "dots " + ColorOf(i)),
                  Mark(*line.beyond, BeyondX(), i, /*hollow=*/true));
      }
      StrAppend(&svg, marks);
    }
    return svg;
  }

  // Names at the end of each line and level.
  std::string Names() const {
    std::vector<double> wanted;
    std::vector<std::pair<std::string, std::string>> names;  // class and text
    for (size_t i = 0; i < chart_.lines.size(); ++i) {
      const ChartLine& line = chart_.lines[i];
      if (line.points.empty() || line.name.empty()) continue;
      wanted.push_back(Y(line.beyond ? line.beyond->y : line.points.back().y));
      names.emplace_back("label " + ColorOf(i), line.name);
    }
    for (const ChartLevel& level : chart_.levels) {
      wanted.push_back(Y(level.y));
      names.emplace_back("label", level.name);
    }
    const std::vector<double> placed = Spread(wanted, kTop, bottom_ - 2);
    std::string svg;
    for (size_t i = 0; i < names.size(); ++i) {
      StrAppend(&svg,
                SvgText(right_ + 10, placed[i] + 4, names[i].first, "start", names[i].second));
    }
    return svg;
  }

  const Chart& chart_;
  Range x_, y_;
  double step_ = 0.2;  // between grid lines
  double width_ = 0, bottom_ = 0, right_ = 0, total_width_ = 0;
};

}  // namespace

std::string DrawChart(const Chart& chart, ChartUse use) { return LineDrawing(chart).Draw(use); }

std::string DrawIntervals(const std::string& title, absl::Span<const IntervalBar> bars) {
  constexpr double kRow = 32, kWide = 380, kValues = 66, kMargin = 16, kScale = 26;
  Range range;
  size_t letters = 0;
  for (const IntervalBar& bar : bars) {
    for (const double value : {bar.value, bar.low, bar.high}) range.Hold(value);
    letters = std::max(letters, Letters(bar.name));
  }
  if (!(range.span() > 0)) range = {range.low - 0.05, range.low + 0.05};
  const double left = 24 + static_cast<double>(letters) * kCharacter;
  const auto x = [&](double value) {
    return left + kMargin + (value - range.low) * (kWide - 2 * kMargin) / range.span();
  };
  const double bottom = kRow * static_cast<double>(bars.size());
  std::string svg = StrCat(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"chart\" role=\"img\" viewBox=\"0 0 ",
      Px(left + kWide + kValues), " ", Px(bottom + kScale), "\">\n<title>", Text(title),
      "</title>\n");
  const double step = RoundStep(range.span());
  for (double tick = std::ceil(range.low / step) * step; tick <= range.high; tick += step) {
    StrAppend(&svg, SvgLine(x(tick), 0, x(tick), bottom, "grid"),
              SvgText(x(tick), bottom + 18, "tick", "middle", TickText(tick, step)));
  }
  for (size_t i = 0; i < bars.size(); ++i) {
    const IntervalBar& bar = bars[i];
    const double y = kRow * (static_cast<double>(i) + 0.5);
    const std::string color = i == 0 ? "s0" : "quiet";
    StrAppend(&svg, SvgText(left - 8, y + 4, "label " + color, "end", bar.name));
    if (bar.low < bar.high) {
      StrAppend(&svg, SvgLine(x(bar.low), y, x(bar.high), y, "span " + color));
    }
    StrAppend(&svg, "<circle class=\"dot ", color, "\" cx=\"", Px(x(bar.value)), "\" cy=\"", Px(y),
              "\" r=\"6\"/>\n",
              SvgText(left + kWide + 10, y + 4, "label " + color, "start", Decimal(bar.value)));
  }
  return StrCat("<div class=\"low\">\n", svg, "</svg>\n</div>\n");
}

}  // namespace coppice::report
