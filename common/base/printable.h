// Text of others, made fit for a terminal or a page.

#ifndef COPPICE_COMMON_BASE_PRINTABLE_H_
#define COPPICE_COMMON_BASE_PRINTABLE_H_

#include <string>

#include "absl/strings/string_view.h"

namespace coppice {

// `text` as valid UTF-8 without control characters, so that it cannot steer a terminal: each
// offending byte becomes U+FFFD.
std::string Printable(absl::string_view text);

}  // namespace coppice

#endif  // COPPICE_COMMON_BASE_PRINTABLE_H_
