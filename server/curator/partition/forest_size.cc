#include "server/curator/partition/forest_size.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "server/curator/partition/find_leaves.h"
#include "server/curator/partition/hybrid_grower.h"
#include "server/curator/partition/number_labels.h"

namespace coppice::curator {
namespace {

struct Size {
  uint32_t max_depth;
  uint32_t min_leaf;
};
constexpr std::array<Size, 7> kSizes = {{{kMaxDepth, 1},
                                         {kMaxDepth, 4},
                                         {kMaxDepth, 8},
                                         {kMaxDepth, 16},
                                         {kMaxDepth, 32},
                                         {5, 1},
                                         {5, 8}}};

constexpr uint32_t kOneTreeDepth = 8;
constexpr uint32_t kManyRowsTrees = 16;
constexpr uint32_t kManyRowsMinLeaf = 8;
constexpr uint32_t kManyRowsMaxLeaves = 128;

// Leaves grown by the widest spread hold one to two times their least number of rows.
constexpr double kSpreadLeafRows = 1.5;

uint32_t LeafRowsWithoutLabels(size_t rows, double expected_information) {
  const double leaves = std::max(0.38 * std::pow(expected_information, 0.4), 2.0);
  return static_cast<uint32_t>(
      std::max(std::round(static_cast<double>(rows) / (kSpreadLeafRows * leaves)), 1.0));
}

PartitionOptions Sized(PartitionOptions options, const Size& size) {
  options.max_depth = size.max_depth;
  options.min_leaf = size.min_leaf;
  return options;
}

// Shares of the outputs minus their mean: y[row * outputs + k].
std::vector<double> CentredLabels(const Table& rows) {
  const uint32_t outputs = rows.schema().num_outputs();
  std::vector<double> mean(outputs, 0);
  std::vector<double> y;
  y.reserve(rows.num_rows() * outputs);
  for (size_t i = 0; i < rows.num_rows(); ++i) {
    for (uint32_t k = 0; k < outputs; ++k) mean[k] += y.emplace_back(OutputShare(rows, i, k));
  }
  for (double& m : mean) m /= static_cast<double>(rows.num_rows());
  for (size_t at = 0; at < y.size(); ++at) y[at] -= mean[at % outputs];
  return y;
}

// Adds one tree's predictions for the rows outside its bag to `score`.
void AddOutOfBag(const BaggedTree& grown, const std::vector<uint32_t>& leaf_of,
                 const std::vector<double>& y, size_t classes, std::vector<double>& score) {
  std::vector<double> sum(grown.tree.num_leaves() * classes, 0);
  std::vector<double> rows(grown.tree.num_leaves(), 1);  // starts at one, which shrinks
  for (size_t i = 0; i < leaf_of.size(); ++i) {
    const double times = grown.drawn[i];
    rows[leaf_of[i]] += times;
    for (size_t k = 0; k < classes; ++k) {
      sum[leaf_of[i] * classes + k] += times * y[i * classes + k];
    }
  }
  for (size_t i = 0; i < leaf_of.size(); ++i) {
    if (grown.drawn[i] > 0) continue;
    for (size_t k = 0; k < classes; ++k) {
      score[i * classes + k] += sum[leaf_of[i] * classes + k] / rows[leaf_of[i]];
    }
  }
}

// A forest's out-of-bag prediction for each row: score[row * classes + k].
struct OutOfBag {
  std::vector<double> score;
  size_t leaves = 0;
};

StatusOr<OutOfBag> GrowOutOfBag(const HybridRows& hybrid, const Table& rows,
                                const std::vector<double>& y, const PartitionOptions& options,
                                const CancelCheck& cancel) {
  OutOfBag result{.score = std::vector<double>(y.size(), 0)};
  for (uint32_t t = 0; t < options.trees; ++t) {
    COPPICE_ASSIGN_OR_RETURN(const BaggedTree grown, GrowBaggedTree(hybrid, options, t, cancel));
    result.leaves += grown.tree.num_leaves();
    AddOutOfBag(grown, FindLeaves(grown.tree, rows), y, rows.schema().num_outputs(), result.score);
  }
  return result;
}

struct Trial {
  double correlation = 0;
  size_t leaves = 0;
};

StatusOr<Trial> TrySize(const HybridRows& hybrid, const Table& rows, const std::vector<double>& y,
                        const PartitionOptions& options, const CancelCheck& cancel) {
  COPPICE_ASSIGN_OR_RETURN(const OutOfBag unseen, GrowOutOfBag(hybrid, rows, y, options, cancel));
  const std::vector<double>& score = unseen.score;
  Trial trial{.correlation = 0, .leaves = unseen.leaves};
  double product = 0, of_score = 0, of_y = 0;
  for (size_t i = 0; i < y.size(); ++i) {
    product += score[i] * y[i];
    of_score += score[i] * score[i];
    of_y += y[i] * y[i];
  }
  if (of_score > 0 && of_y > 0) trial.correlation = product / std::sqrt(of_score * of_y);
  return trial;
}

}  // namespace

double ExpectedInformation(double reports, const Budget& epsilon) {
  // The better of one bit about the margin and one set about all cells of the largest size.
  const double e = std::exp(std::min(epsilon.epsilon(), 20.0));
  const double of_bit = (e + 1) * (e + 1) / ((e - 1) * (e - 1));
  const double of_set = 8 * e / ((e - 1) * (e - 1));
  // Sampling adds about a cell's share, whatever the mechanism.
  constexpr double kSampling = 0.05;
  return reports / (std::min(of_bit, of_set) + kSampling);
}

StatusOr<PartitionOptions> ChooseForestSize(const Table& public_rows, const PartitionOptions& base,
                                            double expected_information,
                                            const CancelCheck& cancel) {
  const size_t n = public_rows.num_rows();
  if (n == 0) return InvalidArgumentError("a partition needs at least one public row");
  PartitionOptions options = base;
  if (base.rule == SplitRule::kRandomCut) {
    // A fifth of the rows that an even leaf would have: an uneven cut may be the right one.
    const size_t least = n / (5 * size_t{std::max(options.max_leaves, 1u)});
    return Sized(options, {kMaxDepth, static_cast<uint32_t>(std::max<size_t>(least, 1))});
  }
  options.rule = SplitRule::kHybrid;
  options.criterion = Criterion::kEntropy;
  options.max_leaves = 0;
  if (n > kManyPublicRows) {
    options.trees = std::min(options.trees, kManyRowsTrees);
    options.max_leaves = kManyRowsMaxLeaves;
  }
  if (!options.use_labels) {
    return Sized(options, {kMaxDepth, LeafRowsWithoutLabels(n, expected_information)});
  }
  if (n > kManyPublicRows) return Sized(options, {kMaxDepth, kManyRowsMinLeaf});
  if (options.trees == 1) {
    const double least = std::max(std::sqrt(static_cast<double>(n)) / 4, 2.0);
    return Sized(options, {kOneTreeDepth, static_cast<uint32_t>(least)});
  }
  const HybridRows hybrid(public_rows, /*use_labels=*/true);
  const std::vector<double> y = CentredLabels(public_rows);
  std::vector<Size> sizes;
  std::vector<Trial> trials;
  double best = -1;
  for (const Size& size : kSizes) {
    if (size.min_leaf > 1 && size_t{4} * size.min_leaf > n) continue;
    sizes.push_back(size);
    COPPICE_ASSIGN_OR_RETURN(trials.emplace_back(),
                             TrySize(hybrid, public_rows, y, Sized(options, size), cancel));
    best = std::max(best, trials.back().correlation);
  }
  const double tolerance = 0.5 * (1 - best * best) / std::sqrt(static_cast<double>(n));
  size_t chosen = 0, most = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (trials[i].correlation < best - tolerance || trials[i].leaves <= most) continue;
    chosen = i;
    most = trials[i].leaves;
  }
  return Sized(options, sizes[chosen]);
}

}  // namespace coppice::curator
