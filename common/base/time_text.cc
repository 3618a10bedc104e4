#include "common/base/time_text.h"

#include <cstdio>
#include <string_view>

#include "common/base/text.h"

namespace coppice {
namespace {

constexpr int64_t kSecondsPerDay = 24 * 60 * 60;
// Days from 0000-03-01, where leap days come last in their year, to 1970-01-01; and in 400 years.
constexpr int64_t kDaysTo1970 = 719'468;
constexpr int64_t kDaysPerEra = 146'097;

struct Date {
  int64_t year;
  int64_t month;
  int64_t day;
};

int64_t FloorDivide(int64_t number, int64_t by) { return number / by - (number % by < 0 ? 1 : 0); }

// Source     H. Hinnant, "chrono-compatible low-level date algorithms": both directions.
Date DateOfDay(int64_t days_since_1970) {
  const int64_t days = days_since_1970 + kDaysTo1970;
  const int64_t era = FloorDivide(days, kDaysPerEra);
  const int64_t of_era = days - era * kDaysPerEra;
  const int64_t year = (of_era - of_era / 1460 + of_era / 36'524 - of_era / 146'096) / 365;
  const int64_t of_year = of_era - (365 * year + year / 4 - year / 100);
  const int64_t month = (5 * of_year + 2) / 153;  // from March
  const bool is_next_year = month >= 10;
  return {.year = year + era * 400 + (is_next_year ? 1 : 0),
          .month = is_next_year ? month - 9 : month + 3,
          .day = of_year - (153 * month + 2) / 5 + 1};
}

int64_t DayOfDate(const Date& date) {
  const int64_t year = date.year - (date.month <= 2 ? 1 : 0);
  const int64_t era = FloorDivide(year, 400);
  const int64_t of_era = year - era * 400;
  const int64_t month = date.month > 2 ? date.month - 3 : date.month + 9;
  const int64_t of_year = (153 * month + 2) / 5 + date.day - 1;
  return era * kDaysPerEra + of_era * 365 + of_era / 4 - of_era / 100 + of_year - kDaysTo1970;
}

// Takes a number of exactly so many digits off the front of `text`.
bool TakeNumber(std::string_view& text, size_t digits, int64_t& number) {
  if (text.size() < digits) return false;
  number = 0;
  for (const char digit : text.substr(0, digits)) {
    if (!IsAsciiDigit(digit)) return false;
    number = number * 10 + (digit - '0');
  }
  text.remove_prefix(digits);
  return true;
}

bool TakeOneOf(std::string_view& text, std::string_view characters) {
  if (text.empty() || characters.find(text.front()) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

bool TakeDate(std::string_view& text, Date& date) {
  if (!TakeNumber(text, 4, date.year) || !TakeOneOf(text, "-") ||
      !TakeNumber(text, 2, date.month) || !TakeOneOf(text, "-") || !TakeNumber(text, 2, date.day)) {
    return false;
  }
  if (date.month < 1 || date.month > 12) return false;
  // A day that the month does not have is one of the next month.
  const Date read_back = DateOfDay(DayOfDate(date));
  return date.day >= 1 && read_back.month == date.month && read_back.day == date.day;
}

// Seconds since midnight, without their fraction. A leap second is the first one of the next
// minute.
bool TakeTimeOfDay(std::string_view& text, int64_t& seconds) {
  int64_t hour = 0;
  int64_t minute = 0;
  int64_t second = 0;
  if (!TakeNumber(text, 2, hour) || !TakeOneOf(text, ":") || !TakeNumber(text, 2, minute) ||
      !TakeOneOf(text, ":") || !TakeNumber(text, 2, second)) {
    return false;
  }
  if (TakeOneOf(text, ".")) {
    int64_t ignored = 0;
    if (!TakeNumber(text, 1, ignored)) return false;
    while (TakeNumber(text, 1, ignored)) {
    }
  }
  seconds = (hour * 60 + minute) * 60 + second;
  return hour < 24 && minute < 60 && second <= 60;
}

// "Z", or "+01:30" for a clock that is so far ahead.
bool TakeOffset(std::string_view& text, int64_t& seconds) {
  seconds = 0;
  if (TakeOneOf(text, "Zz")) return true;
  const bool is_behind = !text.empty() && text.front() == '-';
  int64_t hours = 0;
  int64_t minutes = 0;
  if (!TakeOneOf(text, "+-") || !TakeNumber(text, 2, hours)) return false;
  const bool has_colon = TakeOneOf(text, ":");
  if ((has_colon || !text.empty()) && !TakeNumber(text, 2, minutes)) return false;
  seconds = (hours * 60 + minutes) * 60 * (is_behind ? -1 : 1);
  return hours < 24 && minutes < 60;
}

}  // namespace

std::string TimeText(int64_t unix_seconds) {
  const int64_t days = FloorDivide(unix_seconds, kSecondsPerDay);
  const int64_t seconds = (unix_seconds % kSecondsPerDay + kSecondsPerDay) % kSecondsPerDay;
  const Date date = DateOfDay(days);
  char text[64];
  std::snprintf(text, sizeof(text), "%04lld-%02d-%02dT%02d:%02d:%02dZ",
                static_cast<long long>(date.year), static_cast<int>(date.month),
                static_cast<int>(date.day), static_cast<int>(seconds / 3600),
                static_cast<int>(seconds / 60 % 60), static_cast<int>(seconds % 60));
  return text;
}

std::optional<int64_t> ParseTimeText(const std::string& text) {
  std::string_view left = text;
  Date date{};
  int64_t of_day = 0;
  int64_t offset = 0;
  if (!TakeDate(left, date) || !TakeOneOf(left, "Tt") || !TakeTimeOfDay(left, of_day) ||
      !TakeOffset(left, offset) || !left.empty()) {
    return std::nullopt;
  }
  const int64_t seconds = DayOfDate(date) * kSecondsPerDay + of_day - offset;
  return seconds > 0 ? std::make_optional(seconds) : std::nullopt;
}

}  // namespace coppice
