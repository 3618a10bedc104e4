// Counts the rows of a node in each bin of each column, and sums their residuals: all that the
// scores of a node's splits depend on.
//
// Residuals are whole numbers of at most kResidualSteps (split_scores.h) in size, one per output.
// Sums are exact, in 64 bits, so the order of rows does not matter. The histogram of a child is its
// parent's minus its sibling's, because residuals do not change while a tree grows. Which child is
// counted row by row affects only time. The bins of a row lie side by side, so a small node reads
// no more than it needs, however its rows are scattered. A row's residual and its count of one are
// added in one 64-bit word.

#ifndef COPPICE_SERVER_TRAINERS_DPBOOST_HISTOGRAMS_H_
#define COPPICE_SERVER_TRAINERS_DPBOOST_HISTOGRAMS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "server/trainers/core/bins.h"

namespace coppice::trainers {

// residuals[output][i] belongs to the i-th row that is counted.
using ResidualSpans = std::vector<absl::Span<const int32_t>>;

// The bins of all columns, one after the other.
struct Histogram {
  std::vector<int64_t> counts;
  std::vector<std::vector<int64_t>> sums;  // sums[output]

  // Subtracts the rows of `part`, which must be among these.
  void Subtract(const Histogram& part);
};

// Threads    a builder is not safe to share; histograms are plain values.
class HistogramBuilder {
 public:
  // Copies the rows' bins: 2 bytes each, 4 if all columns together have more than 2^16 bins.
  explicit HistogramBuilder(const BinnedRows& rows);

  // Returns the histogram of `rows`, with as many outputs as `residuals` has.
  Histogram Build(absl::Span<const uint32_t> rows, const ResidualSpans& residuals);

  // Returns where a column's bins begin in a histogram.
  size_t begin(size_t column) const { return begin_[column]; }

 private:
  void Add(absl::Span<const uint32_t> rows, absl::Span<const int32_t> residuals);
  void Unpack(Histogram& histogram, size_t output);

  size_t columns_;
  std::vector<size_t> begin_;  // one per column, and the end
  // The place in a histogram of row r's bin of column c, at r * columns_ + c. Only one is used.
  std::vector<uint16_t> places_;
  std::vector<uint32_t> wide_places_;
  std::vector<uint64_t> packed_;  // counts and sums of a block of rows
};

}  // namespace coppice::trainers

#endif  // COPPICE_SERVER_TRAINERS_DPBOOST_HISTOGRAMS_H_
