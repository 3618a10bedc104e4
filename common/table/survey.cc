#include "common/table/survey.h"

#include <cmath>
#include <optional>
#include <string_view>

#include "absl/algorithm/container.h"
#include "absl/hash/hash.h"
#include "common/base/status.h"
#include "common/base/text.h"
#include "common/schema/number.h"

namespace coppice {
namespace {

using Names = std::vector<std::string>;

const Names& MissingAmongNumbers() {
  static const Names texts = {"na", "none", "None", "NONE", "-", "--", ".", "missing"};
  return texts;
}

std::optional<double> NumberOf(std::string_view text, const Survey& survey) {
  if (!survey.format.has_value()) return ParseFinite(text);
  const std::optional<std::string> plain = PlainNumber(text, *survey.format);
  return plain.has_value() ? ParseFinite(*plain) : std::nullopt;
}

}  // namespace

const std::vector<std::string>& UsualMissing() {
  static const Names texts = {"NA",  "N/A", "n/a",  "NaN",  "nan",  "NAN",
                              "nil", "?",   "null", "NULL", "#N/A", "<NA>"};
  return texts;
}

bool IsWhole(double number) {
  constexpr double kMost = 9007199254740992;  // 2^53
  return number == std::floor(number) && std::abs(number) <= kMost;
}

Status SurveySink::OnHeader(const Names& names, const CsvRow& row) {
  header_ = names;
  delimiter_ = row.delimiter;
  surveys_.resize(names.size());
  for (size_t c = 0; c < names.size(); ++c) {
    const auto format = options_.number_formats.find(names[c]);
    if (format != options_.number_formats.end()) surveys_[c].format = format->second;
  }
  constexpr size_t kMaxHashes = 10'000'000;  // for all columns together
  max_hashes_ = std::max<size_t>(kMaxHashes / names.size(), 100);
  Names sorted = names;
  std::sort(sorted.begin(), sorted.end());
  const auto twin = std::adjacent_find(sorted.begin(), sorted.end());
  if (twin != sorted.end()) {
    return InvalidArgumentError(StrCat("the header names column \"", *twin,
                                       "\" twice: give each column a name of its own"));
  }
  for (const std::string& name : names) {
    if (ParseFinite(name).has_value()) numbers_.push_back(name);
  }
  if (numbers_.size() == names.size()) {
    return InvalidArgumentError(
        "the first line must name the columns, but has only numbers: put a line of names before "
        "it");
  }
  return OkStatus();
}

void SurveySink::OnField(size_t column, std::string_view text) {
  if (column >= surveys_.size()) return;  // OnRow() reports it
  Survey& survey = surveys_[column];
  if (text.empty()) {
    ++survey.empty;
  } else if (IsCandidate(text)) {
    ++survey.candidates[std::string(text)];
  } else {
    Take(text, survey);
  }
}

Status SurveySink::OnRow(const CsvRow& row) {
  if (rows_++ == 0 && row.fields != surveys_.size()) {
    return InvalidArgumentError(
        StrCat("the row has ", row.fields, " fields, the header ", surveys_.size(),
               " columns: the first line must name all columns and nothing else"));
  }
  for (Survey* survey : first_others_) survey->first_other_line = row.line;
  first_others_.clear();
  return row.CheckFields(surveys_.size());
}

bool SurveySink::IsCandidate(std::string_view text) const {
  if (options_.missing) return absl::c_linear_search(*options_.missing, text);
  constexpr size_t kLongest = 7;
  if (text.size() > kLongest || IsAsciiDigit(static_cast<unsigned char>(text[0]))) {
    return false;
  }
  return absl::c_linear_search(UsualMissing(), text) ||
         absl::c_linear_search(MissingAmongNumbers(), text);
}

void SurveySink::Take(std::string_view text, Survey& survey) {
  constexpr size_t kLongestCategory = 256;
  if (text.size() > kLongestCategory) {
    survey.long_texts = true;
  } else if (survey.values.size() <= max_values_) {
    survey.values.emplace(text);
  }
  if (survey.all_differ && survey.hashes.size() < max_hashes_) {
    survey.all_differ = survey.hashes.insert(absl::HashOf(text)).second;
    if (!survey.all_differ) survey.hashes = {};
  }
  const std::optional<double> number = NumberOf(text, survey);
  if (!survey.format.has_value()) survey.written.Take(text, number.has_value());
  if (!number.has_value()) return TakeOther(text, survey);
  if (survey.numbers++ == 0) survey.range = {*number, *number};
  survey.range.min = std::min(survey.range.min, *number);
  survey.range.max = std::max(survey.range.max, *number);
  if (!IsWhole(*number)) survey.integer = false;
  if (*number != std::floor(*number)) survey.all_whole = false;
  if (!survey.format.has_value()) survey.spelling.Take(text, *number);
}

void SurveySink::TakeOther(std::string_view text, Survey& survey) {
  if (survey.others++ == 0) first_others_.push_back(&survey);
  if (LooksLikeDate(text)) ++survey.dates;
}

}  // namespace coppice
