// Recognizes a column of numbers that are not written as plain decimals, and finds the formats
// (number_format.h) that read all of it.
//
// Threads    plain values.

#ifndef COPPICE_COMMON_TABLE_WRITTEN_NUMBERS_H_
#define COPPICE_COMMON_TABLE_WRITTEN_NUMBERS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/table/number_format.h"

namespace coppice {

class WrittenNumbers {
 public:
  // Takes a field that is not missing.
  void Take(std::string_view text, bool is_plain_number);

  // Whether every field is a number and not every one is a plain decimal.
  bool HasFormat() const { return all_are_numbers_ && not_plain_ > 0; }

  // The formats that read every field, of which each reads other numbers. Two if it cannot be told
  // whether 1,234 has a mark between thousands or a decimal comma; none if the fields differ in how
  // they are written.
  std::vector<NumberFormat> Formats() const;

 private:
  struct Affixes {
    std::string prefix, suffix;
    friend bool operator==(const Affixes&, const Affixes&) = default;
  };

  uint64_t not_plain_ = 0;
  bool all_are_numbers_ = true;
  bool has_marks_ = false;            // anything but digits between the affixes
  bool without_affix_ = false;        // some field has neither currency nor percent sign
  std::optional<Affixes> affixes_{};  // those of the fields that have any
  bool affixes_differ_ = false;
  uint32_t fitting_ = ~0u;  // a bit for each of NumberBodies()
};

}  // namespace coppice

#endif  // COPPICE_COMMON_TABLE_WRITTEN_NUMBERS_H_
