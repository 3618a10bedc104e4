#include "common/privacy/budget.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"

namespace coppice {
namespace {

constexpr int kFractionDigits = 9;

Status BadEpsilon(std::string_view why) {
  return InvalidArgumentError(StrCat("epsilon ", why, "; it must be a number from 0.000000001 to ",
                                     Budget::kMaxNanos / Budget::kNanosPerEpsilon));
}

}  // namespace

StatusOr<Budget> Budget::FromNanos(uint64_t nanos) {
  if (nanos == 0) return BadEpsilon("is zero");
  if (nanos > kMaxNanos) return BadEpsilon("is too large");
  return Budget(nanos);
}

StatusOr<Budget> Budget::FromEpsilon(double epsilon) {
  if (std::isnan(epsilon)) return BadEpsilon("is not a number");
  if (epsilon < 0) return BadEpsilon("is negative");
  constexpr double kMaxEpsilon = static_cast<double>(kMaxNanos / kNanosPerEpsilon);
  if (epsilon > kMaxEpsilon) return BadEpsilon("is too large");
  // Splitting off the whole part keeps the product below 2^53, so only the final floor rounds by
  // more than half a unit; a product that rounded up past the exact value is corrected.
  const double whole = std::floor(epsilon);
  const double fraction = epsilon - whole;  // exact
  auto nanos = static_cast<uint64_t>(std::floor(fraction * kNanosPerEpsilon));
  if (std::fma(fraction, static_cast<double>(kNanosPerEpsilon), -static_cast<double>(nanos)) < 0) {
    --nanos;  // not below 0: the product is not negative
  }
  return FromNanos(static_cast<uint64_t>(whole) * kNanosPerEpsilon + nanos);
}

StatusOr<Budget> Budget::Parse(std::string_view text) {
  uint64_t nanos = 0;
  bool any_digit = false;
  int fraction_digits = -1;  // -1 until the point
  if (!text.empty() && text[0] == '-') return BadEpsilon("is negative");
  for (const char c : text) {
    if (c == '.' && fraction_digits < 0) {
      fraction_digits = 0;
      continue;
    }
    if (!IsAsciiDigit(static_cast<unsigned char>(c))) return BadEpsilon("is not a number");
    any_digit = true;
    if (fraction_digits == kFractionDigits) continue;  // rounds down
    if (nanos > kMaxNanos) return BadEpsilon("is too large");
    nanos = nanos * 10 + static_cast<uint64_t>(c - '0');
    if (fraction_digits >= 0) ++fraction_digits;
  }
  if (!any_digit) return BadEpsilon("is not a number");
  for (int i = std::max(fraction_digits, 0); i < kFractionDigits; ++i) {
    if (nanos > kMaxNanos) return BadEpsilon("is too large");
    nanos *= 10;
  }
  return FromNanos(nanos);
}

std::string Budget::ToString() const {
  std::string text = StrCat(nanos_ / kNanosPerEpsilon);
  const uint64_t fraction = nanos_ % kNanosPerEpsilon;
  if (fraction == 0) return text;
  std::string digits = StrCat(kNanosPerEpsilon + fraction).substr(1);
  digits.erase(digits.find_last_not_of('0') + 1);
  return StrCat(text, ".", digits);
}

StatusOr<Budget> Budget::Share(uint64_t parts) const {
  if (parts == 0 || parts > nanos_) {
    return InvalidArgumentError(
        StrCat("epsilon ", ToString(), " cannot be shared among ", parts, " parts"));
  }
  return Budget(nanos_ / parts);
}

StatusOr<Budget> Budget::Plus(const Budget& other) const {
  const uint64_t sum = nanos_ + other.nanos_;  // at most 2 * kMaxNanos: no overflow
  if (sum > kMaxNanos) return OutOfRangeError("the sum of the epsilons is too large");
  return Budget(sum);
}

StatusOr<Budget> Budget::Minus(const Budget& spent) const {
  if (spent.nanos_ >= nanos_) {
    return ResourceExhaustedError(
        StrCat("nothing is left of epsilon ", ToString(), " after ", spent.ToString()));
  }
  return Budget(nanos_ - spent.nanos_);
}

}  // namespace coppice
