// Numbers as text, both ways, independent of the locale.

#ifndef COPPICE_COMMON_SCHEMA_NUMBER_H_
#define COPPICE_COMMON_SCHEMA_NUMBER_H_

#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"

namespace coppice {

// The finite decimal number that the whole of `text` spells, or nothing: "nan", "inf", "1e999",
// "12x" and hexadecimal are not numbers here. Surrounding blanks are ignored; "-0" is 0.
absl::optional<double> ParseFinite(absl::string_view text);

// The fewest digits that read back to the same double.
std::string ShortestNumber(double value);

// The same without an exponent, for people: 100000, not 1e+05. Numbers that are far from 1, below
// 1e-5 or from 1e15 on, keep theirs.
std::string ReadableNumber(double value);

}  // namespace coppice

#endif  // COPPICE_COMMON_SCHEMA_NUMBER_H_
