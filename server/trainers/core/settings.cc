#include "server/trainers/core/settings.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string_view>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"

namespace coppice::trainers {
namespace {

Status Wants(const Parameter& parameter, std::string_view what) {
  return InvalidArgumentError(StrCat(parameter.name, ": must be ", what));
}

// Writes whole numbers in full: 1000000, not 1e+06.
std::string NumberText(const Parameter& parameter, double number) {
  if (parameter.type == ParameterType::kReal) return StrCat(number);
  return StrCat(static_cast<int64_t>(number));
}

Status CheckNumber(const Parameter& parameter, const std::string& text) {
  const bool whole = parameter.type == ParameterType::kInteger;
  double number = 0;
  int64_t integer = 0;
  const bool reads = whole ? SimpleAtoi(text, &integer) : SimpleAtod(text, &number);
  if (whole) number = static_cast<double>(integer);
  if (reads && number >= parameter.min && number <= parameter.max) return OkStatus();
  return Wants(parameter, StrCat(whole ? "a whole number" : "a number", " from ",
                                 NumberText(parameter, parameter.min), " to ",
                                 NumberText(parameter, parameter.max)));
}

Status CheckValue(const Parameter& parameter, const std::string& text) {
  if (parameter.type != ParameterType::kChoice) return CheckNumber(parameter, text);
  const std::vector<std::string>& choices = parameter.choices;
  if (std::find(choices.begin(), choices.end(), text) != choices.end()) return OkStatus();
  return Wants(parameter, StrCat("one of ", StrJoin(choices, ", ")));
}

Status Unknown(std::string_view name, absl::Span<const Parameter> parameters) {
  const std::string known =
      StrJoin(parameters, ", ",
              [](std::string* out, const Parameter& parameter) { StrAppend(out, parameter.name); });
  return InvalidArgumentError(
      StrCat("there is no parameter \"", name, "\"; ",
             known.empty() ? "this algorithm has none" : StrCat("there are ", known)));
}

}  // namespace

Parameter IntegerParameter(std::string name, int64_t min, int64_t max, std::string default_value,
                           std::string description) {
  return {.name = std::move(name),
          .type = ParameterType::kInteger,
          .min = static_cast<double>(min),
          .max = static_cast<double>(max),
          .default_value = std::move(default_value),
          .description = std::move(description)};
}

Parameter RealParameter(std::string name, double min, double max, std::string default_value,
                        std::string description) {
  return {.name = std::move(name),
          .type = ParameterType::kReal,
          .min = min,
          .max = max,
          .default_value = std::move(default_value),
          .description = std::move(description)};
}

Parameter ChoiceParameter(std::string name, std::vector<std::string> choices,
                          std::string default_value, std::string description) {
  return {.name = std::move(name),
          .type = ParameterType::kChoice,
          .choices = std::move(choices),
          .default_value = std::move(default_value),
          .description = std::move(description)};
}

StatusOr<CheckedSettings> CheckedSettings::Create(absl::Span<const Parameter> parameters,
                                                  const Settings& settings) {
  CheckedSettings checked;
  for (const Parameter& parameter : parameters) {
    const auto given = settings.find(parameter.name);
    if (given != settings.end()) COPPICE_RETURN_IF_ERROR(CheckValue(parameter, given->second));
    checked.values_[parameter.name] =
        given == settings.end() ? parameter.default_value : given->second;
  }
  for (const auto& [name, value] : settings) {
    if (!checked.values_.contains(name)) return Unknown(name, parameters);
  }
  return checked;
}

int64_t CheckedSettings::Integer(std::string_view name) const {
  int64_t value = 0;
  const bool reads = SimpleAtoi(Choice(name), &value);
  static_cast<void>(reads);  // Create() has checked it
  return value;
}

double CheckedSettings::Real(std::string_view name) const {
  double value = 0;
  const bool reads = SimpleAtod(Choice(name), &value);
  static_cast<void>(reads);  // Create() has checked it
  return value;
}

const std::string& CheckedSettings::Choice(std::string_view name) const {
  return values_.find(name)->second;
}

bool CheckedSettings::Has(std::string_view name) const { return !Choice(name).empty(); }

}  // namespace coppice::trainers
