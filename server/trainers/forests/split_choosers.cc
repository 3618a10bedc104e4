#include "server/trainers/forests/split_choosers.h"

#include <algorithm>

#include "common/base/status.h"
#include "common/base/status_macros.h"

namespace coppice::trainers {
namespace {

// Draws up to `count` of the features that can be split, each subset with equal probability.
StatusOr<std::vector<uint32_t>> DrawFeatures(const Cell& cell, size_t count,
                                             PrivateReleaser& releaser) {
  std::vector<uint32_t> features = cell.SplittableFeatures();
  count = std::min(count, features.size());
  for (size_t i = 0; i < count; ++i) {
    COPPICE_ASSIGN_OR_RETURN(const uint64_t skip, releaser.Below(features.size() - i));
    std::swap(features[i], features[i + skip]);
  }
  features.resize(count);
  return features;
}

StatusOr<BinSplit> MedianOf(const NodeRows& node, uint32_t feature, const BudgetShare& share,
                            PrivateReleaser& releaser) {
  const std::vector<BinSplit> splits = node.cell.Splits(feature);
  COPPICE_ASSIGN_OR_RETURN(const size_t chosen,
                           releaser.Select(MedianScores(node, splits), share, kMedianRange));
  return splits[chosen];
}

StatusOr<std::optional<BinSplit>> MedianOfRandomFeature(const NodeRows& node,
                                                        const BudgetShare& share,
                                                        PrivateReleaser& releaser) {
  COPPICE_ASSIGN_OR_RETURN(const std::vector<uint32_t> features,
                           DrawFeatures(node.cell, 1, releaser));
  if (features.empty()) return std::nullopt;
  COPPICE_ASSIGN_OR_RETURN(const BinSplit split, MedianOf(node, features[0], share, releaser));
  return split;
}

bool OneClass(const NodeRows& node) {
  if (node.all.regression()) return false;
  const absl::Span<const uint32_t> labels = node.all.labels();
  return std::all_of(node.rows.begin(), node.rows.end(),
                     [&](uint32_t row) { return labels[row] == labels[node.rows[0]]; });
}

}  // namespace

StatusOr<std::optional<BinSplit>> MedianChooser::Choose(const NodeRows& node, uint32_t level) {
  return MedianOfRandomFeature(node, shares_[level], releaser_);
}

StatusOr<std::optional<BinSplit>> PublicMedianChooser::Choose(const NodeRows& node, uint32_t) {
  if (node.rows.size() <= min_leaf_) return std::nullopt;
  return MedianOfRandomFeature(node, BudgetShare::WithoutPrivacy(), releaser_);
}

StatusOr<std::optional<BinSplit>> BestMedianChooser::Choose(const NodeRows& node, uint32_t) {
  COPPICE_ASSIGN_OR_RETURN(const std::vector<uint32_t> features,
                           DrawFeatures(node.cell, options_.features, releaser_));
  if (features.empty()) return std::nullopt;
  std::vector<BinSplit> medians;
  for (const uint32_t feature : features) {
    COPPICE_ASSIGN_OR_RETURN(medians.emplace_back(),
                             MedianOf(node, feature, options_.median, releaser_));
  }
  if (options_.features == 1) return medians[0];
  std::vector<int64_t> scores;
  for (const BinSplit& split : medians) {
    scores.push_back(ScoreSplits(node, {split}, options_.score)[0]);
  }
  COPPICE_ASSIGN_OR_RETURN(const size_t chosen,
                           releaser_.Select(scores, options_.choice, RangeOf(options_.score)));
  return medians[chosen];
}

StatusOr<std::optional<BinSplit>> RandomChooser::Choose(const NodeRows& node, uint32_t) {
  COPPICE_ASSIGN_OR_RETURN(const std::vector<uint32_t> features,
                           DrawFeatures(node.cell, 1, releaser_));
  if (features.empty()) return std::nullopt;
  const std::vector<BinSplit> splits = node.cell.Splits(features[0]);
  COPPICE_ASSIGN_OR_RETURN(const uint64_t chosen, releaser_.Below(splits.size()));
  return splits[chosen];
}

StatusOr<std::optional<BinSplit>> GreedyChooser::Choose(const NodeRows& node, uint32_t) {
  if (!options_.share.is_private() && (node.rows.size() < options_.min_rows || OneClass(node))) {
    return std::nullopt;
  }
  const size_t count = options_.features == 0 ? node.all.num_features() : options_.features;
  COPPICE_ASSIGN_OR_RETURN(const std::vector<uint32_t> features,
                           DrawFeatures(node.cell, count, releaser_));
  if (features.empty()) return std::nullopt;
  std::vector<BinSplit> candidates;
  std::vector<int64_t> scores;
  for (const uint32_t feature : features) {
    std::vector<BinSplit> splits = node.cell.Splits(feature);
    if (options_.one_split) {
      COPPICE_ASSIGN_OR_RETURN(const uint64_t drawn, releaser_.Below(splits.size()));
      splits = {splits[drawn]};
    }
    const std::vector<int64_t> of_feature = ScoreSplits(node, splits, options_.score);
    candidates.insert(candidates.end(), splits.begin(), splits.end());
    scores.insert(scores.end(), of_feature.begin(), of_feature.end());
  }
  COPPICE_ASSIGN_OR_RETURN(const size_t chosen,
                           releaser_.Select(scores, options_.share, RangeOf(options_.score)));
  return candidates[chosen];
}

}  // namespace coppice::trainers
