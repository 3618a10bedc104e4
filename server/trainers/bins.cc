#include "server/trainers/bins.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"

namespace coppice {
namespace {

// Of the cuts of a feature, so many of each eight halve distances.
constexpr uint32_t kHalvingOfEight = 1;
constexpr int kMostHalvings = 16;

std::vector<double> CutsOf(const Feature& feature, uint32_t most) {
  const double low = feature.min, span = feature.max - feature.min;
  std::vector<double> cuts;
  if (!(span > 0) || most == 0) return cuts;
  const double zero = low < 0 && feature.max > 0 ? 0 : low;
  const uint32_t sides = zero > low ? 2 : 1;
  const auto halvings =
      static_cast<uint32_t>(std::min<uint32_t>(most * kHalvingOfEight / 8 / sides, kMostHalvings));
  for (uint32_t k = 1; k <= halvings; ++k) {
    cuts.push_back(zero + std::ldexp(feature.max - zero, -static_cast<int>(k)));
    if (sides == 2) cuts.push_back(zero - std::ldexp(zero - low, -static_cast<int>(k)));
  }
  const uint32_t even = most - sides * halvings;
  for (uint32_t i = 1; i <= even; ++i) cuts.push_back(low + span * i / (even + 1));
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  std::erase_if(cuts, [&](double cut) { return !(cut > low && cut <= feature.max); });
  return cuts;
}

// How many of `cuts` are at most `value`.
uint16_t BinOf(const std::vector<double>& cuts, double value) {
  return static_cast<uint16_t>(std::upper_bound(cuts.begin(), cuts.end(), value) - cuts.begin());
}

std::vector<uint16_t> BinColumn(absl::Span<const double> values, const FeatureBins& bins) {
  const auto missing = static_cast<uint16_t>(bins.missing());
  std::vector<uint16_t> column(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    column[i] = IsMissing(values[i])                     ? missing
                : bins.type == FeatureType::kCategorical ? static_cast<uint16_t>(values[i])
                                                         : BinOf(bins.cuts, values[i]);
  }
  return column;
}

uint32_t StepsOf(double value, const Target& target) {
  const double share = std::clamp((value - target.min) / target.span(), 0.0, 1.0);
  return static_cast<uint32_t>(std::lround(share * kTargetSteps));
}

}  // namespace

absl::StatusOr<std::vector<FeatureBins>> PublicBins(const Schema& schema, uint32_t cuts) {
  std::vector<FeatureBins> bins;
  bins.reserve(schema.num_features());
  for (const Feature& feature : schema.features()) {
    FeatureBins& added = bins.emplace_back();
    added.type = feature.type;
    if (feature.type == FeatureType::kNumeric) added.cuts = CutsOf(feature, cuts);
    added.known = static_cast<uint32_t>(
        feature.type == FeatureType::kNumeric ? added.cuts.size() + 1 : feature.values.size());
    if (added.size() > kMaxBins) {
      return absl::InvalidArgumentError(absl::StrCat("feature \"", feature.name, "\" has ",
                                                     feature.values.size(), " values; at most ",
                                                     kMaxBins - 2, " can be trained on"));
    }
  }
  return bins;
}

absl::StatusOr<BinnedRows> BinnedRows::Create(const Table& rows, std::vector<FeatureBins> bins) {
  BinnedRows binned;
  binned.num_rows_ = rows.num_rows();
  binned.num_classes_ = rows.schema().num_classes();
  for (size_t f = 0; f < bins.size(); ++f) {
    binned.columns_.push_back(BinColumn(rows.column(f), bins[f]));
  }
  binned.bins_ = std::move(bins);
  binned.labels_.assign(rows.labels().begin(), rows.labels().end());
  for (const double target : rows.targets()) {
    binned.targets_.push_back(StepsOf(target, *rows.schema().target()));
  }
  return binned;
}

}  // namespace coppice
