#include "common/table/number_format.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "common/base/status.h"
#include "common/base/text.h"

namespace coppice {
namespace {

constexpr size_t kMaxAffixBytes = 16;

bool IsDigit(char c) { return IsAsciiDigit(c); }

// Writes typographic blanks, minus signs and apostrophes as those of ASCII.
std::string WithPlainMarks(std::string_view text) {
  return StrReplaceAll(
      text, {{"\u00A0", " "}, {"\u202F", " "}, {"\u2009", " "}, {"\u2212", "-"}, {"\u2019", "'"}});
}

struct Marks {
  char thousands = '\0';
  char decimal = '.';
};

Marks MarksOf(const std::string& body) {
  return {.thousands = IsDigit(body[1]) ? '\0' : body[1], .decimal = body[body.size() - 2]};
}

bool AreDigits(std::string_view text) { return std::all_of(text.begin(), text.end(), IsDigit); }

// Removes the marks between thousands; nothing if they do not stand between groups of three.
std::optional<std::string> JoinGroups(std::string_view whole, char mark) {
  constexpr size_t kGroup = 3;
  if (mark == '\0' || !StrContains(whole, mark)) {
    return AreDigits(whole) ? std::optional(std::string(whole)) : std::nullopt;
  }
  std::string digits;
  for (const std::string_view group : StrSplit(whole, mark)) {
    const bool fits =
        digits.empty() ? !group.empty() && group.size() <= kGroup : group.size() == kGroup;
    if (!fits || !AreDigits(group)) return std::nullopt;
    StrAppend(&digits, group);
  }
  return digits;
}

bool TakeSign(std::string_view& text) {
  if (ConsumePrefix(&text, "-")) return true;
  ConsumePrefix(&text, "+");
  return false;
}

bool IsAffix(std::string_view text) {
  return text.size() <= kMaxAffixBytes && std::none_of(text.begin(), text.end(), [](char c) {
           return IsDigit(c) || StrContains("+-.,'", c);
         });
}

}  // namespace

const std::vector<std::string>& NumberBodies() {
  static const std::vector<std::string> bodies = {"1,234.5", "1.234,5", "1 234,5", "1 234.5",
                                                  "1'234.5", "1234.5",  "1234,5"};
  return bodies;
}

std::string NumberFormat::ToText() const {
  const bool is_word = !suffix.empty() && IsAsciiAlpha(suffix[0]);
  return StrCat(prefix, body, is_word ? " " : "", suffix);
}

StatusOr<NumberFormat> ParseNumberFormat(std::string_view text) {
  for (const std::string& body : NumberBodies()) {
    const size_t at = text.find(body);
    if (at == std::string_view::npos) continue;
    NumberFormat format{.prefix = std::string(StripAsciiWhitespace(text.substr(0, at))),
                        .suffix = std::string(StripAsciiWhitespace(text.substr(at + body.size()))),
                        .body = body};
    if (IsAffix(format.prefix) && IsAffix(format.suffix)) return format;
  }
  return InvalidArgumentError(
      StrCat("a number format is how 1234.5 is written: ", StrJoin(NumberBodies(), "  "),
             ", with a currency or a percent sign before or after it if the numbers have one"));
}

std::optional<std::string> PlainNumber(std::string_view text, const NumberFormat& format) {
  const std::string plain = WithPlainMarks(text);
  std::string_view rest = StripAsciiWhitespace(plain);
  bool negative = TakeSign(rest);
  if (!format.prefix.empty() && ConsumePrefix(&rest, format.prefix)) {
    rest = StripLeadingAsciiWhitespace(rest);
    negative = TakeSign(rest) != negative;
  }
  if (!format.suffix.empty() && !ConsumeSuffix(&rest, format.suffix) &&
      StrContains(format.suffix, "%")) {
    return std::nullopt;
  }
  rest = StripTrailingAsciiWhitespace(rest);
  const Marks marks = MarksOf(format.body);
  const size_t mark = rest.find(marks.decimal);
  const std::string_view fraction = mark == std::string_view::npos ? "0" : rest.substr(mark + 1);
  const std::optional<std::string> whole = JoinGroups(rest.substr(0, mark), marks.thousands);
  if (!whole.has_value() || fraction.empty() || !AreDigits(fraction)) return std::nullopt;
  if (whole->empty() && mark == std::string_view::npos) return std::nullopt;
  return StrCat(negative ? "-" : "", whole->empty() ? "0" : *whole, ".", fraction);
}

std::vector<std::optional<NumberFormat>> FormatsByColumn(
    const std::map<std::string, NumberFormat>& formats, const Schema& schema) {
  std::vector<std::optional<NumberFormat>> by_column(schema.num_features() + 1);
  const auto take = [&](const std::string& name, size_t column) {
    if (const auto found = formats.find(name); found != formats.end()) {
      by_column[column] = found->second;
    }
  };
  for (size_t f = 0; f < schema.num_features(); ++f) take(schema.features()[f].name, f);
  take(schema.label(), schema.num_features());
  return by_column;
}

}  // namespace coppice
