#include "common/schema/number.h"

#include <charconv>
#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"

namespace coppice {

absl::optional<double> ParseFinite(absl::string_view text) {
  // SimpleAtod() also accepts hexadecimal.
  if (absl::StrContains(text, 'x') || absl::StrContains(text, 'X')) return absl::nullopt;
  double value = 0;
  if (!absl::SimpleAtod(text, &value) || !std::isfinite(value)) return absl::nullopt;
  return value + 0.0;  // -0 becomes 0: one spelling per value
}

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

}  // namespace coppice
