#include "common/schema/number.h"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "common/base/text.h"

namespace coppice {

std::optional<double> ParseFinite(std::string_view text) {
  // SimpleAtod() also accepts hexadecimal.
  if (StrContains(text, 'x') || StrContains(text, 'X')) return std::nullopt;
  double value = 0;
  if (!SimpleAtod(text, &value) || !std::isfinite(value)) return std::nullopt;
  return value + 0.0;  // -0 becomes 0: one spelling per value
}

#ifndef __cpp_lib_to_chars
// LLVM's library lacks to_chars() for floating-point numbers: the fewest digits that are read as
// the same number are found by trying.
std::string ShortestNumber(double value) {
  char buffer[32];
  for (int digits = 1; digits <= 17; ++digits) {
    snprintf(buffer, sizeof(buffer), "%.*g", digits, value);
    if (std::strtod(buffer, nullptr) == value) break;
  }
  if (std::abs(value) >= 1e15 || value != std::floor(value)) return buffer;
  char whole[32];
  snprintf(whole, sizeof(whole), "%.0f", value);
  return std::string_view(whole).size() <= std::string_view(buffer).size() ? whole : buffer;
}

std::string ReadableNumber(double value) { return ShortestNumber(value); }
#else
std::string ShortestNumber(double value) {
  char buffer[32];
  const std::to_chars_result end = std::to_chars(buffer, buffer + sizeof(buffer), value);
  return std::string(buffer, end.ptr);
}

std::string ReadableNumber(double value) {
  const double size = std::abs(value);
  if (size != 0 && !(size >= 1e-5 && size < 1e15)) return ShortestNumber(value);
  char buffer[32];
  const std::to_chars_result end =
      std::to_chars(buffer, buffer + sizeof(buffer), value, std::chars_format::fixed);
  return std::string(buffer, end.ptr);
}
#endif

}  // namespace coppice
