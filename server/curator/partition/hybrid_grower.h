// Grows trees by the hybrid rule: the best cut by the labels while there is one, then by the widest
// spread of the features, down to the requested size.
//
// Cuts by labels put borders where the classes change, but they stop as soon as a cell's public
// labels are pure, and with fifty public rows that is early. Private labels may well differ within
// such a cell, so it is cut on, evenly, along the feature whose values reach furthest. That costs
// little: the pooled estimator treats neighbouring leaves as alike until reports say otherwise,
// whereas rows that no cut separates cannot be told apart by any number of reports.
//
// A cell with mixed labels is cut where the entropy (for numbers, the sum of squares) falls most,
// over all features. Where no cut lowers it (the cell is pure, or labels are not used), the feature
// with the widest spread of public ranks within the cell is cut at the gap nearest its median.
// Ranks (mid-ranks over all public rows, divided by their number) make features comparable without
// a scale. A category is a column of 0 and 1, with spread one half.
//
// A missing number is below every number and goes left; a missing category is a category and goes
// with "the rest". Where the cell shows no missing value, missing values go with the most rows.
//
// Rows of a bag count as often as they were drawn. Every second tree considers ceil(d/3) random
// features per cell, and the others in random order where none of these can be cut. Nodes are cut
// breadth first, so that a limit on the leaves keeps the tree level.
//
// Threads    HybridRows is immutable and safe to share; a grower is for one thread.
// Source     cuts by labels: Breiman, Friedman, Olshen, Stone, "Classification and Regression
//            Trees" (1984); bags and random features: Breiman, "Random forests" (2001); the rest:
//            docs/research/mechanisms.md#partition.

#ifndef COPPICE_SERVER_CURATOR_PARTITION_HYBRID_GROWER_H_
#define COPPICE_SERVER_CURATOR_PARTITION_HYBRID_GROWER_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "common/base/cancel_check.h"
#include "common/base/public_random.h"
#include "common/base/status.h"
#include "common/model/tree.h"
#include "common/table/table.h"

namespace coppice::curator {

// The public rows in the form that the search for cuts uses, made once per forest.
class HybridRows {
 public:
  // One feature: codes in the order of its values. A numeric feature has one code per distinct
  // value, after the code of a missing one (if any row has it missing); a categorical one has its
  // categories, "other" and "missing".
  struct Column {
    bool numeric = false;
    std::vector<uint32_t> code;   // by row
    uint32_t codes = 0;           // number of codes
    std::vector<double> value;    // numeric: by code, NaN for missing
    std::vector<double> rank;     // numeric: by code, mid-rank / rows
    std::vector<uint32_t> order;  // numeric: rows by code
  };

  // `rows` must outlive this. All rows have one class without `use_labels` or where numbers are
  // predicted; in the latter case the numbers say how mixed a cell is.
  HybridRows(const Table& rows, bool use_labels);

  const Schema& schema() const { return rows_.schema(); }
  size_t num_rows() const { return label_.size(); }
  uint32_t classes() const { return classes_; }
  uint32_t label(size_t row) const { return label_[row]; }
  // With mean 0 and mean square 1 over all rows; empty for classes.
  absl::Span<const double> numbers() const { return numbers_; }
  absl::Span<const Column> columns() const { return columns_; }
  // x log2 x for whole numbers up to num_rows().
  absl::Span<const double> x_log_x() const { return x_log_x_; }

 private:
  const Table& rows_;
  uint32_t classes_;
  std::vector<uint32_t> label_;
  std::vector<double> numbers_;
  std::vector<Column> columns_;
  std::vector<double> x_log_x_;
};

struct HybridOptions {
  uint32_t max_depth = kMaxDepth;
  uint32_t min_leaf = 1;    // in drawn rows, repetitions counted
  uint32_t max_leaves = 0;  // 0: no limit
  bool few_features = false;
};

// `drawn[row]` is how often the row is in the bag, whose total must be 1 to num_rows().
StatusOr<Tree> GrowHybridTree(const HybridRows& rows, absl::Span<const uint32_t> drawn,
                              const HybridOptions& options, PublicRandom& random,
                              const CancelCheck& cancel = {});

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_PARTITION_HYBRID_GROWER_H_
