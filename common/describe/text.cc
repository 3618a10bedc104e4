#include "common/describe/text.h"

#include <cctype>

namespace coppice {
namespace {

// "REPORT_OUTCOME_" for ReportOutcome.
std::string PrefixOf(std::string_view type) {
  std::string prefix;
  for (const char letter : type) {
    if (std::isupper(static_cast<unsigned char>(letter)) && !prefix.empty()) prefix += '_';
    prefix += static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  }
  return prefix + '_';
}

}  // namespace

std::string EnumText(const google::protobuf::EnumDescriptor& type, int value) {
  const google::protobuf::EnumValueDescriptor* const known = type.FindValueByNumber(value);
  if (known == nullptr) return std::to_string(value);
  std::string text = known->name();
  const std::string prefix = PrefixOf(type.name());
  if (text.compare(0, prefix.size(), prefix) == 0) text.erase(0, prefix.size());
  for (char& letter : text) {
    letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  }
  return text;
}

std::string IdOf(std::string_view name) { return std::string(name.substr(name.rfind('/') + 1)); }

}  // namespace coppice
