#include "server/trainers/boosting/newton_tree.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"

namespace coppice::trainers {
namespace {

// Sums of a leaf's rows by bin are kept for the other side's sake, unless those of all leaves would
// take more than this many bytes.
constexpr size_t kMaxKeptBytes = size_t{256} << 20;
constexpr double kLeastGain = 1e-9;  // less is rounding

// The value half-way between two neighbours, above the lower one.
double CutBetween(double low, double high, bool whole) {
  const double middle = low + (high - low) / 2;
  const double cut = middle > low ? middle : high;
  return whole ? WholeCut(cut) : cut;
}

std::vector<double> QuantileCuts(absl::Span<const double> column, uint32_t most, bool whole) {
  std::vector<double> values;
  for (const double value : column) {
    if (!IsMissing(value)) values.push_back(value);
  }
  std::sort(values.begin(), values.end());
  std::vector<double> distinct = values;
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  std::vector<double> cuts;
  if (distinct.size() <= size_t{most} + 1) {
    for (size_t i = 1; i < distinct.size(); ++i) {
      cuts.push_back(CutBetween(distinct[i - 1], distinct[i], whole));
    }
    return cuts;
  }
  for (uint32_t q = 1; q <= most; ++q) {
    const double below = values[(values.size() - 1) * q / (most + 1)];
    const auto above = std::upper_bound(distinct.begin(), distinct.end(), below);
    if (above == distinct.end()) break;
    const double cut = CutBetween(below, *above, whole);
    if (cuts.empty() || cut > cuts.back()) cuts.push_back(cut);
  }
  return cuts;
}

bool IsLeft(const BinTree::Node& node, uint32_t bin, uint32_t missing) {
  switch (node.kind) {
    case SplitKind::kNumeric:
      return bin == missing ? node.missing_left : bin <= node.bin;
    case SplitKind::kCategory:
      return bin == node.bin;
    case SplitKind::kMissing:
      return bin == missing;
    case SplitKind::kLeaf:
      break;
  }
  return false;
}

// Sums over rows, side by side: their number, then gradient and curvature of each score.
using RowSums = std::vector<double>;

// Grows one tree.
class NewtonGrower {
 public:
  NewtonGrower(const BinnedRows& rows, std::vector<uint32_t> positions, const Slopes& slopes,
               const NewtonOptions& options)
      : rows_(rows),
        positions_(std::move(positions)),
        slopes_(slopes),
        width_(1 + 2 * slopes.count),
        options_(options) {
    size_t bins = 0;
    for (const FeatureBins& feature : rows.bins()) {
      offsets_.push_back(bins * width_);
      bins += feature.size();
    }
    sums_ = bins * width_;
    keeps_ = sums_ * sizeof(double) * options.most_leaves <= kMaxKeptBytes;
  }

  BinTree Grow() {
    tree_.nodes.emplace_back();
    std::vector<Leaf> leaves;
    leaves.push_back(
        Examined({.node = 0, .begin = 0, .end = static_cast<uint32_t>(positions_.size())}, {}));
    while (leaves.size() < options_.most_leaves) {
      const auto best = std::max_element(
          leaves.begin(), leaves.end(),
          [](const Leaf& a, const Leaf& b) { return a.split.gain < b.split.gain; });
      if (!(best->split.gain > kLeastGain)) break;
      Leaf parent = std::move(*best);
      auto [left, right] = Split(std::move(parent));
      *best = std::move(left);
      leaves.push_back(std::move(right));
    }
    for (const Leaf& leaf : leaves) SetValue(leaf);
    return std::move(tree_);
  }

 private:
  struct Leaf {
    uint32_t node = 0;
    uint32_t begin = 0, end = 0;  // in positions_
    RowSums total{};
    RowSums by_bin{};       // empty if they are not kept
    BinTree::Node split{};  // the best one; its gain is 0 if there is none

    uint32_t size() const { return end - begin; }
  };

  double GainOf(const double* sums) const {
    double gain = 0;
    for (size_t score = 0; score < slopes_.count; ++score) {
      const double gradient = sums[1 + 2 * score], curvature = sums[2 + 2 * score];
      gain += gradient * gradient / (curvature + options_.ridge);
    }
    return gain;
  }

  void SetValue(const Leaf& leaf) {
    std::vector<double>& value = tree_.nodes[leaf.node].value;
    for (size_t score = 0; score < slopes_.count; ++score) {
      value.push_back(options_.rate * leaf.total[1 + 2 * score] /
                      (leaf.total[2 + 2 * score] + options_.ridge));
    }
  }

  void AddRow(size_t row, double* to) const {
    const Slope* slope = slopes_.of(row);
    *to++ += 1;
    for (size_t score = 0; score < slopes_.count; ++score, ++slope) {
      *to++ += slope->gradient;
      *to++ += slope->curvature;
    }
  }

  RowSums SumsByBin(const Leaf& leaf) const {
    RowSums sums(sums_);
    for (size_t f = 0; f < rows_.num_features(); ++f) {
      const BinColumn& column = rows_.column(f);
      double* const of_feature = sums.data() + offsets_[f];
      for (uint32_t i = leaf.begin; i < leaf.end; ++i) {
        AddRow(positions_[i], of_feature + column[positions_[i]] * width_);
      }
    }
    return sums;
  }

  // A leaf with its sums and its best split. `by_bin` is empty if the rows must be passed over.
  Leaf Examined(Leaf leaf, RowSums by_bin) const {
    leaf.total.resize(width_);
    for (uint32_t i = leaf.begin; i < leaf.end; ++i) AddRow(positions_[i], leaf.total.data());
    if (leaf.size() < 2 * options_.least_rows) return leaf;
    leaf.by_bin = by_bin.empty() ? SumsByBin(leaf) : std::move(by_bin);
    const double whole = GainOf(leaf.total.data());
    for (uint32_t f = 0; f < rows_.num_features(); ++f) FindSplit(leaf, f, whole);
    if (!keeps_) leaf.by_bin.clear();
    return leaf;
  }

  // Takes the split whose left side has these sums if it is the best one yet.
  void Consider(const BinTree::Node& split, const RowSums& left, double whole, Leaf& leaf) const {
    const double least = options_.least_rows, size = leaf.total[0];
    if (left[0] < least || size - left[0] < least) return;
    RowSums& right = scratch_;
    right.resize(width_);
    for (size_t i = 0; i < width_; ++i) right[i] = leaf.total[i] - left[i];
    const double gain = GainOf(left.data()) + GainOf(right.data()) - whole;
    if (gain <= leaf.split.gain) return;
    leaf.split = split;
    leaf.split.gain = gain;
  }

  void FindSplit(Leaf& leaf, uint32_t feature, double whole) const {
    const FeatureBins& bins = rows_.bins()[feature];
    const double* const sums = leaf.by_bin.data() + offsets_[feature];
    const auto of_bin = [&](uint32_t bin) {
      return RowSums(sums + bin * width_, sums + (bin + 1) * width_);
    };
    const RowSums missing = of_bin(bins.missing());
    BinTree::Node split{.feature = feature};
    if (missing[0] > 0) {
      split.kind = SplitKind::kMissing;
      Consider(split, missing, whole, leaf);
    }
    if (bins.type == FeatureType::kCategorical) {
      split.kind = SplitKind::kCategory;
      for (split.bin = 0; split.bin < bins.ordinary(); ++split.bin) {
        if (sums[split.bin * width_] > 0) Consider(split, of_bin(split.bin), whole, leaf);
      }
      return;
    }
    split.kind = SplitKind::kNumeric;
    for (const bool missing_left : {false, true}) {
      if (missing_left && missing[0] == 0) break;
      split.missing_left = missing_left;
      RowSums left = missing_left ? missing : RowSums(width_);
      for (split.bin = 0; split.bin + 1 < bins.ordinary(); ++split.bin) {
        const double* const added = sums + split.bin * width_;
        if (added[0] == 0) continue;
        for (size_t i = 0; i < width_; ++i) left[i] += added[i];
        Consider(split, left, whole, leaf);
      }
    }
  }

  std::pair<Leaf, Leaf> Split(Leaf parent) {
    const auto at = static_cast<uint32_t>(tree_.nodes.size());
    BinTree::Node& node = tree_.nodes[parent.node];
    node = parent.split;
    node.left = at;
    const BinColumn& column = rows_.column(node.feature);
    const uint32_t missing = rows_.bins()[node.feature].missing();
    const auto first = positions_.begin();
    const auto middle = std::stable_partition(
        first + parent.begin, first + parent.end,
        [&](uint32_t row) { return IsLeft(parent.split, column[row], missing); });
    tree_.nodes.resize(at + 2);
    const auto border = static_cast<uint32_t>(middle - first);
    Leaf left{.node = at, .begin = parent.begin, .end = border};
    Leaf right{.node = at + 1, .begin = border, .end = parent.end};
    const bool left_is_less = left.size() < right.size();
    Leaf& less = left_is_less ? left : right;
    Leaf& more = left_is_less ? right : left;
    less = Examined(std::move(less), {});
    RowSums rest = std::move(parent.by_bin);
    if (!less.by_bin.empty() && !rest.empty()) {
      for (size_t i = 0; i < rest.size(); ++i) rest[i] -= less.by_bin[i];
    } else {
      rest.clear();
    }
    more = Examined(std::move(more), std::move(rest));
    return {std::move(left), std::move(right)};
  }

  const BinnedRows& rows_;
  std::vector<uint32_t> positions_;  // a leaf's rows stand together
  const Slopes slopes_;
  const size_t width_;  // of the sums of a bin
  const NewtonOptions options_;
  std::vector<size_t> offsets_;  // of a feature's sums
  size_t sums_ = 0;
  bool keeps_ = true;
  mutable RowSums scratch_;
  BinTree tree_;
};

// Makes nodes and leaves of a model's tree in preorder.
class Emitter {
 public:
  Emitter(const BinTree& tree, const std::vector<FeatureBins>& bins) : tree_(tree), bins_(bins) {}

  uint32_t Emit(uint32_t at) {
    const auto made = static_cast<uint32_t>(nodes_.size());
    const BinTree::Node& from = tree_.nodes[at];
    nodes_.push_back({.kind = from.kind,
                      .missing_left = from.missing_left,
                      .feature = from.feature,
                      .threshold = ThresholdOf(from)});
    if (from.kind == SplitKind::kLeaf) {
      values_.push_back(from.value);
      return made;
    }
    const uint32_t left = Emit(from.left);
    const uint32_t right = Emit(from.left + 1);
    nodes_[made].left = left;
    nodes_[made].right = right;
    return made;
  }

  StatusOr<NewtonTree> Take(const Schema& schema) && {
    COPPICE_ASSIGN_OR_RETURN(Tree tree, Tree::Create(std::move(nodes_), schema));
    return NewtonTree{.tree = std::move(tree), .values = std::move(values_)};
  }

 private:
  double ThresholdOf(const BinTree::Node& node) const {
    if (node.kind == SplitKind::kNumeric) return bins_[node.feature].cuts[node.bin];
    return node.kind == SplitKind::kCategory ? node.bin : 0;
  }

  const BinTree& tree_;
  const std::vector<FeatureBins>& bins_;
  std::vector<Node> nodes_;
  std::vector<std::vector<double>> values_;
};

}  // namespace

std::vector<FeatureBins> QuantileBins(const Table& rows, uint32_t most_cuts) {
  std::vector<FeatureBins> bins;
  for (size_t f = 0; f < rows.schema().num_features(); ++f) {
    const Feature& feature = rows.schema().features()[f];
    FeatureBins& added = bins.emplace_back();
    added.type = feature.type;
    if (feature.type == FeatureType::kNumeric) {
      added.cuts = QuantileCuts(rows.column(f), most_cuts, feature.integer);
    }
    added.known = static_cast<uint32_t>(
        feature.type == FeatureType::kNumeric ? added.cuts.size() + 1 : feature.values.size());
  }
  return bins;
}

const std::vector<double>& BinTree::ValueOf(const BinnedRows& rows, size_t row) const {
  uint32_t at = 0;
  while (nodes[at].kind != SplitKind::kLeaf) {
    const uint32_t feature = nodes[at].feature;
    const bool left = IsLeft(nodes[at], rows.column(feature)[row], rows.bins()[feature].missing());
    at = left ? nodes[at].left : nodes[at].left + 1;
  }
  return nodes[at].value;
}

StatusOr<NewtonTree> ToNewtonTree(const BinTree& tree, const Schema& schema,
                                  const std::vector<FeatureBins>& bins) {
  Emitter emitter(tree, bins);
  emitter.Emit(0);
  return std::move(emitter).Take(schema);
}

BinTree GrowNewtonTree(const BinnedRows& rows, std::vector<uint32_t> positions,
                       const Slopes& slopes, const NewtonOptions& options) {
  return NewtonGrower(rows, std::move(positions), slopes, options).Grow();
}

}  // namespace coppice::trainers
