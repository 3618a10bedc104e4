#include "common/privacy/delta.h"

#include <string>
#include <string_view>

#include "common/base/status.h"
#include "common/base/text.h"

namespace coppice {
namespace {

constexpr int64_t kDeltaDigits = 18;

Status BadDelta() {
  return InvalidArgumentError(
      "needs 0, or a number from 1e-18 to below 1, such as 1e-6 or 0.000001");
}

// All digits of a number; its decimal point comes after the first `whole` of them.
struct Digits {
  std::string all;
  int64_t whole = 0;
};

StatusOr<Digits> ReadDigits(std::string_view text) {
  Digits digits;
  bool after_point = false;
  size_t i = 0;
  for (; i < text.size() && text[i] != 'e' && text[i] != 'E'; ++i) {
    if (text[i] == '.' && !after_point) {
      after_point = true;
      continue;
    }
    if (!IsAsciiDigit(static_cast<unsigned char>(text[i]))) return BadDelta();
    digits.all += text[i];
    digits.whole += after_point ? 0 : 1;
  }
  if (digits.all.empty()) return BadDelta();
  if (i == text.size()) return digits;
  int32_t exponent = 0;
  const std::string_view rest = text.substr(i + 1);
  const bool has_spaces = rest != StripAsciiWhitespace(rest);
  if (has_spaces || !SimpleAtoi(rest, &exponent)) return BadDelta();
  digits.whole += exponent;
  return digits;
}

}  // namespace

StatusOr<uint64_t> ParseDelta(std::string_view text) {
  StatusOr<Digits> digits = ReadDigits(text);
  if (!digits.ok()) return digits.status();
  const size_t zeros = digits->all.find_first_not_of('0');
  if (zeros == std::string::npos) return 0;
  // The number is 0.SIGNIFICANT * 10^place.
  const std::string_view significant = std::string_view(digits->all).substr(zeros);
  const int64_t place = digits->whole - static_cast<int64_t>(zeros);
  if (place > 0 || place <= -kDeltaDigits) return BadDelta();
  uint64_t units = 0;
  for (int64_t i = 0; i < place + kDeltaDigits; ++i) {
    const auto digit = static_cast<size_t>(i);
    units = units * 10 +
            (digit < significant.size() ? static_cast<uint64_t>(significant[digit] - '0') : 0);
  }
  return units;
}

}  // namespace coppice
