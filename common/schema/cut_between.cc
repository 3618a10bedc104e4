#include "common/schema/cut_between.h"

#include <charconv>
#include <cmath>
#include <string_view>

#include "common/schema/number.h"

namespace coppice {

double Midpoint(double low, double high) {
  const double middle = low + (high - low) / 2;
  if (middle <= low) return high;
  // to_chars() and ParseFinite() round exactly, so the result is the same on every machine.
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof(digits), middle,
                                 std::chars_format::general, /*precision=*/12);
  const double rounded =
      ParseFinite(std::string_view(digits, static_cast<size_t>(end.ptr - digits))).value_or(middle);
  const bool close = std::abs(rounded - middle) <= 1e-9 * (high - low);
  return close && rounded > low && rounded <= high ? rounded : middle;
}

double CutBetween(const Feature& feature, double low, double high) {
  const double middle = Midpoint(low, high);
  return feature.integer ? WholeCut(middle) : middle;
}

}  // namespace coppice
