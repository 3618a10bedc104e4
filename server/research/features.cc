#include "server/research/features.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "common/base/status.h"

namespace coppice::research {

Status CheckTwoClasses(const Schema& schema) {
  if (schema.num_classes() == 2) return OkStatus();
  return InvalidArgumentError("this method is for two classes");
}

Neighbourhoods FindNearest(const Points& labelled, const Points& points, size_t count) {
  Neighbourhoods result;
  std::vector<size_t> times(labelled.size());
  std::vector<std::pair<double, uint32_t>> distances(labelled.size());
  for (size_t i = 0; i < points.size(); ++i) {
    const absl::Span<const double> at = points.of(i);
    for (size_t j = 0; j < labelled.size(); ++j) {
      const absl::Span<const double> x = labelled.of(j);
      double squares = 0;
      for (size_t d = 0; d < x.size(); ++d) squares += (x[d] - at[d]) * (x[d] - at[d]);
      distances[j] = {squares, static_cast<uint32_t>(j)};
    }
    const auto end = distances.begin() + static_cast<std::ptrdiff_t>(count);
    std::nth_element(distances.begin(), end - 1, distances.end());
    std::vector<uint32_t>& nearest = result.nearest.emplace_back();
    for (auto it = distances.begin(); it != end; ++it) nearest.push_back(it->second);
    for (const uint32_t row : nearest) {
      result.most_neighboured = std::max(result.most_neighboured, ++times[row]);
    }
  }
  return result;
}

Scaling::Scaling(const Table& public_rows) {
  const auto& features = public_rows.schema().features();
  for (size_t f = 0; f < features.size(); ++f) {
    double min = std::numeric_limits<double>::infinity(), max = -min;
    for (const double value : public_rows.column(f)) {
      if (IsMissing(value)) continue;
      min = std::min(min, value);
      max = std::max(max, value);
    }
    const bool all_missing = min > max;
    min_.push_back(all_missing ? features[f].min : min);
    max_.push_back(all_missing ? features[f].max : max);
  }
}

double Scaling::Place(size_t feature, double value) const {
  const double min = min_[feature], max = max_[feature];
  if (IsMissing(value) || !(max > min)) return 0.5;
  return std::clamp((value - min) / (max - min), 0.0, 1.0);
}

Points Scaling::Scale(const Table& rows) const {
  const auto& features = rows.schema().features();
  Points points;
  for (const Feature& feature : features) {
    points.dimension += feature.type == FeatureType::kNumeric ? 1 : feature.values.size();
  }
  points.values.reserve(rows.num_rows() * points.dimension);
  for (size_t i = 0; i < rows.num_rows(); ++i) {
    for (size_t f = 0; f < features.size(); ++f) {
      const double value = rows.value(i, f);
      if (features[f].type == FeatureType::kNumeric) {
        points.values.push_back(Place(f, value));
        continue;
      }
      for (size_t v = 0; v < features[f].values.size(); ++v) {
        points.values.push_back(value == static_cast<double>(v) ? 1 : 0);
      }
    }
  }
  return points;
}

Points Scaling::ScaleToBox(const Table& rows) const {
  const auto& features = rows.schema().features();
  Points points{.dimension = features.size(), .values = {}};
  points.values.reserve(rows.num_rows() * points.dimension);
  for (size_t i = 0; i < rows.num_rows(); ++i) {
    for (size_t f = 0; f < features.size(); ++f) {
      const double value = rows.value(i, f);
      const bool numeric = features[f].type == FeatureType::kNumeric;
      points.values.push_back(numeric            ? Place(f, value)
                              : IsMissing(value) ? 1
                                                 : value / features[f].other());
    }
  }
  return points;
}

}  // namespace coppice::research
