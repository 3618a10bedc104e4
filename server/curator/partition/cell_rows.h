// The public rows in the order of a growing tree's cells: each cell is a range of positions, and so
// is each side of a cut.
//
// Cost       a cut is linear in its rows, in every order kept: each numeric column is sorted once a
//            tree, not once a node.
// Threads    one at a time.

#ifndef COPPICE_SERVER_CURATOR_PARTITION_CELL_ROWS_H_
#define COPPICE_SERVER_CURATOR_PARTITION_CELL_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "common/data/table.h"
#include "common/tree/tree.h"

namespace coppice::curator {

struct RowRange {
  size_t begin = 0;
  size_t end = 0;

  size_t size() const { return end - begin; }
};

class CellRows {
 public:
  // `rows` must outlive this. With `sorted` the cells are kept in the order of each numeric
  // feature, too.
  CellRows(const Table& rows, bool sorted);

  absl::Span<const uint32_t> Rows(RowRange cell) const { return Slice(rows_order_, cell); }
  // Missing values last, equal values in the order of the table. Only if sorted.
  absl::Span<const uint32_t> SortedBy(uint32_t feature, RowRange cell) const {
    return Slice(sorted_[feature], cell);
  }

  // Brings the rows that go left to the front of the cell; returns how many.
  size_t Cut(RowRange cell, const Node& split);

 private:
  static absl::Span<const uint32_t> Slice(const std::vector<uint32_t>& order, RowRange cell) {
    return absl::MakeConstSpan(order).subspan(cell.begin, cell.size());
  }
  void StablePartition(std::vector<uint32_t>& order, RowRange cell);

  const Table& rows_;
  std::vector<uint32_t> rows_order_;
  std::vector<std::vector<uint32_t>> sorted_;  // by feature; empty for the categorical
  std::vector<uint8_t> goes_left_;             // by row, for the cut at hand
  std::vector<uint32_t> right_;
};

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_PARTITION_CELL_ROWS_H_
