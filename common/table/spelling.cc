#include "common/table/spelling.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>

#include "common/base/text.h"
#include "common/schema/number.h"

namespace coppice {
namespace {

constexpr double kMostExact = 9007199254740992;  // 2^53: up to it each whole number has a double

std::string_view WithoutSign(std::string_view text) {
  if (!ConsumePrefix(&text, "-")) ConsumePrefix(&text, "+");
  return text;
}

bool HasLeadingZeros(std::string_view text) {
  text = WithoutSign(text);
  return text.size() > 1 && text[0] == '0' && IsAsciiDigit(text[1]);
}

bool IsWrittenWhole(std::string_view text) {
  text = WithoutSign(text);
  return !text.empty() && std::all_of(text.begin(), text.end(), IsAsciiDigit);
}

}  // namespace

void NumberSpelling::Take(std::string_view text, double number) {
  constexpr size_t kFew = 256;
  if (HasLeadingZeros(text)) ++with_leading_zeros_;
  const bool exact = std::abs(number) <= kMostExact;
  if (!exact && IsWrittenWhole(text)) ++beyond_exact_;
  if (!few_ || !exact || HasLeadingZeros(text)) return;
  const auto [spelling, is_new] = spellings_.try_emplace(number, text);
  if (spelling->second != text) respelled_ = true;
  if (spellings_.size() <= kFew) return;
  few_ = false;
  spellings_ = {};
}

std::vector<std::string> NumberSpelling::Warnings(std::string_view column,
                                                  std::string_view remedy) const {
  std::vector<std::string> warnings;
  if (with_leading_zeros_ > 0) {
    warnings.push_back(
        StrCat(column, " has numbers with leading zeros (", with_leading_zeros_,
               " fields), which numbers lose: if they are codes, such as postal codes, ", remedy));
  }
  if (beyond_exact_ > 0) {
    warnings.push_back(StrCat(
        column, " has whole numbers beyond 2^53 (", beyond_exact_,
        " fields), which cannot be told from their neighbours: if they are codes, ", remedy));
  }
  if (respelled_ && few_) {
    warnings.push_back(StrCat(
        column,
        " has the same number in several spellings, as 1 and 1.0 or 1.1 and 1.10 are: as numbers "
        "they are one; if they are codes or versions, ",
        remedy));
  }
  return warnings;
}

std::string PlainSpelling(std::string_view text) {
  text = StripAsciiWhitespace(text);
  const std::optional<double> number = ParseFinite(text);
  if (number.has_value() && std::abs(*number) <= kMostExact) return ShortestNumber(*number);
  return AsciiStrToLower(text);
}

}  // namespace coppice
