// Blocks of rows as the store has them: column after column, each value in the width that the
// schema alone gives it.
//
// A category, a class and a whole number within its bounds are counted from 0, and a missing value
// (or the label of a row without one) is the code after the last. The codes take 1, 2, 4 or 8
// bytes, whichever is the least that holds them all. Every other number takes the 8 bytes of its
// double, a missing one those of kMissingValue. Fewer would lose what a trainer may ask for: cuts
// lie between released bounds, which nobody knows when rows come in, so no rounding is known to
// leave a value on its side of every cut.
//
// Nothing is compressed and nothing varies with the rows: the number of rows tells the size of a
// block and the size the number, and neither tells anything else.
//
//   byte 0    the format, 1. Another one may add a column, as of weights
//   bytes 1-3 0
//   bytes 4-7 the number of rows
//   then the features' columns in the schema's order, and that of the classes or the target
//
// Numbers of several bytes are little-endian.
//
// Guarantee  Parse() of what Encode() returned has the same rows, bit for bit, but that a zero
//            without a sign stands for -0 among whole numbers, and one NaN for all.
// Errors     InvalidArgument says what is wrong with a block, and quotes no value.
// Threads    immutable; safe to share.

#ifndef COPPICE_SERVER_DATASETS_STORED_BLOCK_H_
#define COPPICE_SERVER_DATASETS_STORED_BLOCK_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "common/base/status.h"
#include "common/schema/schema.h"
#include "common/table/table.h"

namespace coppice::central {

class BlockFormat {
 public:
  explicit BlockFormat(std::shared_ptr<const Schema> schema);

  size_t row_bytes() const { return row_bytes_; }
  // A block of so many rows takes about a mebibyte, unless a single row takes more.
  size_t rows_per_block() const;

  // Returns rows `first` to `first + count` of a table of the schema.
  std::string Encode(const Table& rows, size_t first, size_t count) const;
  // Returns the rows of `bytes`, which may be damaged: OK only if each fits the schema.
  StatusOr<Table> Parse(std::string_view bytes) const;

 private:
  // How a column's values are written: as codes, or as doubles.
  struct Column {
    bool is_coded = false;
    int64_t lowest = 0;  // the number whose code is 0
    uint64_t codes = 0;  // of values that are not missing
    size_t width = 8;    // bytes of a value
    double min = 0, max = 0;
  };
  static Column Coded(int64_t lowest, uint64_t codes);
  static Column ColumnOf(const Feature& feature);
  // Returns where the next column goes.
  static char* PutValues(const Column& column, absl::Span<const double> values, char* at);
  class Reader;

  std::shared_ptr<const Schema> schema_;
  std::vector<Column> columns_;  // of the features, then of what is to be predicted
  size_t row_bytes_ = 0;
};

}  // namespace coppice::central

#endif  // COPPICE_SERVER_DATASETS_STORED_BLOCK_H_
