#include <array>
#include <cmath>
#include <cstddef>
#include <string_view>

#include "common/base/text.h"
#include "common/table/tables.h"

namespace coppice {
namespace {

struct DatePart {
  int number = 0;
  size_t digits = 0;
};

bool AreMonthAndDay(DatePart month, DatePart day) {
  return month.number >= 1 && month.number <= 12 && day.number >= 1 && day.number <= 31;
}

// Whether the year comes first or last, in two digits or more, beside a month and a day.
bool AreDate(const std::array<DatePart, 3>& parts) {
  const auto [first, middle, last] = parts;
  const auto is_year = [](DatePart part) { return part.digits >= 2; };
  return (is_year(first) && AreMonthAndDay(middle, last)) ||
         (is_year(last) && (AreMonthAndDay(middle, first) || AreMonthAndDay(first, middle)));
}

}  // namespace

bool LooksLikeDate(std::string_view text) {
  text = text.substr(0, text.find_first_of(" T"));
  size_t part = 0;
  std::array<DatePart, 3> parts = {};
  char separator = 0;
  for (const char c : text) {
    if (IsAsciiDigit(static_cast<unsigned char>(c))) {
      if (++parts[part].digits > 4) return false;
      parts[part].number = 10 * parts[part].number + (c - '0');
      continue;
    }
    if (!StrContains("-/.", c) || parts[part].digits == 0 || (separator != 0 && c != separator) ||
        ++part == parts.size()) {
      return false;
    }
    separator = c;
  }
  return part == 2 && parts[part].digits > 0 && AreDate(parts);
}

Target RoundOutward(Target exact, bool integer) {
  if (!(exact.span() > 0) || !std::isfinite(exact.span())) return exact;
  constexpr double kLargestWhole = 9007199254740992;  // 2^53: whole numbers up to it are exact
  constexpr double kSteps = 5;                        // minimum across the interval
  double power = std::floor(std::log10(exact.span() / kSteps));
  double digit = exact.span() / kSteps / std::pow(10, power);
  digit = digit >= 5 ? 5 : digit >= 2 ? 2 : 1;
  if (integer && power < 0) digit = 1, power = 0;
  const double scale = std::pow(10, std::abs(power));
  // Computes multiples of the step as quotients of whole numbers, which gives the nearest doubles.
  const auto multiple = [&](double steps) {
    return power < 0 ? steps * digit / scale : steps * digit * scale;
  };
  const double step = multiple(1);
  Target rounded{multiple(std::floor(exact.min / step)), multiple(std::ceil(exact.max / step))};
  const bool sound = std::isfinite(rounded.span()) && rounded.min <= exact.min &&
                     rounded.max >= exact.max && std::abs(exact.min / step) < kLargestWhole &&
                     std::abs(exact.max / step) < kLargestWhole;
  return sound ? rounded : exact;
}

}  // namespace coppice
