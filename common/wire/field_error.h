// Prefixes an error with the name of its field.

#ifndef COPPICE_COMMON_WIRE_FIELD_ERROR_H_
#define COPPICE_COMMON_WIRE_FIELD_ERROR_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "common/base/text.h"

namespace coppice {

// The name of one element: "schema.features[3]".
inline std::string ElementName(std::string_view field, size_t index) {
  return StrCat(field, "[", index, "]");
}

inline Status FieldError(std::string_view field, std::string_view problem) {
  return InvalidArgumentError(StrCat(field, ": ", problem));
}

// Prefixes an existing error with `field`. OK stays OK.
inline Status InField(std::string_view field, const Status& status) {
  if (status.ok()) return status;
  return Status(status.code(), StrCat(field, ": ", status.message()));
}

}  // namespace coppice

#endif  // COPPICE_COMMON_WIRE_FIELD_ERROR_H_
