// Makes text from other parties fit for a terminal or a page.

#ifndef COPPICE_COMMON_BASE_PRINTABLE_H_
#define COPPICE_COMMON_BASE_PRINTABLE_H_

#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace coppice {

// `text` as valid UTF-8 without control characters, so that it cannot steer a terminal: each
// offending byte becomes U+FFFD.
std::string Printable(absl::string_view text);

// Joins names for a message: "age, job". If there are many or long ones, it keeps the first ones
// and ends in "and 7 more".
std::string ListOf(absl::Span<const std::string> names);

}  // namespace coppice

#endif  // COPPICE_COMMON_BASE_PRINTABLE_H_
