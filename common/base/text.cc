#include "common/base/text.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>

namespace coppice {
namespace {

template <typename Replacements>
std::string ReplaceAll(std::string_view text, const Replacements& replacements) {
  std::string out;
  size_t at = 0;
  while (at < text.size()) {
    size_t found = text.size();
    const typename Replacements::value_type* best = nullptr;
    for (const auto& replacement : replacements) {
      if (replacement.first.empty()) continue;
      const size_t place = text.find(replacement.first, at);
      const bool longer =
          best != nullptr && place == found && replacement.first.size() > best->first.size();
      if (place < found || longer) {
        found = place;
        best = &replacement;
      }
    }
    out.append(text.substr(at, found - at));
    if (best == nullptr) break;
    out.append(best->second);
    at = found + best->first.size();
  }
  return out;
}

uint8_t HexDigit(char c) {
  if (IsAsciiDigit(c)) return static_cast<uint8_t>(c - '0');
  const char lower = ToAsciiLower(c);
  return lower >= 'a' && lower <= 'f' ? static_cast<uint8_t>(lower - 'a' + 10) : 0;
}

constexpr std::string_view kBase64 =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::string_view kWebSafeBase64 =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

std::string Escape64(std::string_view bytes, std::string_view alphabet, bool pad) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t held = std::min<size_t>(3, bytes.size() - i);
    uint32_t bits = 0;
    for (size_t k = 0; k < 3; ++k) {
      bits = bits << 8 | (k < held ? static_cast<uint8_t>(bytes[i + k]) : 0u);
    }
    for (size_t k = 0; k <= held; ++k) out.push_back(alphabet[bits >> (18 - 6 * k) & 63]);
    if (pad) out.append(3 - held, '=');
  }
  return out;
}

bool Unescape64(std::string_view text, std::string_view alphabet, std::string* bytes) {
  std::string out;
  uint32_t bits = 0;
  size_t digits = 0;
  size_t padding = 0;
  for (const char c : text) {
    if (IsAsciiSpace(c)) continue;
    if (c == '=') {
      ++padding;
      continue;
    }
    const size_t digit = alphabet.find(c);
    if (digit == alphabet.npos || padding != 0) return false;
    bits = bits << 6 | static_cast<uint32_t>(digit);
    if (++digits % 4 != 0) continue;
    for (const int shift : {16, 8, 0}) out.push_back(static_cast<char>(bits >> shift & 255));
    bits = 0;
  }
  const size_t left = digits % 4;
  if (left == 1 || (padding != 0 && padding != (4 - left) % 4)) return false;
  if (left >= 2) out.push_back(static_cast<char>(bits >> (left == 2 ? 4 : 10) & 255));
  if (left == 3) out.push_back(static_cast<char>(bits >> 2 & 255));
  // Bits that stand for nothing must be 0, so that bytes have one text.
  if (left != 0 && (bits & (left == 2 ? 15u : 3u)) != 0) return false;
  *bytes = std::move(out);
  return true;
}

std::string Padded(uint64_t value, int width, int base) {
  char digits[20];
  const char* end = std::to_chars(digits, digits + sizeof(digits), value, base).ptr;
  const size_t size = static_cast<size_t>(end - digits);
  const size_t least = static_cast<size_t>(std::max(width, 0));
  return std::string(least > size ? least - size : 0, '0').append(digits, size);
}

}  // namespace

TextPiece::TextPiece(double value) {
  const int size = std::snprintf(digits_, sizeof(digits_), "%g", value);
  text_ = {digits_, static_cast<size_t>(size)};
}

void AppendPieces(std::string& out, std::initializer_list<std::string_view> pieces) {
  size_t size = out.size();
  for (const std::string_view piece : pieces) size += piece.size();
  if (size > out.capacity()) out.reserve(std::max(size, 2 * out.capacity()));
  for (const std::string_view piece : pieces) out.append(piece);
}

std::string ZeroPadded(uint64_t value, int width) { return Padded(value, width, 10); }
std::string Hex(uint64_t value, int width) { return Padded(value, width, 16); }

std::vector<std::string_view> SplitParts(std::string_view text, std::string_view between,
                                         size_t most_splits, bool skip_empty) {
  std::vector<std::string_view> parts;
  for (size_t splits = 0;; ++splits) {
    const size_t end = splits < most_splits ? text.find(between) : text.npos;
    const std::string_view part = text.substr(0, end);
    if (!part.empty() || !skip_empty) parts.push_back(part);
    if (end == text.npos) return parts;
    text.remove_prefix(end + between.size());
  }
}

std::vector<std::string_view> SplitPartsByAny(std::string_view text, std::string_view any,
                                              bool skip_empty) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t end = text.find_first_of(any);
    const std::string_view part = text.substr(0, end);
    if (!part.empty() || !skip_empty) parts.push_back(part);
    if (end == text.npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::string_view StripLeadingAsciiWhitespace(std::string_view text) {
  while (!text.empty() && IsAsciiSpace(text.front())) text.remove_prefix(1);
  return text;
}

std::string_view StripTrailingAsciiWhitespace(std::string_view text) {
  while (!text.empty() && IsAsciiSpace(text.back())) text.remove_suffix(1);
  return text;
}

std::string_view StripAsciiWhitespace(std::string_view text) {
  return StripTrailingAsciiWhitespace(StripLeadingAsciiWhitespace(text));
}

std::string StrReplaceAll(
    std::string_view text,
    std::initializer_list<std::pair<std::string_view, std::string_view>> replacements) {
  return ReplaceAll(text, replacements);
}

std::string StrReplaceAll(
    std::string_view text,
    const std::vector<std::pair<std::string_view, std::string>>& replacements) {
  return ReplaceAll(text, replacements);
}

bool EqualsIgnoreCase(std::string_view a, std::string_view b) {
  return a.size() == b.size() && StartsWithIgnoreCase(a, b);
}

bool EndsWithIgnoreCase(std::string_view text, std::string_view suffix) {
  return text.size() >= suffix.size() &&
         EqualsIgnoreCase(text.substr(text.size() - suffix.size()), suffix);
}

bool StartsWithIgnoreCase(std::string_view text, std::string_view prefix) {
  return text.size() >= prefix.size() &&
         std::equal(prefix.begin(), prefix.end(), text.begin(),
                    [](char a, char b) { return ToAsciiLower(a) == ToAsciiLower(b); });
}

std::string AsciiStrToLower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), ToAsciiLower);
  return out;
}

std::string AsciiStrToUpper(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), ToAsciiUpper);
  return out;
}

#ifdef __cpp_lib_to_chars
using std::from_chars;
#else
// LLVM's library lacks it for floating-point numbers. strtod() rounds exactly too, but reads more:
// white space, a sign, and hexadecimal numbers, where this stops behind the zero.
static std::from_chars_result from_chars(const char* begin, const char* end, double& value) {
  const std::string copy(begin, end);
  const size_t digits = copy.starts_with('-') ? 1 : 0;
  const char first = digits < copy.size() ? copy[digits] : ' ';
  const char second = digits + 1 < copy.size() ? ToAsciiLower(copy[digits + 1]) : ' ';
  if (first == '+' || first == '-' || IsAsciiSpace(first)) {
    return {begin, std::errc::invalid_argument};
  }
  if (first == '0' && second == 'x') {
    value = digits == 1 ? -0.0 : 0.0;
    return {begin + digits + 1, std::errc()};
  }
  char* stopped = nullptr;
  const double read = std::strtod(copy.c_str(), &stopped);
  const char* const at = begin + (stopped - copy.c_str());
  if (at == begin) return {begin, std::errc::invalid_argument};
  const bool overflows = std::isinf(read) && (first >= '0' && first <= '9');
  if (overflows) return {at, std::errc::result_out_of_range};
  value = read;
  return {at, std::errc()};
}
#endif

bool SimpleAtod(std::string_view text, double* value) {
  text = StripAsciiWhitespace(text);
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('-')) return false;
  }
  double read = 0;
  const auto [end, error] = from_chars(text.data(), text.data() + text.size(), read);
  if (end != text.data() + text.size() || error == std::errc::invalid_argument) return false;
  if (error == std::errc::result_out_of_range) {
    // The standard leaves the value alone, whether it is too large or too small. A number in
    // scientific notation with a negative exponent, or one that begins with "0.", is too small.
    const bool negative = text.starts_with('-');
    const size_t mark = text.find_first_of("eE");
    const bool small = mark == text.npos ? StripPrefix(text, "-").starts_with("0.") ||
                                               StripPrefix(text, "-").starts_with(".")
                                         : text.substr(mark + 1).starts_with('-');
    read = small ? 0.0 : std::numeric_limits<double>::infinity();
    if (negative) read = -read;
  }
  *value = read;
  return true;
}

std::string Base64Escape(std::string_view bytes) { return Escape64(bytes, kBase64, true); }
std::string WebSafeBase64Escape(std::string_view bytes) {
  return Escape64(bytes, kWebSafeBase64, false);
}
bool Base64Unescape(std::string_view text, std::string* bytes) {
  return Unescape64(text, kBase64, bytes);
}
bool WebSafeBase64Unescape(std::string_view text, std::string* bytes) {
  return Unescape64(text, kWebSafeBase64, bytes);
}

std::string BytesToHexString(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  out.reserve(2 * bytes.size());
  for (const char byte : bytes) {
    out.push_back(kDigits[static_cast<uint8_t>(byte) >> 4]);
    out.push_back(kDigits[static_cast<uint8_t>(byte) & 15]);
  }
  return out;
}

std::string HexStringToBytes(std::string_view hex) {
  std::string out;
  out.reserve(hex.size() / 2);
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    out.push_back(static_cast<char>(HexDigit(hex[i]) << 4 | HexDigit(hex[i + 1])));
  }
  return out;
}

}  // namespace coppice
