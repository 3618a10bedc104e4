#include "common/table/number_format.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace coppice {
namespace {

constexpr size_t kMaxAffixBytes = 16;

bool IsDigit(char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); }

// Writes typographic blanks, minus signs and apostrophes as those of ASCII.
std::string WithPlainMarks(absl::string_view text) {
  return absl::StrReplaceAll(
      text, {{"\u00A0", " "}, {"\u202F", " "}, {"\u2009", " "}, {"\u2212", "-"}, {"\u2019", "'"}});
}

struct Marks {
  char thousands = '\0';
  char decimal = '.';
};

Marks MarksOf(const std::string& body) {
  return {.thousands = IsDigit(body[1]) ? '\0' : body[1], .decimal = body[body.size() - 2]};
}

bool AreDigits(absl::string_view text) { return std::all_of(text.begin(), text.end(), IsDigit); }

// Removes the marks between thousands; nothing if they do not stand between groups of three.
std::optional<std::string> JoinGroups(absl::string_view whole, char mark) {
  constexpr size_t kGroup = 3;
  if (mark == '\0' || !absl::StrContains(whole, mark)) {
    return AreDigits(whole) ? std::optional(std::string(whole)) : std::nullopt;
  }
  std::string digits;
  for (const absl::string_view group : absl::StrSplit(whole, mark)) {
    const bool fits =
        digits.empty() ? !group.empty() && group.size() <= kGroup : group.size() == kGroup;
    if (!fits || !AreDigits(group)) return std::nullopt;
    absl::StrAppend(&digits, group);
  }
  return digits;
}

bool TakeSign(absl::string_view& text) {
  if (absl::ConsumePrefix(&text, "-")) return true;
  absl::ConsumePrefix(&text, "+");
  return false;
}

bool IsAffix(absl::string_view text) {
  return text.size() <= kMaxAffixBytes && std::none_of(text.begin(), text.end(), [](char c) {
           return IsDigit(c) || absl::StrContains("+-.,'", c);
         });
}

}  // namespace

const std::vector<std::string>& NumberBodies() {
  static const std::vector<std::string> bodies = {"1,234.5", "1.234,5", "1 234,5", "1 234.5",
                                                  "1'234.5", "1234.5",  "1234,5"};
  return bodies;
}

std::string NumberFormat::ToText() const {
  const bool is_word =
      !suffix.empty() && absl::ascii_isalpha(static_cast<unsigned char>(suffix[0]));
  return absl::StrCat(prefix, body, is_word ? " " : "", suffix);
}

absl::StatusOr<NumberFormat> ParseNumberFormat(absl::string_view text) {
  for (const std::string& body : NumberBodies()) {
    const size_t at = text.find(body);
    if (at == absl::string_view::npos) continue;
    NumberFormat format{
        .prefix = std::string(absl::StripAsciiWhitespace(text.substr(0, at))),
        .suffix = std::string(absl::StripAsciiWhitespace(text.substr(at + body.size()))),
        .body = body};
    if (IsAffix(format.prefix) && IsAffix(format.suffix)) return format;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "a number format is how 1234.5 is written: ", absl::StrJoin(NumberBodies(), "  "),
      ", with a currency or a percent sign before or after it if the numbers have one"));
}

std::optional<std::string> PlainNumber(absl::string_view text, const NumberFormat& format) {
  const std::string plain = WithPlainMarks(text);
  absl::string_view rest = absl::StripAsciiWhitespace(plain);
  bool negative = TakeSign(rest);
  if (!format.prefix.empty() && absl::ConsumePrefix(&rest, format.prefix)) {
    rest = absl::StripLeadingAsciiWhitespace(rest);
    negative = TakeSign(rest) != negative;
  }
  if (!format.suffix.empty() && !absl::ConsumeSuffix(&rest, format.suffix) &&
      absl::StrContains(format.suffix, "%")) {
    return std::nullopt;
  }
  rest = absl::StripTrailingAsciiWhitespace(rest);
  const Marks marks = MarksOf(format.body);
  const size_t mark = rest.find(marks.decimal);
  const absl::string_view fraction = mark == absl::string_view::npos ? "0" : rest.substr(mark + 1);
  const std::optional<std::string> whole = JoinGroups(rest.substr(0, mark), marks.thousands);
  if (!whole.has_value() || fraction.empty() || !AreDigits(fraction)) return std::nullopt;
  if (whole->empty() && mark == absl::string_view::npos) return std::nullopt;
  return absl::StrCat(negative ? "-" : "", whole->empty() ? "0" : *whole, ".", fraction);
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
