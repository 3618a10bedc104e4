#include "server/curator/estimation/labels/boosted_trees.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "server/curator/partition/find_leaves.h"

namespace coppice::curator {
namespace {

// The rows of a bin, then their sums by column, then those of curvatures, if there are any. A
// histogram holds one after another, by bin.
using BinTotals = std::vector<double>;

BinTotals Plus(const BinTotals& a, absl::Span<const double> b) {
  BinTotals sum = a;
  for (size_t i = 0; i < sum.size(); ++i) sum[i] += b[i];
  return sum;
}

BinTotals Minus(const BinTotals& a, const BinTotals& b) {
  BinTotals rest = a;
  for (size_t i = 0; i < rest.size(); ++i) rest[i] -= b[i];
  return rest;
}

// Where a leaf's curvature is next to nothing its step would leave what the curvature holds for.
constexpr double kMostNewtonStep = 1;

struct BoostSplit {
  double gain = 0;  // 0: there is no split
  Node node{};
  uint32_t bin = 0;  // numeric: the last bin on the left; else the only one
};

struct OpenLeaf {
  uint32_t node = 0;
  std::vector<uint32_t> rows{};
  std::vector<BinTotals> histograms{};  // by feature, bin after bin
  BinTotals total{};
  BoostSplit split{};
};

class BoostedTreeGrower {
 public:
  // `curvatures` may be null: each row has 1.
  BoostedTreeGrower(const RowBins& bins, const BoostOptions& options, const RowColumns& left,
                    const RowColumns* curvatures = nullptr)
      : bins_(bins),
        options_(options),
        left_(left),
        curvatures_(curvatures),
        columns_(left.size()),
        stride_(columns_ * (curvatures == nullptr ? 1 : 2) + 1) {}

  StatusOr<BoostedTree> Grow(std::vector<uint32_t> rows) {
    OpenLeaf root{.rows = std::move(rows)};
    root.histograms = HistogramsOf(root.rows);
    FindSplit(root);
    std::vector<OpenLeaf> open;
    open.push_back(std::move(root));
    nodes_.resize(1);
    while (open.size() < options_.leaves) {
      const auto best = std::max_element(
          open.begin(), open.end(),
          [](const OpenLeaf& a, const OpenLeaf& b) { return a.split.gain < b.split.gain; });
      if (best->split.gain <= 0) break;
      OpenLeaf parent = std::move(*best);
      open.erase(best);
      SplitInto(std::move(parent), open);
    }
    return Finish(open);
  }

 private:
  double Score(absl::Span<const double> totals) const {
    double score = 0;
    for (size_t k = 1; k <= columns_; ++k) score += totals[k] * totals[k] / Divisor(totals, k);
    return score;
  }

  double Divisor(absl::Span<const double> totals, size_t k) const {
    return (curvatures_ == nullptr ? totals[0] : totals[columns_ + k]) + options_.ridge;
  }

  std::vector<BinTotals> HistogramsOf(const std::vector<uint32_t>& rows) const {
    std::vector<BinTotals> histograms;
    for (size_t f = 0; f < bins_.features(); ++f) {
      BinTotals& totals = histograms.emplace_back(bins_.bins(f) * stride_);
      for (const uint32_t row : rows) {
        double* bin = &totals[bins_.bin(f, row) * stride_];
        bin[0] += 1;
        for (size_t k = 1; k <= columns_; ++k) bin[k] += left_[k - 1][row];
        if (curvatures_ == nullptr) continue;
        for (size_t k = 0; k < columns_; ++k) bin[columns_ + 1 + k] += (*curvatures_)[k][row];
      }
    }
    return histograms;
  }

  absl::Span<const double> BinOf(const OpenLeaf& leaf, size_t feature, uint32_t bin) const {
    return absl::MakeConstSpan(leaf.histograms[feature]).subspan(bin * stride_, stride_);
  }

  void Consider(OpenLeaf& leaf, const BinTotals& goes_left, const Node& node, uint32_t bin) const {
    const BinTotals goes_right = Minus(leaf.total, goes_left);
    if (goes_left[0] < options_.min_leaf || goes_right[0] < options_.min_leaf) return;
    const double gain = Score(goes_left) + Score(goes_right) - Score(leaf.total);
    if (gain > leaf.split.gain) leaf.split = {.gain = gain, .node = node, .bin = bin};
  }

  void FindSplit(OpenLeaf& leaf) const {
    leaf.total.assign(stride_, 0);
    for (uint32_t bin = 0; bin < bins_.bins(0); ++bin) {
      leaf.total = Plus(leaf.total, BinOf(leaf, 0, bin));
    }
    for (uint32_t f = 0; f < bins_.features(); ++f) {
      const uint32_t missing = bins_.bins(f) - 1;
      Consider(leaf, Plus(BinTotals(stride_), BinOf(leaf, f, missing)),
               {.kind = SplitKind::kMissing, .feature = f}, missing);
      if (bins_.rows().schema().features()[f].type == FeatureType::kNumeric) {
        SearchCuts(leaf, f);
      } else {
        SearchCategories(leaf, f);
      }
    }
  }

  void SearchCuts(OpenLeaf& leaf, uint32_t f) const {
    const absl::Span<const double> missing = BinOf(leaf, f, bins_.bins(f) - 1);
    BinTotals below(stride_);
    for (uint32_t bin = 0; bin < bins_.cuts(f).size(); ++bin) {
      below = Plus(below, BinOf(leaf, f, bin));
      Node node = {.kind = SplitKind::kNumeric, .feature = f, .threshold = bins_.cuts(f)[bin]};
      // Where no value is missing here, later missing values go with most rows.
      node.missing_left = missing[0] == 0 && 2 * below[0] >= leaf.total[0];
      Consider(leaf, below, node, bin);
      if (missing[0] == 0) continue;
      node.missing_left = true;
      Consider(leaf, Plus(below, missing), node, bin);
    }
  }

  void SearchCategories(OpenLeaf& leaf, uint32_t f) const {
    const size_t values = bins_.rows().schema().features()[f].values.size();
    for (uint32_t bin = 0; bin < values; ++bin) {
      Consider(leaf, Plus(BinTotals(stride_), BinOf(leaf, f, bin)),
               {.kind = SplitKind::kCategory, .feature = f, .threshold = static_cast<double>(bin)},
               bin);
    }
  }

  bool RowGoesLeft(const BoostSplit& split, uint32_t row) const {
    const uint32_t bin = bins_.bin(split.node.feature, row);
    if (bin + 1 == bins_.bins(split.node.feature)) {
      return split.node.kind == SplitKind::kMissing || split.node.missing_left;
    }
    return split.node.kind == SplitKind::kNumeric ? bin <= split.bin : bin == split.bin;
  }

  void SplitInto(OpenLeaf parent, std::vector<OpenLeaf>& open) {
    const auto middle =
        std::stable_partition(parent.rows.begin(), parent.rows.end(),
                              [&](uint32_t row) { return RowGoesLeft(parent.split, row); });
    OpenLeaf left{.node = static_cast<uint32_t>(nodes_.size()),
                  .rows = {parent.rows.begin(), middle}};
    OpenLeaf right{.node = left.node + 1, .rows = {middle, parent.rows.end()}};
    nodes_[parent.node] = parent.split.node;
    nodes_[parent.node].left = left.node;
    nodes_[parent.node].right = right.node;
    nodes_.resize(nodes_.size() + 2);
    OpenLeaf& small = left.rows.size() < right.rows.size() ? left : right;
    OpenLeaf& large = left.rows.size() < right.rows.size() ? right : left;
    small.histograms = HistogramsOf(small.rows);
    for (size_t f = 0; f < bins_.features(); ++f) {
      large.histograms.push_back(Minus(parent.histograms[f], small.histograms[f]));
    }
    FindSplit(left);
    FindSplit(right);
    open.push_back(std::move(left));
    open.push_back(std::move(right));
  }

  StatusOr<BoostedTree> Finish(const std::vector<OpenLeaf>& open) {
    std::vector<std::vector<double>> values(nodes_.size());
    for (const OpenLeaf& leaf : open) {
      for (size_t k = 1; k <= columns_; ++k) {
        const double value = options_.rate * leaf.total[k] / Divisor(leaf.total, k);
        values[leaf.node].push_back(
            curvatures_ == nullptr ? value : std::clamp(value, -kMostNewtonStep, kMostNewtonStep));
      }
    }
    BoostedTree result;
    std::vector<uint32_t> todo = {0};  // numbers the leaves from left to right
    while (!todo.empty()) {
      const Node& node = nodes_[todo.back()];
      if (node.kind == SplitKind::kLeaf) result.values.push_back(values[todo.back()]);
      todo.pop_back();
      if (node.kind != SplitKind::kLeaf) todo.insert(todo.end(), {node.right, node.left});
    }
    COPPICE_ASSIGN_OR_RETURN(result.tree, Tree::Create(std::move(nodes_), bins_.rows().schema()));
    return result;
  }

  const RowBins& bins_;
  const BoostOptions& options_;
  const RowColumns& left_;
  const RowColumns* const curvatures_;
  const size_t columns_;
  const size_t stride_;
  std::vector<Node> nodes_;
};

void TakeOff(const BoostedTree& grown, const Table& rows, RowColumns& left) {
  const std::vector<uint32_t> leaf_of = FindLeaves(grown.tree, rows);
  for (size_t k = 0; k < left.size(); ++k) {
    for (size_t i = 0; i < leaf_of.size(); ++i) left[k][i] -= grown.values[leaf_of[i]][k];
  }
}

// A tree of one leaf that holds the means.
BoostedTree MeanTree(absl::Span<const uint32_t> subset, const RowColumns& left) {
  BoostedTree mean;
  std::vector<double>& values = mean.values.emplace_back();
  for (const std::vector<double>& column : left) {
    double sum = 0;
    for (const uint32_t row : subset) sum += column[row];
    values.push_back(sum / static_cast<double>(subset.size()));
  }
  return mean;
}

}  // namespace

RowBins::RowBins(const Table& rows)
    : rows_(rows),
      bin_(rows.schema().num_features(), std::vector<uint32_t>(rows.num_rows())),
      bins_(bin_.size()),
      cuts_(bin_.size()) {
  for (size_t f = 0; f < bin_.size(); ++f) {
    if (rows.schema().features()[f].type == FeatureType::kNumeric) {
      SetNumeric(f);
    } else {
      SetCategories(f);
    }
  }
}

void RowBins::SetNumeric(size_t feature) {
  std::vector<double> values;
  for (const double value : rows_.column(feature)) {
    if (!IsMissing(value)) values.push_back(value);
  }
  std::sort(values.begin(), values.end());
  std::vector<double> distinct = values;
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  std::vector<double>& cuts = cuts_[feature];
  const bool few = distinct.size() <= kMaxBins;
  for (size_t i = 1; i < (few ? distinct.size() : kMaxBins); ++i) {
    const double above = few ? distinct[i] : values[i * values.size() / kMaxBins];
    const auto at = std::lower_bound(distinct.begin(), distinct.end(), above);
    if (at == distinct.begin()) continue;
    // Halves first, so that no sum overflows; rounding may reach the upper value, never the lower.
    const double cut = *(at - 1) / 2 + above / 2;
    const double between = cut > *(at - 1) ? cut : above;
    if (cuts.empty() || between > cuts.back()) cuts.push_back(between);
  }
  bins_[feature] = static_cast<uint32_t>(cuts.size()) + 2;
  for (size_t i = 0; i < rows_.num_rows(); ++i) {
    const double value = rows_.value(i, feature);
    const auto above = std::upper_bound(cuts.begin(), cuts.end(), value);
    bin_[feature][i] =
        IsMissing(value) ? bins_[feature] - 1 : static_cast<uint32_t>(above - cuts.begin());
  }
}

void RowBins::SetCategories(size_t feature) {
  const auto other = static_cast<uint32_t>(rows_.schema().features()[feature].other());
  bins_[feature] = other + 2;
  for (size_t i = 0; i < rows_.num_rows(); ++i) {
    const double value = rows_.value(i, feature);
    bin_[feature][i] = IsMissing(value) ? other + 1 : static_cast<uint32_t>(value);
  }
}

StatusOr<BoostedTree> GrowNewtonTree(const RowBins& bins, absl::Span<const uint32_t> subset,
                                     const BoostOptions& options, const RowColumns& gradients,
                                     const RowColumns& curvatures) {
  BoostedTreeGrower grower(bins, options, gradients, &curvatures);
  return grower.Grow({subset.begin(), subset.end()});
}

StatusOr<std::vector<BoostedTree>> Boost(const RowBins& bins, absl::Span<const uint32_t> subset,
                                         const BoostOptions& options, RowColumns& left,
                                         const CancelCheck& cancel) {
  std::vector<BoostedTree> trees;
  if (subset.empty()) return trees;
  trees.push_back(MeanTree(subset, left));
  TakeOff(trees.back(), bins.rows(), left);
  for (uint32_t round = 0; round < options.rounds; ++round) {
    COPPICE_RETURN_IF_ERROR(cancel());
    BoostedTreeGrower grower(bins, options, left);
    COPPICE_ASSIGN_OR_RETURN(BoostedTree grown, grower.Grow({subset.begin(), subset.end()}));
    if (grown.values.size() < 2) break;
    TakeOff(grown, bins.rows(), left);
    trees.push_back(std::move(grown));
  }
  if (trees.size() == 1) return trees;
  for (std::vector<double>& leaf : trees[1].values) {
    for (size_t k = 0; k < leaf.size(); ++k) leaf[k] += trees[0].values[0][k];
  }
  trees.erase(trees.begin());
  return trees;
}

}  // namespace coppice::curator
