#include "server/trainers/core/bins.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"

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
    low_ = cuts.front();
    const double span = cuts.back() - low_;
    scale_ = (kCells - 1) / span;
    if (!std::isfinite(scale_)) scale_ = 0;  // one cut, or adjacent cuts
    for (size_t cell = 0; cell < kCells; ++cell) {
      const double value = scale_ > 0 ? low_ + static_cast<double>(cell) / scale_ : low_;
      guesses_[cell] =
          static_cast<uint16_t>(std::upper_bound(cuts.begin(), cuts.end(), value) - cuts.begin());
    }
  }

  uint16_t BinOf(double value) const {
    if (cuts_.empty()) return 0;
    const double at = std::clamp((value - low_) * scale_, 0.0, static_cast<double>(kCells - 1));
    size_t bin = guesses_[static_cast<size_t>(at)];
    while (bin > 0 && cuts_[bin - 1] > value) --bin;
    while (bin < cuts_.size() && cuts_[bin] <= value) ++bin;
    return static_cast<uint16_t>(bin);
  }

 private:
  static constexpr size_t kCells = 1024;

  const std::vector<double>& cuts_;
  double low_ = 0, scale_ = 0;
  std::array<uint16_t, kCells> guesses_{};
};

std::vector<uint16_t> BinColumn(absl::Span<const double> values, const FeatureBins& bins) {
  const auto missing = static_cast<uint16_t>(bins.missing());
  const CutFinder finder(bins.cuts);
  std::vector<uint16_t> column(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    column[i] = IsMissing(values[i])                     ? missing
                : bins.type == FeatureType::kCategorical ? static_cast<uint16_t>(values[i])
                                                         : finder.BinOf(values[i]);
  }
  return column;
}

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

StatusOr<BinnedRows> BinnedRows::Create(const Table& rows, std::vector<FeatureBins> bins) {
  return Create(rows, std::move(bins), {});
}

StatusOr<BinnedRows> BinnedRows::Create(const Table& rows, std::vector<FeatureBins> bins,
                                        absl::Span<const DerivedFeature> derived) {
  BinnedRows binned;
  binned.num_rows_ = rows.num_rows();
  binned.num_classes_ = rows.schema().num_classes();
  const size_t own = rows.schema().num_features();
  for (size_t f = 0; f < own; ++f) binned.columns_.push_back(BinColumn(rows.column(f), bins[f]));
  std::vector<double> values(derived.empty() ? 0 : rows.num_rows());
  for (size_t d = 0; d < derived.size(); ++d) {
    for (size_t row = 0; row < values.size(); ++row) {
      values[row] = DerivedValue(rows.schema(), derived[d],
                                 [&](uint32_t feature) { return rows.value(row, feature); });
    }
    binned.columns_.push_back(BinColumn(values, bins[own + d]));
  }
  binned.bins_ = std::move(bins);
  binned.labels_.assign(rows.labels().begin(), rows.labels().end());
  for (const double target : rows.targets()) {
    binned.targets_.push_back(StepsOf(target, *rows.schema().target()));
  }
  return binned;
}

BinnedRows BinnedRows::Select(absl::Span<const uint32_t> positions) const {
  BinnedRows selected;
  selected.bins_ = bins_;
  for (const std::vector<uint16_t>& column : columns_) {
    selected.columns_.push_back(At(column, positions));
  }
  selected.labels_ = At(labels_, positions);
  selected.targets_ = At(targets_, positions);
  selected.num_classes_ = num_classes_;
  selected.num_rows_ = positions.size();
  return selected;
}

}  // namespace coppice::trainers
