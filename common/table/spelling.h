// Finds numbers that are more than numbers: codes, ids and versions, which lose something where a
// column is read as numeric, and categories that are written in several ways.
//
// Threads    plain values.

#ifndef COPPICE_COMMON_TABLE_SPELLING_H_
#define COPPICE_COMMON_TABLE_SPELLING_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace coppice {

// Watches the texts of a numeric column. Its memory has a bound, whatever the column holds.
class NumberSpelling {
 public:
  void Take(std::string_view text, double number);

  // What the column loses as numbers, one warning each. `column` begins each of them: how to read
  // the column as categories is `remedy`: "give --categorical zip".
  std::vector<std::string> Warnings(std::string_view column, std::string_view remedy) const;

 private:
  uint64_t with_leading_zeros_ = 0;  // 007
  uint64_t beyond_exact_ = 0;        // whole numbers that share a double with their neighbours
  bool respelled_ = false;           // 1.1 and 1.10
  bool few_ = true;                  // so few numbers that they may be codes
  absl::flat_hash_map<double, std::string> spellings_;
};

// The same for texts that people would take for one category: 1, 01 and 1.0; "yes" and "Yes ".
std::string PlainSpelling(std::string_view text);

}  // namespace coppice

#endif  // COPPICE_COMMON_TABLE_SPELLING_H_
