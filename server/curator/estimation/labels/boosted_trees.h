// Boosting of squared error with histogram trees, for noisy numbers with public values.
//
// Each round explains a part of what the rounds before have left, and left alone would end by
// explaining the noise. Two things prevent that: a leaf has a least number of rows, and the ridge
// makes the value of a leaf with few rows a small part of their mean.
//
// Every round grows one tree on the residuals of earlier rounds, best split first; its leaves hold
// one number per column: rate * sum / (rows + ridge). All columns share the tree, and a split's
// gain is summed over them, so columns that add up to zero still do. For another loss than squares,
// the residuals are its gradients, and its curvatures count in the place of rows (a Newton step).
// Numeric features are cut at midpoints between at most kMaxBins groups of rows; a category is
// split from all others, and a missing value goes where it gains most. Nothing is random: equal
// input gives equal trees.
//
// Guarantee  post-processing of its input: costs no privacy.
// Errors     what `cancel` returns.
// Threads    safe to share.
// Source     Friedman 2001, algorithm 2; docs/research/mechanisms.md#label-only.

#ifndef COPPICE_SERVER_CURATOR_ESTIMATION_LABELS_BOOSTED_TREES_H_
#define COPPICE_SERVER_CURATOR_ESTIMATION_LABELS_BOOSTED_TREES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "common/base/cancel_check.h"
#include "common/base/status.h"
#include "common/model/tree.h"
#include "common/table/table.h"

namespace coppice::curator {

// Numbers by column, then row.
using RowColumns = std::vector<std::vector<double>>;

struct BoostOptions {
  uint32_t rounds = 40;
  double rate = 0.15;
  uint32_t leaves = 8;
  double ridge = 0;     // in rows
  double min_leaf = 1;  // least rows of a leaf
};

// The public values of rows, with each feature in few bins.
class RowBins {
 public:
  static constexpr size_t kMaxBins = 48;  // of values; missing values have their own bin

  // `rows` must outlive the bins.
  explicit RowBins(const Table& rows);

  const Table& rows() const { return rows_; }
  size_t features() const { return bins_.size(); }
  uint32_t bin(size_t feature, size_t row) const { return bin_[feature][row]; }
  // The number of bins. The last is the bin of missing values.
  uint32_t bins(size_t feature) const { return bins_[feature]; }
  // For numeric features: bin b has the values from cuts[b - 1] on and below cuts[b].
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

// One tree for the gradients and curvatures of some loss at the rows of `subset`, which must not be
// empty: its leaves hold rate * sum of gradients / (sum of curvatures + ridge), cut to +-1.
StatusOr<BoostedTree> GrowNewtonTree(const RowBins& bins, absl::Span<const uint32_t> subset,
                                     const BoostOptions& options, const RowColumns& gradients,
                                     const RowColumns& curvatures);

// Returns trees whose sum fits `left` at the rows of `subset`, mean included, and subtracts their
// predictions from `left` at all rows. Returns none for an empty subset.
StatusOr<std::vector<BoostedTree>> Boost(const RowBins& bins, absl::Span<const uint32_t> subset,
                                         const BoostOptions& options, RowColumns& left,
                                         const CancelCheck& cancel = {});

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_ESTIMATION_LABELS_BOOSTED_TREES_H_
