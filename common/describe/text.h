// The words that descriptions share: enumerations, resources' ids, costs in privacy as numbers.

#ifndef COPPICE_COMMON_DESCRIBE_TEXT_H_
#define COPPICE_COMMON_DESCRIBE_TEXT_H_

#include <google/protobuf/descriptor.h>
#include <google/protobuf/generated_enum_reflection.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace coppice {

// The value's name without its enumeration's: "bad_ticket" for REPORT_OUTCOME_BAD_TICKET. A number
// that this version does not know stays a number.
std::string EnumText(const google::protobuf::EnumDescriptor& type, int value);

template <typename Enum>
std::string EnumText(Enum value) {
  return EnumText(*google::protobuf::GetEnumDescriptor<Enum>(), static_cast<int>(value));
}

// "ID" for "collection/ID".
std::string IdOf(std::string_view name);

inline double EpsilonNumber(uint64_t nanos) { return static_cast<double>(nanos) / 1e9; }
inline double DeltaNumber(uint64_t atto) { return static_cast<double>(atto) / 1e18; }
inline double RhoNumber(uint64_t pico) { return static_cast<double>(pico) / 1e12; }

}  // namespace coppice

#endif  // COPPICE_COMMON_DESCRIBE_TEXT_H_
