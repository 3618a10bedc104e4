// How numbers are written in a table where they are not plain decimals: with marks between
// thousands, a decimal comma, a currency or a percent sign.
//
// A format is written as the number 1234.5 is written in it: "1,234.5", "1.234,5 EUR", "$1,234.5",
// "1234.5%". What does not match its format is never a number, so that nothing is read as a
// thousand times as much.
//
// Threads    plain values.

#ifndef COPPICE_COMMON_TABLE_NUMBER_FORMAT_H_
#define COPPICE_COMMON_TABLE_NUMBER_FORMAT_H_

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/schema/schema.h"

namespace coppice {

struct NumberFormat {
  std::string prefix = {};  // such as "$"
  std::string suffix = {};  // such as "EUR"; a percent sign must be there, others may be left out
  std::string body;         // "1,234.5" and the like: one of NumberBodies()

  std::string ToText() const;

  friend bool operator==(const NumberFormat&, const NumberFormat&) = default;
};

// The formats without a prefix and a suffix. Those with marks come before those without.
const std::vector<std::string>& NumberBodies();

// InvalidArgument, listing what there is, for any other text.
StatusOr<NumberFormat> ParseNumberFormat(std::string_view text);

// The number as a plain decimal ("-1234.5"), or nothing if `text` is not written so. Marks between
// thousands may be left out, but must stand between groups of three digits; blanks of any width are
// alike.
std::optional<std::string> PlainNumber(std::string_view text, const NumberFormat& format);

// A format of each column, the schema's features and then its label; nothing for a plain one.
std::vector<std::optional<NumberFormat>> FormatsByColumn(
    const std::map<std::string, NumberFormat>& formats, const Schema& schema);

}  // namespace coppice

#endif  // COPPICE_COMMON_TABLE_NUMBER_FORMAT_H_
