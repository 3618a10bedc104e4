// Prefixes an error with the name of its field.

#ifndef COPPICE_COMMON_WIRE_PROTO_FIELD_ERROR_H_
#define COPPICE_COMMON_WIRE_PROTO_FIELD_ERROR_H_

#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace coppice {

// The name of one element: "schema.features[3]".
inline std::string ElementName(absl::string_view field, size_t index) {
  return absl::StrCat(field, "[", index, "]");
}

inline absl::Status FieldError(absl::string_view field, absl::string_view problem) {
  return absl::InvalidArgumentError(absl::StrCat(field, ": ", problem));
}

// Prefixes an existing error with `field`. OK stays OK.
inline absl::Status InField(absl::string_view field, const absl::Status& status) {
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat(field, ": ", status.message()));
}

}  // namespace coppice

#endif  // COPPICE_COMMON_WIRE_PROTO_FIELD_ERROR_H_
