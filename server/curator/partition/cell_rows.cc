#include "server/curator/partition/cell_rows.h"

#include <algorithm>
#include <numeric>

namespace coppice::curator {

CellRows::CellRows(const Table& rows, bool sorted)
    : rows_(rows),
      rows_order_(rows.num_rows()),
      sorted_(rows.schema().num_features()),
      goes_left_(rows.num_rows()) {
  std::iota(rows_order_.begin(), rows_order_.end(), 0u);
  if (!sorted) return;
  for (size_t f = 0; f < sorted_.size(); ++f) {
    if (rows.schema().features()[f].type != FeatureType::kNumeric) continue;
    const absl::Span<const double> column = rows.column(f);
    sorted_[f] = rows_order_;
    std::sort(sorted_[f].begin(), sorted_[f].end(), [column](uint32_t a, uint32_t b) {
      const bool a_missing = IsMissing(column[a]), b_missing = IsMissing(column[b]);
      if (a_missing != b_missing) return b_missing;
      if (!a_missing && column[a] != column[b]) return column[a] < column[b];
      return a < b;
    });
  }
}

size_t CellRows::Cut(RowRange cell, const Node& split) {
  const absl::Span<const double> column = rows_.column(split.feature);
  size_t left = 0;
  for (const uint32_t row : Rows(cell)) {
    goes_left_[row] = GoesLeft(split, column[row]) ? 1 : 0;
    left += goes_left_[row];
  }
  StablePartition(rows_order_, cell);
  for (std::vector<uint32_t>& order : sorted_) {
    if (!order.empty()) StablePartition(order, cell);
  }
  return left;
}

void CellRows::StablePartition(std::vector<uint32_t>& order, RowRange cell) {
  right_.clear();
  size_t next = cell.begin;
  for (size_t i = cell.begin; i < cell.end; ++i) {
    const uint32_t row = order[i];
    if (goes_left_[row] != 0) {
      order[next++] = row;
    } else {
      right_.push_back(row);
    }
  }
  std::copy(right_.begin(), right_.end(), order.begin() + static_cast<std::ptrdiff_t>(next));
}

}  // namespace coppice::curator
