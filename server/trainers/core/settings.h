// The parameters that an algorithm states, and the values that a job gives them.

#ifndef COPPICE_SERVER_TRAINERS_CORE_SETTINGS_H_
#define COPPICE_SERVER_TRAINERS_CORE_SETTINGS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "common/base/status.h"
#include "common/base/text.h"

namespace coppice::trainers {

// These numbers are the wire's.
enum class ParameterType : uint8_t { kInteger = 1, kReal = 2, kChoice = 3 };

struct Parameter {
  std::string name;
  ParameterType type = ParameterType::kInteger;
  double min = 0;  // of numbers, both ends allowed
  double max = 0;
  std::vector<std::string> choices{};
  std::string default_value;  // empty: chosen from the schema and epsilon, as described
  std::string description;    // its effect on accuracy and on what the budget is spent on
};

Parameter IntegerParameter(std::string name, int64_t min, int64_t max, std::string default_value,
                           std::string description);
Parameter RealParameter(std::string name, double min, double max, std::string default_value,
                        std::string description);
Parameter ChoiceParameter(std::string name, std::vector<std::string> choices,
                          std::string default_value, std::string description);

// By name, as text.
using Settings = StringMap<std::string>;

// Settings that were checked against the parameters; missing ones have their defaults. A setting
// that is read must be stated, have a value, and be read as its own type.
//
// Errors     InvalidArgument for a name that is not stated, with the stated names, and for a value
//            outside its type or range, with what it wants.
class CheckedSettings {
 public:
  static StatusOr<CheckedSettings> Create(absl::Span<const Parameter> parameters,
                                          const Settings& settings);

  int64_t Integer(std::string_view name) const;
  double Real(std::string_view name) const;
  const std::string& Choice(std::string_view name) const;
  // Whether it has a value: it was given, or its default is not empty.
  bool Has(std::string_view name) const;
  bool HasParameter(std::string_view name) const { return values_.contains(name); }

 private:
  Settings values_;
};

}  // namespace coppice::trainers

#endif  // COPPICE_SERVER_TRAINERS_CORE_SETTINGS_H_
