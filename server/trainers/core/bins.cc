#include "server/trainers/core/bins.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "common/base/parallel.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/table/row_blocks.h"

namespace coppice::trainers {
namespace {

// This many of each eight cuts of a feature halve distances.
constexpr uint32_t kHalvingOfEight = 1;
constexpr int kMaxHalvings = 16;

std::vector<double> CutsOf(const Feature& feature, uint32_t most) {
  const double low = feature.min, span = feature.max - feature.min;
  std::vector<double> cuts;
  if (!(span > 0) || most == 0) return cuts;
  const double zero = low < 0 && feature.max > 0 ? 0 : low;
  const uint32_t sides = zero > low ? 2 : 1;
  const auto halvings =
      static_cast<uint32_t>(std::min<uint32_t>(most * kHalvingOfEight / 8 / sides, kMaxHalvings));
  for (uint32_t k = 1; k <= halvings; ++k) {
    cuts.push_back(zero + std::ldexp(feature.max - zero, -static_cast<int>(k)));
    if (sides == 2) cuts.push_back(zero - std::ldexp(zero - low, -static_cast<int>(k)));
  }
  const uint32_t even = most - sides * halvings;
  for (uint32_t i = 1; i <= even; ++i) cuts.push_back(low + span * i / (even + 1));
  std::erase_if(cuts, [&](double cut) { return !(cut > low && cut <= feature.max); });
  // Cuts between the same whole numbers are merged, so that no bin is empty for all data.
  if (feature.integer) std::transform(cuts.begin(), cuts.end(), cuts.begin(), WholeCut);
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  return cuts;
}

// Finds how many cuts are at most a value: first a guess from an even grid, then step by step.
class CutFinder {
 public:
  explicit CutFinder(const std::vector<double>& cuts) : cuts_(cuts) {
    if (cuts.empty()) return;
    // A table may have 2^16 columns of few cuts, and each has its finder while rows are read.
    const size_t cells = std::clamp(std::bit_ceil(4 * cuts.size()), kLeastCells, kMostCells);
    low_ = cuts.front();
    last_ = static_cast<double>(cells - 1);
    const double span = cuts.back() - low_;
    scale_ = last_ / span;
    if (!std::isfinite(scale_)) scale_ = 0;  // one cut, or adjacent cuts
    for (size_t cell = 0; cell < cells; ++cell) {
      const double value = scale_ > 0 ? low_ + static_cast<double>(cell) / scale_ : low_;
      guesses_.push_back(
          static_cast<uint16_t>(std::upper_bound(cuts.begin(), cuts.end(), value) - cuts.begin()));
    }
  }

  uint16_t BinOf(double value) const {
    if (cuts_.empty()) return 0;
    const double at = std::clamp((value - low_) * scale_, 0.0, last_);
    size_t bin = guesses_[static_cast<size_t>(at)];
    while (bin > 0 && cuts_[bin - 1] > value) --bin;
    while (bin < cuts_.size() && cuts_[bin] <= value) ++bin;
    return static_cast<uint16_t>(bin);
  }

 private:
  static constexpr size_t kLeastCells = 16, kMostCells = 1024;

  const std::vector<double>& cuts_;
  double low_ = 0, scale_ = 0, last_ = 0;
  std::vector<uint16_t> guesses_{};
};

// Puts a column's values into bins, some rows after the others.
class ColumnBinner {
 public:
  // `bins` must outlive it.
  ColumnBinner(const FeatureBins& bins, size_t rows)
      : bins_(bins), finder_(bins.cuts), column_(bins.size(), rows) {}

  // `scratch` is as long as the values.
  void Set(size_t first, absl::Span<const double> values, absl::Span<uint16_t> scratch) {
    const auto missing = static_cast<uint16_t>(bins_.missing());
    for (size_t i = 0; i < values.size(); ++i) {
      scratch[i] = IsMissing(values[i])                      ? missing
                   : bins_.type == FeatureType::kCategorical ? static_cast<uint16_t>(values[i])
                                                             : finder_.BinOf(values[i]);
    }
    column_.Set(first, scratch);
  }

  BinColumn Take() && { return std::move(column_); }

 private:
  const FeatureBins& bins_;
  CutFinder finder_;
  BinColumn column_;
};

template <typename T>
std::vector<T> At(const std::vector<T>& values, absl::Span<const uint32_t> positions) {
  std::vector<T> selected;
  if (values.empty()) return selected;
  selected.reserve(positions.size());
  for (const uint32_t position : positions) selected.push_back(values[position]);
  return selected;
}

uint32_t StepsOf(double value, const Target& target) {
  const double share = std::clamp((value - target.min) / target.span(), 0.0, 1.0);
  return static_cast<uint32_t>(std::lround(share * kTargetSteps));
}

}  // namespace

StatusOr<std::vector<FeatureBins>> PublicBins(const Schema& schema, uint32_t cuts) {
  std::vector<FeatureBins> bins;
  bins.reserve(schema.num_features());
  for (const Feature& feature : schema.features()) {
    FeatureBins& added = bins.emplace_back();
    added.type = feature.type;
    if (feature.type == FeatureType::kNumeric) added.cuts = CutsOf(feature, cuts);
    added.known = static_cast<uint32_t>(
        feature.type == FeatureType::kNumeric ? added.cuts.size() + 1 : feature.values.size());
    if (added.size() > kMaxBins) {
      return InvalidArgumentError(StrCat("feature \"", feature.name, "\" has ",
                                         feature.values.size(), " values; at most ", kMaxBins - 2,
                                         " can be trained on"));
    }
  }
  return bins;
}

std::vector<FeatureBins> MostPublicBins(const Schema& schema, uint32_t cuts) {
  std::vector<FeatureBins> bins;
  bins.reserve(schema.num_features());
  for (const Feature& feature : schema.features()) {
    const bool numeric = feature.type == FeatureType::kNumeric;
    bins.push_back({.type = feature.type,
                    .known = numeric ? cuts + 1 : static_cast<uint32_t>(feature.values.size())});
  }
  return bins;
}

uint64_t BytesOfBinnedRow(const std::vector<FeatureBins>& bins) {
  constexpr size_t kRows = 8;                 // a column of nine bits takes nine bytes for them
  uint64_t bytes = kRows * sizeof(uint32_t);  // of labels or targets
  for (const FeatureBins& column : bins) bytes += BinColumn::BytesOf(column.size(), kRows);
  return (bytes + kRows - 1) / kRows;
}

StatusOr<BinnedRows> BinnedRows::Create(const RowBlocks& rows, std::vector<FeatureBins> bins,
                                        absl::Span<const DerivedFeature> derived,
                                        uint32_t threads) {
  const Schema& schema = rows.schema();
  const size_t own = schema.num_features(), count = rows.num_rows();
  BinnedRows binned;
  binned.num_classes_ = schema.num_classes();
  (schema.target() ? binned.targets_ : binned.labels_).reserve(count);
  std::vector<ColumnBinner> columns;
  columns.reserve(bins.size());
  for (const FeatureBins& of_column : bins) columns.emplace_back(of_column, count);
  const auto take = [&](const Table& block) -> Status {
    const size_t first = binned.num_rows_;
    binned.num_rows_ += block.num_rows();
    if (binned.num_rows_ > count) return InternalError("there are more rows than were counted");
    // Column by column: a block alone is too small to be divided into ranges of rows.
    COPPICE_RETURN_IF_ERROR(RunInParallel(columns.size(), threads, [&](size_t column) {
      std::vector<uint16_t> scratch(block.num_rows());
      if (column < own) {
        columns[column].Set(first, block.column(column), absl::MakeSpan(scratch));
        return OkStatus();
      }
      std::vector<double> values(block.num_rows());
      for (size_t row = 0; row < values.size(); ++row) {
        values[row] = DerivedValue(schema, derived[column - own],
                                   [&](uint32_t feature) { return block.value(row, feature); });
      }
      columns[column].Set(first, values, absl::MakeSpan(scratch));
      return OkStatus();
    }));
    binned.labels_.insert(binned.labels_.end(), block.labels().begin(), block.labels().end());
    for (const double target : block.targets()) {
      binned.targets_.push_back(StepsOf(target, *schema.target()));
    }
    return OkStatus();
  };
  COPPICE_RETURN_IF_ERROR(rows.ForEach(take));
  if (binned.num_rows_ != count) return InternalError("there are fewer rows than were counted");
  for (ColumnBinner& column : columns) binned.columns_.push_back(std::move(column).Take());
  binned.bins_ = std::move(bins);
  return binned;
}

BinnedRows BinnedRows::Select(absl::Span<const uint32_t> positions) const {
  BinnedRows selected;
  selected.bins_ = bins_;
  for (const BinColumn& column : columns_) selected.columns_.push_back(column.Select(positions));
  selected.labels_ = At(labels_, positions);
  selected.targets_ = At(targets_, positions);
  selected.num_classes_ = num_classes_;
  selected.num_rows_ = positions.size();
  return selected;
}

}  // namespace coppice::trainers
