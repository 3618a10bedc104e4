#include "common/table/written_numbers.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "common/base/text.h"

namespace coppice {
namespace {

// The signs and codes that make a text an amount or a share. Any other word makes it a code.
constexpr const char* kSigns[] = {
    "%",   "$",   "US$", "A$",  "C$",  "R$",  "€",   "£",   "¥",   "₹",   "₽", "₩",   "₺",
    "₪",   "฿",   "₫",   "₴",   "zł",  "kr",  "Kč",  "Fr.", "AUD", "BRL", "CAD", "CHF", "CNY",
    "CZK", "DKK", "EUR", "GBP", "HKD", "HUF", "IDR", "ILS", "INR", "JPY", "KRW", "MXN", "NOK",
    "NZD", "PLN", "RON", "RUB", "SEK", "SGD", "THB", "TRY", "TWD", "UAH", "USD", "ZAR"};

bool IsSign(std::string_view text) {
  return std::find(std::begin(kSigns), std::end(kSigns), text) != std::end(kSigns);
}

// Removes the text before the first digit, or after the last one, and returns it without blanks.
std::string_view TakeFront(std::string_view& text) {
  const auto digit = std::find_if(text.begin(), text.end(), IsAsciiDigit);
  const std::string_view front = text.substr(0, static_cast<size_t>(digit - text.begin()));
  text.remove_prefix(front.size());
  return StripAsciiWhitespace(front);
}

std::string_view TakeBack(std::string_view& text) {
  const auto digit = std::find_if(text.rbegin(), text.rend(), IsAsciiDigit);
  const std::string_view back =
      text.substr(text.size() - static_cast<size_t>(digit - text.rbegin()));
  text.remove_suffix(back.size());
  return StripAsciiWhitespace(back);
}

std::string_view WithoutPlusOrMinus(std::string_view front) {
  for (const char* const mark : {"-", "+"}) {
    if (ConsumePrefix(&front, mark) || ConsumeSuffix(&front, mark)) break;
  }
  return StripAsciiWhitespace(front);
}

// Whether two bodies that fit the same texts read the same numbers: they have the same decimal
// mark, or the same mark between thousands, so that no text has decimals.
bool ReadAlike(const std::string& a, const std::string& b) {
  return a[a.size() - 2] == b[b.size() - 2] || a[1] == b[1];
}

// A bit for each of NumberBodies() that reads `text`.
uint32_t FittingBodies(std::string_view text) {
  uint32_t fits = 0;
  for (size_t i = 0; i < NumberBodies().size(); ++i) {
    if (PlainNumber(text, {.body = NumberBodies()[i]}).has_value()) fits |= 1u << i;
  }
  return fits;
}

// The same for a plain decimal. What counts are the places of its point, and a table may have
// millions of them, so only the shape is looked up.
uint32_t FittingBodiesOfDecimal(std::string_view text) {
  constexpr size_t kGroup = 3;
  static const uint32_t one_point = FittingBodies("1.5"), like_thousands = FittingBodies("1.500");
  const size_t point = text.find('.');
  if (point == std::string_view::npos ||
      !std::all_of(text.begin() + point + 1, text.end(), IsAsciiDigit)) {
    return FittingBodies(text);
  }
  return point <= kGroup && text.size() - point - 1 == kGroup ? like_thousands : one_point;
}

}  // namespace

void WrittenNumbers::Take(std::string_view text, bool is_plain_number) {
  if (!all_are_numbers_) return;
  if (!is_plain_number) ++not_plain_;
  const std::string_view prefix = WithoutPlusOrMinus(TakeFront(text)), suffix = TakeBack(text);
  const bool is_number =
      !text.empty() && (prefix.empty() || IsSign(prefix)) && (suffix.empty() || IsSign(suffix));
  if (!is_number) {
    all_are_numbers_ = is_plain_number;  // such as .5
    fitting_ = 0;
    return;
  }
  if (prefix.empty() && suffix.empty()) {
    without_affix_ = true;
  } else {
    const Affixes affixes{std::string(prefix), std::string(suffix)};
    if (!affixes_.has_value()) affixes_ = affixes;
    if (*affixes_ != affixes) affixes_differ_ = true;
  }
  if (std::all_of(text.begin(), text.end(), IsAsciiDigit)) return;  // fits any format
  has_marks_ = true;
  const uint32_t fits = is_plain_number ? FittingBodiesOfDecimal(text) : FittingBodies(text);
  if (fits == 0 && !is_plain_number) all_are_numbers_ = false;
  fitting_ &= fits;
}

std::vector<NumberFormat> WrittenNumbers::Formats() const {
  const Affixes affixes = affixes_.value_or(Affixes());
  const bool is_share = StrContains(affixes.prefix + affixes.suffix, "%");
  std::vector<NumberFormat> formats;
  if (!HasFormat() || affixes_differ_ || (is_share && without_affix_)) return formats;
  const auto add = [&](const std::string& body) {
    formats.push_back({.prefix = affixes.prefix, .suffix = affixes.suffix, .body = body});
  };
  if (!has_marks_) {
    add("1234.5");
    return formats;
  }
  for (size_t i = 0; i < NumberBodies().size(); ++i) {
    const std::string& body = NumberBodies()[i];
    const bool is_new =
        std::none_of(formats.begin(), formats.end(),
                     [&](const NumberFormat& format) { return ReadAlike(format.body, body); });
    if ((fitting_ >> i & 1u) != 0 && is_new) add(body);
  }
  return formats;
}

}  // namespace coppice
