// Finds the best cut of one cell along one feature, by the public rows in the cell: the one that
// takes most off the rows' impurity (Gini or entropy), as CART does (Breiman and others 1984).
//
// A row whose value is missing follows `missing_left`, the side that gives the larger decrease. On
// a tie, or if no row of the cell is missing, that is the side with more rows of known value (the
// left if equal). Decreases within kTie tie, so rounding never decides which tree is published: the
// earlier candidate stays, with the lower threshold or category.

#ifndef COPPICE_SERVER_CURATOR_PARTITION_SPLIT_SEARCH_H_
#define COPPICE_SERVER_CURATOR_PARTITION_SPLIT_SEARCH_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "common/model/tree.h"
#include "common/table/table.h"
#include "server/curator/partition/partition.h"

namespace coppice::curator {

// Rows of each class.
using ClassCounts = std::vector<uint64_t>;

uint64_t TotalCount(absl::Span<const uint64_t> counts);

// Gini 1 - sum p^2, or entropy -sum p log2 p; 0 for no rows.
double Impurity(Criterion criterion, absl::Span<const uint64_t> counts);

// Impurity of all rows minus the mean impurity of the sides, weighted by their rows. `left` counts
// some of the rows in `all`, which must have at least one.
double ImpurityDecrease(Criterion criterion, absl::Span<const uint64_t> all,
                        absl::Span<const uint64_t> left);

inline constexpr double kTie = 1e-12;

struct Split {
  Node node;  // without children
  double decrease = 0;
};

// Threads    one at a time.
class SplitSearch {
 public:
  // `rows` must outlive the search.
  SplitSearch(const Table& rows, Criterion criterion, uint32_t min_leaf);

  // Sets the cell for all other calls: positions in the table.
  void SetCell(absl::Span<const uint32_t> cell);

  // Each returns nothing if every cut of its kind leaves fewer than min_leaf rows on a side.

  // Missing | present.
  std::optional<Split> Missing(uint32_t feature);
  // Below `threshold` | the rest.
  std::optional<Split> Threshold(uint32_t feature, double threshold);
  // Half-way between two neighbouring values. `sorted` is the cell in the feature's order, with
  // missing values last.
  std::optional<Split> BestThreshold(uint32_t feature, absl::Span<const uint32_t> sorted);
  // One category | the rest: the largest decrease, or the category with the most rows.
  std::optional<Split> BestCategory(uint32_t feature);
  std::optional<Split> MostFrequentCategory(uint32_t feature);

 private:
  // The cut with `left` of the rows of known value on its left; places the rows of `missing_`.
  std::optional<Split> Judge(SplitKind kind, uint32_t feature, double threshold,
                             absl::Span<const uint64_t> left);
  double Decrease(absl::Span<const uint64_t> left) const;
  bool LeavesEnough(uint64_t left_rows) const;
  void CountMissing(uint32_t feature);
  // Class counts of each category, concatenated.
  ClassCounts CountCategories(uint32_t feature) const;

  const Table& rows_;
  const Criterion criterion_;
  const uint64_t min_leaf_;
  absl::Span<const uint32_t> cell_;
  ClassCounts all_;
  ClassCounts missing_;  // of the last feature counted
  uint64_t missing_rows_ = 0;
  ClassCounts left_and_missing_;
};

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_PARTITION_SPLIT_SEARCH_H_
