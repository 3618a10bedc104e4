// Rows in bins between public cuts: all that a trainer looks at.
//
// The cuts are public and come from the schema alone: a numeric feature has evenly spaced cuts
// between its bounds, and some that halve the distance to zero (or to its lower bound, if zero is
// outside), because amounts and durations crowd there. A feature of whole numbers has at most one
// cut between neighbours. A value is in bin b if b cuts are at most the value, so "x < cut j" is
// "bin <= j". A categorical feature has one bin per value and one for "other". A missing value has
// its own bin, the last.
//
// A label is a class, or kUnlabelled. Numbers to predict are whole steps from 0 to kTargetSteps of
// their public range, rounded to the nearest, row by row.

#ifndef COPPICE_SERVER_TRAINERS_CORE_BINS_H_
#define COPPICE_SERVER_TRAINERS_CORE_BINS_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "common/base/status.h"
#include "common/schema/derived.h"
#include "common/schema/schema.h"
#include "common/table/row_blocks.h"
#include "common/table/table.h"
#include "server/trainers/core/bin_column.h"

namespace coppice::trainers {

inline constexpr uint32_t kMaxBins = 1u << 15;
inline constexpr uint32_t kTargetSteps = 1u << 16;

struct FeatureBins {
  FeatureType type = FeatureType::kNumeric;
  std::vector<double> cuts{};  // numeric: increasing, within the bounds
  uint32_t known = 1;          // numeric: cuts + 1. Categorical: the vocabulary
  // The number of bins for values that are not missing: the known ones and "other".
  uint32_t ordinary() const { return type == FeatureType::kNumeric ? known : known + 1; }
  uint32_t missing() const { return ordinary(); }
  uint32_t size() const { return ordinary() + 1; }
};

// `cuts` is the most that a numeric feature may have.
StatusOr<std::vector<FeatureBins>> PublicBins(const Schema& schema, uint32_t cuts);

// Returns as many bins as PublicBins() may make, without their cuts: of these there may be a
// hundred million, and a plan needs none.
std::vector<FeatureBins> MostPublicBins(const Schema& schema, uint32_t cuts);

// Returns the bytes that a row takes in BinnedRows, rounded up.
uint64_t BytesOfBinnedRow(const std::vector<FeatureBins>& bins);

// Errors     InvalidArgument for a feature of more than kMaxBins bins; why rows could not be read.
// Threads    immutable once made.
// Source     docs/research/mechanisms.md#public-cuts.
class BinnedRows {
 public:
  BinnedRows() = default;  // has no rows
  // Reads the rows once, a block at a time. Adds columns of derived features after the table's own;
  // `bins` has those of all columns. So many threads work on the columns of a block.
  static StatusOr<BinnedRows> Create(const RowBlocks& rows, std::vector<FeatureBins> bins,
                                     absl::Span<const DerivedFeature> derived = {},
                                     uint32_t threads = 1);
  static StatusOr<BinnedRows> Create(const Table& rows, std::vector<FeatureBins> bins,
                                     absl::Span<const DerivedFeature> derived = {}) {
    return Create(BlocksOfTable(rows), std::move(bins), derived);
  }

  const std::vector<FeatureBins>& bins() const { return bins_; }
  size_t num_rows() const { return num_rows_; }
  size_t num_features() const { return bins_.size(); }
  const BinColumn& column(size_t feature) const { return columns_[feature]; }
  // Classes; empty for regression.
  absl::Span<const uint32_t> labels() const { return labels_; }
  // Steps; empty for classification.
  absl::Span<const uint32_t> targets() const { return targets_; }
  uint32_t num_classes() const { return num_classes_; }
  bool regression() const { return num_classes_ == 0; }

  // Copies the rows at `positions`, in that order, so that the rows of one tree fit the cache.
  BinnedRows Select(absl::Span<const uint32_t> positions) const;

  // Replaces the labels by `labels`, one per row.
  void Relabel(std::vector<uint32_t> labels) { labels_ = std::move(labels); }

 private:
  std::vector<FeatureBins> bins_;
  std::vector<BinColumn> columns_;
  std::vector<uint32_t> labels_;
  std::vector<uint32_t> targets_;
  uint32_t num_classes_ = 0;
  size_t num_rows_ = 0;
};

}  // namespace coppice::trainers

#endif  // COPPICE_SERVER_TRAINERS_CORE_BINS_H_
