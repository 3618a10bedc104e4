// Small functions on texts, for rooms that a device links: no compiled Abseil.
//
// They take and give std::string_view and do what Abseil's of the same names do.

#ifndef COPPICE_COMMON_BASE_TEXT_H_
#define COPPICE_COMMON_BASE_TEXT_H_

#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace coppice {

// Sorted by key, and searched by a std::string_view without a copy.
template <typename Value>
using StringMap = std::map<std::string, Value, std::less<>>;
using StringSet = std::set<std::string, std::less<>>;

// ---- Putting together

// A piece of StrCat(): a text or a number. Floating-point numbers have six significant digits, as
// of printf's %g.
class TextPiece {
 public:
  template <typename Text>
  requires(std::is_convertible_v<const Text&, std::string_view>) TextPiece(const Text& text)
      : text_(text) {}                                           // NOLINT(*-explicit-*)
  TextPiece(bool value) : TextPiece(static_cast<int>(value)) {}  // NOLINT(*-explicit-*)
  template <std::integral Number>
  requires(!std::is_same_v<Number, char> && !std::is_same_v<Number, bool>)
      TextPiece(Number value) {  // NOLINT(*-explicit-*)
    const auto end = std::to_chars(digits_, digits_ + sizeof(digits_), value).ptr;
    text_ = {digits_, static_cast<size_t>(end - digits_)};
  }
  TextPiece(double value);                                           // NOLINT(*-explicit-*)
  TextPiece(float value) : TextPiece(static_cast<double>(value)) {}  // NOLINT(*-explicit-*)
  template <typename Enum>
  requires(std::is_enum_v<Enum>&& std::is_convertible_v<Enum, int64_t>) TextPiece(Enum value)
      : TextPiece(static_cast<int64_t>(value)) {}  // NOLINT(*-explicit-*)
  TextPiece(const TextPiece&) = delete;
  TextPiece& operator=(const TextPiece&) = delete;

  std::string_view text() const { return text_; }

 private:
  std::string_view text_;
  char digits_[32];
};

void AppendPieces(std::string& out, std::initializer_list<std::string_view> pieces);

template <typename... Pieces>
void StrAppend(std::string* out, const Pieces&... pieces) {
  AppendPieces(*out, {TextPiece(pieces).text()...});
}
template <typename... Pieces>
std::string StrCat(const Pieces&... pieces) {
  std::string out;
  AppendPieces(out, {TextPiece(pieces).text()...});
  return out;
}

// `value` in base 10 or 16 with at least `width` digits.
std::string ZeroPadded(uint64_t value, int width);
std::string Hex(uint64_t value, int width = 1);

template <typename Range, typename Formatter>
requires(std::is_invocable_v<Formatter&, std::string*,
                             const typename std::iterator_traits<decltype(std::begin(
                                 std::declval<const Range&>()))>::value_type&>) std::string
    StrJoin(const Range& range, std::string_view between, Formatter&& format) {
  std::string out;
  bool first = true;
  for (const auto& element : range) {
    if (!first) out.append(between);
    first = false;
    format(&out, element);
  }
  return out;
}
template <typename Range>
std::string StrJoin(const Range& range, std::string_view between) {
  std::string out;
  bool first = true;
  for (const auto& element : range) {
    if (!first) out.append(between);
    first = false;
    StrAppend(&out, element);
  }
  return out;
}
template <typename Element>
std::string StrJoin(std::initializer_list<Element> list, std::string_view between) {
  return StrJoin<std::initializer_list<Element>>(list, between);
}

// ---- Taking apart

struct MaxSplits {
  template <typename Between>
  MaxSplits(Between delimiter, size_t most) : between(1, delimiter), splits(most) {}
  std::string between;
  size_t splits;
};
struct ByAnyChar {
  explicit ByAnyChar(std::string_view characters) : any(characters) {}
  std::string any;
};
struct SkipEmpty {};

// The parts of a text, views of it. Becomes any container that is made of two iterators, or a pair
// of the first two.
class SplitText {
 public:
  SplitText(std::vector<std::string_view> parts, std::string owned)
      : owned_(std::move(owned)), parts_(std::move(parts)) {}
  SplitText(const SplitText&) = delete;
  SplitText& operator=(const SplitText&) = delete;

  auto begin() const { return parts_.begin(); }
  auto end() const { return parts_.end(); }

  template <typename Container>
  requires(requires { typename Container::value_type; }) operator Container()
      const {  // NOLINT(*-explicit-*)
    Container out;
    for (const std::string_view part : parts_) {
      out.insert(out.end(), typename Container::value_type(part));
    }
    return out;
  }
  template <typename First, typename Second>
  operator std::pair<First, Second>() const {  // NOLINT(*-explicit-*)
    return {First(parts_.empty() ? std::string_view() : parts_[0]),
            Second(parts_.size() < 2 ? std::string_view() : parts_[1])};
  }

 private:
  std::string owned_;  // the text, if it was a temporary
  std::vector<std::string_view> parts_;
};

std::vector<std::string_view> SplitParts(std::string_view text, std::string_view between,
                                         size_t most_splits, bool skip_empty);
std::vector<std::string_view> SplitPartsByAny(std::string_view text, std::string_view any,
                                              bool skip_empty);

namespace text_internal {
inline std::vector<std::string_view> Parts(std::string_view text, char between, bool skip_empty) {
  return SplitParts(text, {&between, 1}, SIZE_MAX, skip_empty);
}
inline std::vector<std::string_view> Parts(std::string_view text, std::string_view between,
                                           bool skip_empty) {
  return SplitParts(text, between, SIZE_MAX, skip_empty);
}
inline std::vector<std::string_view> Parts(std::string_view text, const MaxSplits& splits,
                                           bool skip_empty) {
  return SplitParts(text, splits.between, splits.splits, skip_empty);
}
inline std::vector<std::string_view> Parts(std::string_view text, const ByAnyChar& any,
                                           bool skip_empty) {
  return SplitPartsByAny(text, any.any, skip_empty);
}
template <typename Between>
SplitText Split(std::string&& text, const Between& between, bool skip_empty) {
  // Parts that view a short text move with it only if they are found after the move.
  struct Owned {
    std::string text;
  } owned{std::move(text)};
  std::vector<std::string_view> parts = Parts(owned.text, between, skip_empty);
  std::vector<std::pair<size_t, size_t>> places;
  for (const std::string_view part : parts) {
    places.emplace_back(static_cast<size_t>(part.data() - owned.text.data()), part.size());
  }
  owned.text.reserve(sizeof(std::string) + 1);  // on the heap, where moving leaves it
  for (size_t i = 0; i < parts.size(); ++i) {
    parts[i] = std::string_view(owned.text).substr(places[i].first, places[i].second);
  }
  return SplitText(std::move(parts), std::move(owned.text));
}
template <typename Between>
SplitText Split(std::string_view text, const Between& between, bool skip_empty) {
  return SplitText(Parts(text, between, skip_empty), std::string());
}
}  // namespace text_internal

// `between`: a character, a text, ByAnyChar or MaxSplits.
template <typename Text, typename Between>
SplitText StrSplit(Text&& text, const Between& between) {
  if constexpr (std::is_same_v<Text, std::string>) {
    return text_internal::Split(std::move(text), between, false);
  } else {
    return text_internal::Split(std::string_view(text), between, false);
  }
}
template <typename Text, typename Between>
SplitText StrSplit(Text&& text, const Between& between, SkipEmpty) {
  if constexpr (std::is_same_v<Text, std::string>) {
    return text_internal::Split(std::move(text), between, true);
  } else {
    return text_internal::Split(std::string_view(text), between, true);
  }
}

// ---- Looking, cutting, replacing

inline bool StrContains(std::string_view text, std::string_view what) {
  return text.find(what) != text.npos;
}
inline bool StrContains(std::string_view text, char what) { return text.find(what) != text.npos; }
inline bool StartsWith(std::string_view text, std::string_view prefix) {
  return text.starts_with(prefix);
}
inline bool EndsWith(std::string_view text, std::string_view suffix) {
  return text.ends_with(suffix);
}

inline std::string_view StripPrefix(std::string_view text, std::string_view prefix) {
  return text.starts_with(prefix) ? text.substr(prefix.size()) : text;
}
inline std::string_view StripSuffix(std::string_view text, std::string_view suffix) {
  return text.ends_with(suffix) ? text.substr(0, text.size() - suffix.size()) : text;
}
inline bool ConsumePrefix(std::string_view* text, std::string_view prefix) {
  if (!text->starts_with(prefix)) return false;
  text->remove_prefix(prefix.size());
  return true;
}
inline bool ConsumeSuffix(std::string_view* text, std::string_view suffix) {
  if (!text->ends_with(suffix)) return false;
  text->remove_suffix(suffix.size());
  return true;
}
std::string_view StripAsciiWhitespace(std::string_view text);
std::string_view StripLeadingAsciiWhitespace(std::string_view text);
std::string_view StripTrailingAsciiWhitespace(std::string_view text);

// At each place the first replacement that fits, the longest of several; what was replaced is not
// looked at again.
std::string StrReplaceAll(
    std::string_view text,
    std::initializer_list<std::pair<std::string_view, std::string_view>> replacements);
std::string StrReplaceAll(
    std::string_view text,
    const std::vector<std::pair<std::string_view, std::string>>& replacements);

constexpr bool IsAsciiDigit(char c) { return c >= '0' && c <= '9'; }
constexpr bool IsAsciiLower(char c) { return c >= 'a' && c <= 'z'; }
constexpr bool IsAsciiUpper(char c) { return c >= 'A' && c <= 'Z'; }
constexpr bool IsAsciiAlnum(char c) {
  return IsAsciiDigit(c) || IsAsciiLower(c) || IsAsciiUpper(c);
}
constexpr bool IsAsciiAlpha(char c) { return IsAsciiLower(c) || IsAsciiUpper(c); }
constexpr bool IsAsciiXdigit(char c) {
  return IsAsciiDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}
constexpr bool IsAsciiGraph(char c) { return c > ' ' && c < '\x7f'; }
constexpr bool IsAsciiPrint(char c) { return c >= ' ' && c < '\x7f'; }
constexpr bool IsAsciiSpace(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
constexpr char ToAsciiLower(char c) {
  return IsAsciiUpper(c) ? static_cast<char>(c + ('a' - 'A')) : c;
}
constexpr char ToAsciiUpper(char c) {
  return IsAsciiLower(c) ? static_cast<char>(c - ('a' - 'A')) : c;
}
bool EqualsIgnoreCase(std::string_view a, std::string_view b);
bool StartsWithIgnoreCase(std::string_view text, std::string_view prefix);
bool EndsWithIgnoreCase(std::string_view text, std::string_view suffix);
std::string AsciiStrToLower(std::string_view text);
std::string AsciiStrToUpper(std::string_view text);

// ---- Numbers and bytes

// Reads all of `text`, with white space around it and a sign before it. False, and nothing is read,
// for what is no number or does not fit.
template <std::integral Number>
bool SimpleAtoi(std::string_view text, Number* value) {
  text = StripAsciiWhitespace(text);
  if (text.starts_with('+') && text.size() > 1 && IsAsciiDigit(text[1])) text.remove_prefix(1);
  Number read{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), read);
  if (error != std::errc() || end != text.data() + text.size()) return false;
  *value = read;
  return true;
}
// Decimal, "inf" and "nan" in either case; what is out of range becomes infinite or 0.
bool SimpleAtod(std::string_view text, double* value);

// RFC 4648, with padding. The web-safe alphabet, "-" and "_", goes without.
std::string Base64Escape(std::string_view bytes);
std::string WebSafeBase64Escape(std::string_view bytes);
// White space is passed over, padding may be missing. False for what is no such text.
bool Base64Unescape(std::string_view text, std::string* bytes);
bool WebSafeBase64Unescape(std::string_view text, std::string* bytes);

// The bytes of an array, which must outlive the view.
template <typename Array>
std::string_view AsBytes(const Array& array) {
  static_assert(sizeof(*array.data()) == 1);
  return {reinterpret_cast<const char*>(array.data()), array.size()};
}

std::string BytesToHexString(std::string_view bytes);
// A character that is no digit counts as 0; of an odd number the last one is left out. Check texts
// of strangers first.
std::string HexStringToBytes(std::string_view hex);

}  // namespace coppice

#endif  // COPPICE_COMMON_BASE_TEXT_H_
