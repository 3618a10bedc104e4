// Boosting of squared error with histogram trees, for noisy numbers beside public values.
//
// Every round grows one tree on what earlier rounds left over, best split first, and its leaves
// hold a number per column: rate * sum / (rows + ridge). All columns share the tree, and a split's
// gain is added up over them, so that columns which add up to zero still do. Numeric features are
// cut at midpoints between at most kMaxBins groups of rows; a category is split from all others,
// and a missing value goes where it gains most. Nothing is random: equal input, equal trees.
//
// Guarantee  post-processing of what it is given: costs no privacy.
// Errors     what `cancel` returns.
// Threads    safe to share.
// Source     Friedman 2001, algorithm 2; docs/research/mechanisms.md#label-only.

#ifndef COPPICE_SERVER_CURATOR_LABEL_ONLY_BOOSTED_TREES_H_
#define COPPICE_SERVER_CURATOR_LABEL_ONLY_BOOSTED_TREES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/base/cancel_check.h"
#include "common/data/table.h"
#include "common/tree/tree.h"

namespace coppice::curator {

// Numbers by column, then row.
using RowColumns = std::vector<std::vector<double>>;

struct BoostOptions {
  uint32_t rounds = 40;
  double rate = 0.15;
  uint32_t leaves = 8;
  double ridge = 0;     // in rows
  double min_leaf = 1;  // rows of a leaf
};

// The public values of rows, each feature in few bins.
class RowBins {
 public:
  static constexpr size_t kMaxBins = 48;  // of values; missing ones have their own

  // `rows` must outlive the bins.
  explicit RowBins(const Table& rows);

  const Table& rows() const { return rows_; }
  size_t features() const { return bins_.size(); }
  uint32_t bin(size_t feature, size_t row) const { return bin_[feature][row]; }
  // How many there are, the missing values' among them: it is the last.
  uint32_t bins(size_t feature) const { return bins_[feature]; }
  // Numeric features: bin b has the values from cuts[b - 1] on that are below cuts[b].
  absl::Span<const double> cuts(size_t feature) const { return cuts_[feature]; }

 private:
  void SetNumeric(size_t feature);
  void SetCategories(size_t feature);

  const Table& rows_;
  std::vector<std::vector<uint32_t>> bin_;
  std::vector<uint32_t> bins_;
  std::vector<std::vector<double>> cuts_;
};

struct BoostedTree {
  Tree tree = Tree::SingleLeaf();
  std::vector<std::vector<double>> values;  // values[leaf][column]
};

// Trees whose sum fits `left` at the rows of `subset`, their mean included. What they predict is
// taken off `left`, at all rows. None for an empty subset.
absl::StatusOr<std::vector<BoostedTree>> Boost(const RowBins& bins,
                                               absl::Span<const uint32_t> subset,
                                               const BoostOptions& options, RowColumns& left,
                                               const CancelCheck& cancel = {});

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_LABEL_ONLY_BOOSTED_TREES_H_
