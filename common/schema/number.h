// Converts numbers to text and back, independent of the locale.

#ifndef COPPICE_COMMON_SCHEMA_NUMBER_H_
#define COPPICE_COMMON_SCHEMA_NUMBER_H_

#include <optional>
#include <string>
#include <string_view>

namespace coppice {

// Parses a finite decimal number that spans all of `text`. Nothing for "nan", "inf", "1e999", "12x"
// and hexadecimal. Surrounding blanks are ignored; "-0" is 0.
std::optional<double> ParseFinite(std::string_view text);

// The fewest digits that convert back to the same double.
std::string ShortestNumber(double value);

// As ShortestNumber() but without an exponent, for people: 100000, not 1e+05. Numbers below 1e-5 or
// from 1e15 on keep their exponent.
std::string ReadableNumber(double value);

}  // namespace coppice

#endif  // COPPICE_COMMON_SCHEMA_NUMBER_H_
