// The bins of one column, row after row, in few bytes: a job's rows are kept in nothing else.
//
// One byte a row holds 256 bins. The usual 255 cuts make 257, with missing values, and boosting's
// finest columns some 300, so up to 512 bins take one bit more instead of another byte: a scan is
// limited by the memory that it reads. More bins take two bytes.
//
// Threads    safe to share while nobody writes.

#ifndef COPPICE_SERVER_TRAINERS_CORE_BIN_COLUMN_H_
#define COPPICE_SERVER_TRAINERS_CORE_BIN_COLUMN_H_

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

#include "absl/types/span.h"

namespace coppice::trainers {

class BinColumn {
 public:
  BinColumn() = default;
  // All rows are in bin 0; `bins`, at most 2^16, is one more than the largest that may be set.
  BinColumn(size_t bins, size_t rows);

  // Returns the bytes that a column takes.
  static size_t BytesOf(size_t bins, size_t rows);

  size_t size() const { return low_.size(); }
  uint16_t operator[](size_t row) const {
    const uint32_t low = low_[row];
    if (form_ == Form::kByte) return static_cast<uint16_t>(low);
    const uint32_t high =
        form_ == Form::kNineBits ? high_[row / 8] >> (row % 8) & 1u : uint32_t{high_[row]};
    return static_cast<uint16_t>(low | high << 8);
  }

  // The bins of a column of at most 256; null if there are more.
  const uint8_t* bytes() const { return form_ == Form::kByte ? low_.data() : nullptr; }

  // Copies the bins of rows `first`, ... to `bins`.
  void Get(size_t first, absl::Span<uint16_t> bins) const;
  // Returns the bins of all rows, four bytes each.
  std::vector<uint32_t> Widened() const;
  // Sets those of rows `first`, ..., each of which must not have been set before.
  void Set(size_t first, absl::Span<const uint16_t> bins);

  // Copies the rows at `positions`, in that order.
  BinColumn Select(absl::Span<const uint32_t> positions) const;

  // Reads one bin after the other.
  class const_iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = uint16_t;
    using difference_type = std::ptrdiff_t;
    using pointer = const uint16_t*;
    using reference = uint16_t;

    const_iterator(const BinColumn* column, size_t row) : column_(column), row_(row) {}
    uint16_t operator*() const { return (*column_)[row_]; }
    const_iterator& operator++() {
      ++row_;
      return *this;
    }
    const_iterator operator++(int) { return {column_, row_++}; }
    friend bool operator==(const const_iterator&, const const_iterator&) = default;

   private:
    const BinColumn* column_;
    size_t row_;
  };
  using value_type = uint16_t;
  const_iterator begin() const { return {this, 0}; }
  const_iterator end() const { return {this, size()}; }

 private:
  enum class Form : uint8_t { kByte, kNineBits, kTwoBytes };
  static Form FormOf(size_t bins);

  Form form_ = Form::kByte;
  std::vector<uint8_t> low_;
  std::vector<uint8_t> high_;  // a bit a row, the lowest first, or a byte
};

}  // namespace coppice::trainers

#endif  // COPPICE_SERVER_TRAINERS_CORE_BIN_COLUMN_H_
