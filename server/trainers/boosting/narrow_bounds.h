// Narrower bounds for numeric columns that are declared far wider than their rows.
//
// Public cuts have to lie where rows are, but all that is public of a column is its bounds. Whoever
// does not know them declares generous ones: incomes up to 10^9, time stamps of ten years. Then all
// rows fall between two cuts, lines through the column are flat, and an oblique column sees no
// more. To find the rows costs little: that three quarters of them lie in a sixteenth of the bounds
// is a question about all rows at once, so a share of 25 / (rows times epsilon) answers it.
//
// One selection goes over all columns. Its candidates are windows of a sixteenth and of a 128th of
// each column's bounds, at steps of half their width, and "none": all columns are good as they are.
// A window's score is the number of rows in it, without those of the value that is most frequent
// there: amounts that are mostly 0 fill their bounds in spite of it. The chosen window is its
// column's bounds from then on, and the next selection begins, until one says "none". At the end
// every narrowed column gets as much again on either side, since some rows are outside. Tables
// whose columns all fit their rows pay for one selection.
//
// Guarantee  each selection costs its share; `left` is what remains of the whole. A row more moves
//            every score by 0 or 1: where it is in the window the count grows by 1, and that of the
//            most frequent value by 0 or 1. Candidates and shares follow from the schema and
//            released values.
// Errors     as in private_releaser.h.
// Threads    plain values.
// Source     docs/research/mechanisms.md#narrow-bounds.

#ifndef COPPICE_SERVER_TRAINERS_BOOSTING_NARROW_BOUNDS_H_
#define COPPICE_SERVER_TRAINERS_BOOSTING_NARROW_BOUNDS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "common/base/status.h"
#include "common/schema/derived.h"
#include "common/schema/schema.h"
#include "common/table/row_blocks.h"
#include "server/trainers/core/private_releaser.h"

namespace coppice::trainers {

// NarrowBounds() spends at most this part of its share.
inline constexpr double kMaxNarrowingShare = 0.25;

// The most bytes of a row in memory, while nothing else of it is.
inline constexpr uint64_t kNarrowingBytesOfRow = 48;

struct NarrowedBounds {
  Schema schema;  // the table's, with the bounds that were found
  BudgetShare left = BudgetShare::WithoutPrivacy();
  uint32_t columns = 0;  // of which bounds are narrower
};

// `counted` is the released number of rows. Asks nothing where too few rows would answer, or where
// no column is numeric. So many threads each look at columns of their own.
StatusOr<NarrowedBounds> NarrowBounds(const RowBlocks& rows, double counted,
                                      const BudgetShare& left, PrivateReleaser& releaser,
                                      uint32_t threads = 1);

// Returns `schema` with its derived features, all within the bounds that they can reach between
// those of `narrowed`.
StatusOr<Schema> ExtendNarrowed(const Schema& schema, const Schema& narrowed,
                                absl::Span<const DerivedFeature> derived);

// Into how many parts bounds are divided. Windows of all columns are so small that only bounds far
// too wide have one that holds most rows; then a last one of a quarter may fit better.
struct WindowParts {
  std::vector<uint32_t> of_all = {16, 128};
  uint32_t of_narrowed = 4;
};

// The selection itself, for tests that walk through it.
//
// Threads    not safe to share.
class WindowSearch {
 public:
  // `counted` is public. The rows must outlive it, and are read a few times: the values of
  // kColumnsAtOnce columns are in memory together.
  static StatusOr<WindowSearch> Create(const RowBlocks& rows, double counted,
                                       WindowParts parts = {}, uint32_t threads = 1);

  // Returns the scores of "none" and of all windows, column after column.
  std::vector<int64_t> Scores() const;
  // Makes the window of a candidate that is not "none" its column's bounds.
  Status Narrow(size_t candidate);
  // Returns all features, with margins around the windows that were found.
  std::vector<Feature> Features() const;
  bool empty() const { return columns_.empty(); }

 private:
  struct Column {
    Feature declared{};
    uint32_t feature = 0;
    double least_width = 0;  // of windows
    std::vector<NumberRange> windows{};
    std::vector<int64_t> scores{};
  };

  WindowSearch(const RowBlocks& rows, double counted, WindowParts parts, uint32_t threads);

  // Offers the windows of some columns, whose values it reads. They are read anew for each use:
  // kept, those of all columns would be the whole table.
  Status Offer(absl::Span<Column> columns) const;
  // `values` rise.
  void OfferWindows(absl::Span<const double> values, Column& column) const;

  const RowBlocks* rows_;
  double counted_;
  WindowParts parts_;
  uint32_t threads_;
  std::vector<Feature> features_;
  std::vector<Column> columns_;
};

}  // namespace coppice::trainers

#endif  // COPPICE_SERVER_TRAINERS_BOOSTING_NARROW_BOUNDS_H_
