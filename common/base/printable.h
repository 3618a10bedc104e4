// Makes text from other parties fit for a terminal or a page.

#ifndef COPPICE_COMMON_BASE_PRINTABLE_H_
#define COPPICE_COMMON_BASE_PRINTABLE_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/types/span.h"

namespace coppice {

// A character of UTF-8 text.
struct Character {
  size_t bytes;     // 1 for a byte that begins no valid character
  char32_t code;    // U+FFFD for such a byte
  bool is_visible;  // false: it is invalid, or one sees nothing of it, or not where it stands
};

// The character that `text`, which is not empty, begins with. Invisible are control characters,
// those that have no width, and those that change the direction of reading, by which a text could
// pass for another. The joiners of some scripts and of some emoji are among them.
Character FirstCharacter(std::string_view text);

// `text` as valid UTF-8 without invisible characters, so that it neither steers a terminal nor
// looks like another text: each of them, and each invalid byte, becomes U+FFFD.
std::string Printable(std::string_view text);

// Joins names for a message: "age, job". If there are many or long ones, it keeps the first ones
// and ends in "and 7 more".
std::string ListOf(absl::Span<const std::string> names);

}  // namespace coppice

#endif  // COPPICE_COMMON_BASE_PRINTABLE_H_
