#include "server/trainers/core/cell.h"

#include <algorithm>

namespace coppice::trainers {

Node BinSplit::ToNode(const std::vector<FeatureBins>& bins) const {
  const FeatureBins& of_feature = bins[feature];
  Node node{.kind = kind, .feature = feature};
  if (kind == SplitKind::kNumeric) node.threshold = of_feature.cuts[bin];
  if (kind == SplitKind::kCategory) node.threshold = bin;
  return node;
}

Cell::Part Cell::PartOf(uint32_t feature) const {
  for (const Part& part : parts_) {
    if (part.feature == feature) return part;
  }
  return {.feature = feature, .low = 0, .high = (*bins_)[feature].ordinary() - 1};
}

bool Cell::HasSplit(const Part& part) const {
  const FeatureBins& bins = (*bins_)[part.feature];
  if (!part.ordinary) return false;
  if (bins.type == FeatureType::kNumeric) return part.low < part.high;
  const auto known_gone = static_cast<uint32_t>(std::count_if(
      part.excluded.begin(), part.excluded.end(), [&](uint32_t bin) { return bin < bins.known; }));
  return part.low < part.high && bins.known - known_gone >= 2;
}

bool Cell::CanSplit(uint32_t feature) const { return HasSplit(PartOf(feature)); }

// A cell has split only a few of thousands of features: this removes those that are used up.
std::vector<uint32_t> Cell::SplittableFeatures() const {
  std::vector<uint32_t> features;
  features.reserve(bins_->size());
  for (uint32_t f = 0; f < bins_->size(); ++f) {
    if ((*bins_)[f].known >= 2) features.push_back(f);
  }
  for (const Part& part : parts_) {
    if (HasSplit(part)) continue;
    features.erase(std::lower_bound(features.begin(), features.end(), part.feature));
  }
  return features;
}

std::vector<BinSplit> Cell::Splits(uint32_t feature) const {
  const Part part = PartOf(feature);
  std::vector<BinSplit> splits;
  if (!HasSplit(part)) return splits;
  const FeatureBins& bins = (*bins_)[feature];
  if (bins.type == FeatureType::kNumeric) {
    for (uint32_t bin = part.low; bin < part.high; ++bin) {
      splits.push_back({SplitKind::kNumeric, feature, bin});
    }
  } else {
    for (uint32_t bin = 0; bin < bins.ordinary(); ++bin) {
      const bool gone =
          std::find(part.excluded.begin(), part.excluded.end(), bin) != part.excluded.end();
      if (!gone) splits.push_back({SplitKind::kCategory, feature, bin});
    }
  }
  if (part.missing) splits.push_back({SplitKind::kMissing, feature, bins.missing()});
  return splits;
}

Cell Cell::Left(const BinSplit& split) const {
  Part part = PartOf(split.feature);
  switch (split.kind) {
    case SplitKind::kNumeric:
      part.high = split.bin;
      part.missing = false;
      break;
    case SplitKind::kCategory:
      part.low = part.high = split.bin;
      part.missing = false;
      break;
    case SplitKind::kMissing:
      part.ordinary = false;
      break;
    case SplitKind::kLeaf:
      break;
  }
  return With(std::move(part));
}

Cell Cell::Right(const BinSplit& split) const {
  Part part = PartOf(split.feature);
  switch (split.kind) {
    case SplitKind::kNumeric:
      part.low = split.bin + 1;
      break;
    case SplitKind::kCategory:
      part.excluded.push_back(split.bin);
      break;
    case SplitKind::kMissing:
      part.missing = false;
      break;
    case SplitKind::kLeaf:
      break;
  }
  return With(std::move(part));
}

Cell Cell::With(Part part) const {
  Cell cell = *this;
  for (Part& old : cell.parts_) {
    if (old.feature != part.feature) continue;
    old = std::move(part);
    return cell;
  }
  cell.parts_.push_back(std::move(part));
  return cell;
}

}  // namespace coppice::trainers
