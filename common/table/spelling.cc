#include "common/table/spelling.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/types/optional.h"
#include "common/schema/number.h"

namespace coppice {
namespace {

constexpr double kMostExact = 9007199254740992;  // 2^53: up to it each whole number has a double

absl::string_view WithoutSign(absl::string_view text) {
  if (!absl::ConsumePrefix(&text, "-")) absl::ConsumePrefix(&text, "+");
  return text;
}

bool HasLeadingZeros(absl::string_view text) {
  text = WithoutSign(text);
  return text.size() > 1 && text[0] == '0' && absl::ascii_isdigit(text[1]);
}

bool IsWrittenWhole(absl::string_view text) {
  text = WithoutSign(text);
  return !text.empty() && std::all_of(text.begin(), text.end(), absl::ascii_isdigit);
}

}  // namespace

void NumberSpelling::Take(absl::string_view text, double number) {
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

std::vector<std::string> NumberSpelling::Warnings(absl::string_view column,
                                                  absl::string_view remedy) const {
  std::vector<std::string> warnings;
  if (with_leading_zeros_ > 0) {
    warnings.push_back(absl::StrCat(
        column, " has numbers with leading zeros (", with_leading_zeros_,
        " fields), which numbers lose: if they are codes, such as postal codes, ", remedy));
  }
  if (beyond_exact_ > 0) {
    warnings.push_back(
        absl::StrCat(column, " has whole numbers beyond 2^53 (", beyond_exact_,
                     " fields), of which neighbours are read as one: if they are codes, ", remedy));
  }
  if (respelled_ && few_) {
    warnings.push_back(absl::StrCat(
        column,
        " has the same number in several spellings, as 1 and 1.0 or 1.1 and 1.10 are: as numbers "
        "they are one; if they are codes or versions, ",
        remedy));
  }
  return warnings;
}

std::string PlainSpelling(absl::string_view text) {
  text = absl::StripAsciiWhitespace(text);
  const absl::optional<double> number = ParseFinite(text);
  if (number.has_value() && std::abs(*number) <= kMostExact) return ShortestNumber(*number);
  return absl::AsciiStrToLower(text);
}

}  // namespace coppice
