#include "server/trainers/dpboost/gradient_tree.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "server/trainers/core/noise_of_sums.h"

namespace coppice::trainers {
namespace {

// The rows [begin, end) of the tree's rows, in their current order.
struct Range {
  size_t begin = 0, end = 0;
  size_t size() const { return end - begin; }
};

class GradientTreeGrower {
 public:
  GradientTreeGrower(const BinnedRows& all, HistogramBuilder& histograms, RowResiduals seen,
                     const GradientTreeOptions& options, PrivateReleaser& releaser)
      : all_(all),
        seen_(std::move(seen)),
        options_(options),
        releaser_(releaser),
        builder_(histograms),
        row_scratch_(seen_.rows.size()),
        value_scratch_(seen_.rows.size()) {}

  Status Grow() {
    const Range everything{.begin = 0, .end = seen_.rows.size()};
    std::optional<Histogram> histogram;
    if (options_.depth > 0) histogram = Build(everything);
    return GrowNode(Cell(all_.bins()), everything, 0, std::move(histogram)).status();
  }

  StatusOr<GradientTree> Finish(const Schema& schema) && {
    COPPICE_ASSIGN_OR_RETURN(Tree tree, Tree::Create(std::move(nodes_), schema));
    begin_.push_back(seen_.rows.size());
    return GradientTree{.grown = {.tree = std::move(tree),
                                  .rows = std::move(seen_.rows),
                                  .begin = std::move(begin_)},
                        .residuals = std::move(seen_.values)};
  }

 private:
  struct Children {
    std::optional<Histogram> left{}, right{};
  };

  // Returns the new node's position. `histogram` is that of the node's rows, unless it is a leaf.
  StatusOr<uint32_t> GrowNode(const Cell& cell, Range rows, uint32_t level,
                              std::optional<Histogram> histogram) {
    const auto node = static_cast<uint32_t>(nodes_.size());
    nodes_.emplace_back();
    std::optional<BinSplit> split;
    if (level < options_.depth) {
      COPPICE_ASSIGN_OR_RETURN(split, Choose(cell, *histogram));
    }
    if (!split) {
      begin_.push_back(rows.begin);
      return node;
    }
    const size_t middle = Divide(rows, *split);
    const Range left{.begin = rows.begin, .end = middle}, right{.begin = middle, .end = rows.end};
    Children children;
    if (level + 1 < options_.depth) children = HistogramsOf(left, right, std::move(*histogram));
    histogram.reset();
    nodes_[node] = split->ToNode(all_.bins());
    COPPICE_ASSIGN_OR_RETURN(const uint32_t of_left, GrowNode(cell.Left(*split), left, level + 1,
                                                              std::move(children.left)));
    COPPICE_ASSIGN_OR_RETURN(const uint32_t of_right, GrowNode(cell.Right(*split), right, level + 1,
                                                               std::move(children.right)));
    nodes_[node].left = of_left;
    nodes_[node].right = of_right;
    return node;
  }

  Histogram Build(Range range) {
    ResidualSpans residuals;
    for (const std::vector<int32_t>& values : seen_.values) {
      residuals.push_back(absl::MakeConstSpan(values).subspan(range.begin, range.size()));
    }
    return builder_.Build(absl::MakeConstSpan(seen_.rows).subspan(range.begin, range.size()),
                          residuals);
  }

  // Counts only the rows of the smaller child, to save time.
  Children HistogramsOf(Range left, Range right, Histogram parent) {
    const bool left_is_smaller = left.size() <= right.size();
    Histogram smaller = Build(left_is_smaller ? left : right);
    parent.Subtract(smaller);
    if (left_is_smaller) return {.left = std::move(smaller), .right = std::move(parent)};
    return {.left = std::move(parent), .right = std::move(smaller)};
  }

  // Unset: no split is left in the cell.
  StatusOr<std::optional<BinSplit>> Choose(const Cell& cell, const Histogram& histogram) {
    candidates_.clear();
    scores_.clear();
    for (const uint32_t feature : cell.SplittableFeatures()) {
      const std::vector<BinSplit> splits = cell.Splits(feature);
      candidates_.insert(candidates_.end(), splits.begin(), splits.end());
      ScoreSplits(splits, histogram, feature);
    }
    if (candidates_.empty()) return std::nullopt;
    COPPICE_ASSIGN_OR_RETURN(const size_t chosen,
                             releaser_.Select(scores_, options_.split, kGainRange));
    return candidates_[chosen];
  }

  // `splits` must be of one feature, with numeric ones in the order of their bins.
  void ScoreSplits(absl::Span<const BinSplit> splits, const Histogram& histogram,
                   uint32_t feature) {
    const size_t begin = builder_.begin(feature), bins = all_.bins()[feature].size();
    const absl::Span<const int64_t> counts =
        absl::MakeConstSpan(histogram.counts).subspan(begin, bins);
    left_.assign(histogram.sums.size(), 0);
    total_.assign(histogram.sums.size(), 0);
    right_.resize(histogram.sums.size());
    for (size_t k = 0; k < total_.size(); ++k) {
      const int64_t* const sums = &histogram.sums[k][begin];
      total_[k] = std::accumulate(sums, sums + bins, int64_t{0});
    }
    const int64_t count = std::accumulate(counts.begin(), counts.end(), int64_t{0});
    int64_t left_count = 0;
    size_t next = 0;  // of the bins that are added up in left_
    for (const BinSplit& split : splits) {
      if (split.kind != SplitKind::kNumeric) {  // one bin alone, with no run of bins after it
        left_.assign(left_.size(), 0);
        left_count = 0;
        next = split.bin;
      } else if (next > 0 && next == split.bin && counts[next] == 0) {
        // Both sides have the same rows as before, so this only saves time.
        scores_.push_back(scores_.back());
        ++next;
        continue;
      }
      for (; next <= split.bin; ++next) {
        left_count += counts[next];
        for (size_t k = 0; k < left_.size(); ++k) left_[k] += histogram.sums[k][begin + next];
      }
      for (size_t k = 0; k < left_.size(); ++k) right_[k] = total_[k] - left_[k];
      scores_.push_back(GainOf(left_count, left_) + GainOf(count - left_count, right_));
    }
  }

  int64_t GainOf(int64_t count, const std::vector<int64_t>& sums) const {
    return sums.size() == 1 ? GainTerm(count, sums[0], options_.lambda)
                            : GainTerm(count, sums, options_.squared_norm, options_.lambda);
  }

  // Moves the rows that go left to the front, in order; returns where the others begin.
  size_t Divide(Range range, const BinSplit& split) {
    const BinColumn& column = all_.column(split.feature);
    goes_left_.resize(range.size());
    // Both kinds of splits are runs of bins, so one comparison decides.
    const uint32_t first = split.kind == SplitKind::kNumeric ? 0 : split.bin;
    const uint32_t reach = split.bin - first;
    const uint32_t* const rows = seen_.rows.data() + range.begin;
    for (size_t i = 0; i < range.size(); ++i) {
      goes_left_[i] = column[rows[i]] - first <= reach ? 1 : 0;
    }
    for (std::vector<int32_t>& values : seen_.values) Reorder(range, values, value_scratch_);
    return Reorder(range, seen_.rows, row_scratch_);
  }

  template <typename T>
  size_t Reorder(Range range, std::vector<T>& values, std::vector<T>& scratch) const {
    size_t left = range.begin, right = 0;
    for (size_t i = 0; i < range.size(); ++i) {
      const T value = values[range.begin + i];
      values[left] = value;
      scratch[right] = value;
      left += goes_left_[i];
      right += 1u - goes_left_[i];
    }
    std::copy_n(scratch.begin(), right, values.begin() + static_cast<std::ptrdiff_t>(left));
    return left;
  }

  const BinnedRows& all_;
  RowResiduals seen_;
  const GradientTreeOptions& options_;
  PrivateReleaser& releaser_;
  HistogramBuilder& builder_;
  std::vector<uint32_t> row_scratch_;
  std::vector<int32_t> value_scratch_;
  std::vector<uint8_t> goes_left_;
  std::vector<BinSplit> candidates_;
  std::vector<int64_t> scores_;
  std::vector<int64_t> total_, left_, right_;  // of a split's rows
  std::vector<Node> nodes_;
  std::vector<size_t> begin_;  // of each leaf's rows
};

constexpr auto kGradientUnit = static_cast<double>(kResidualSteps);

// The number of records, and their residuals' sums in units of g*.
struct Leaf {
  double count = 0;
  std::vector<double> sums;
};

Leaf Decode(absl::Span<const int64_t> released, size_t outputs) {
  Leaf leaf;
  if (outputs == 1) {
    const auto plus = static_cast<double>(released[0]), minus = static_cast<double>(released[1]);
    leaf.count = (plus + minus) / (2 * kGradientUnit);
    leaf.sums = {(plus - minus) / (2 * kGradientUnit)};
    return leaf;
  }
  leaf.count = static_cast<double>(released[outputs]) / kGradientUnit;
  for (size_t k = 0; k < outputs; ++k) {
    leaf.sums.push_back(static_cast<double>(released[k]) / kGradientUnit);
  }
  return leaf;
}

std::vector<double> ValuesOf(absl::Span<const int64_t> released, size_t outputs,
                             const GradientLeafOptions& options) {
  const Leaf leaf = Decode(released, outputs);
  const double lambda = static_cast<double>(options.lambda.numerator) / options.lambda.denominator;
  const double rows = std::max(leaf.count, 0.0) + lambda;
  std::vector<double> values;
  for (const double sum : leaf.sums) {
    values.push_back(rows > 0 ? std::clamp(sum / rows, -options.clip, options.clip) : 0);
  }
  return values;
}

// A value is clamped to [-clip, clip]: if a leaf's rows are few next to the noise, it is one end or
// the other whatever the sums were, and draws around the released sums favour the end that was
// released. So this removes the shift that draws show, and also counts it as an error.
std::vector<OutputNoise> NoiseOfValues(
    const Measurement& released, absl::Span<const double> values,
    const std::function<std::vector<double>(const Measurement&)>& values_of) {
  const double weight = values.size() == 1 ? 4 : 8;  // of the squared shift
  std::vector<OutputNoise> noise = NoiseBySimulation(released, values, values_of);
  for (OutputNoise& of_value : noise) {
    of_value.variance += weight * of_value.mean * of_value.mean;
    of_value.mean = -of_value.mean;
  }
  return noise;
}

}  // namespace

StatusOr<GradientTree> GrowGradientTree(const Schema& schema, const BinnedRows& all,
                                        HistogramBuilder& histograms, RowResiduals seen,
                                        const GradientTreeOptions& options,
                                        PrivateReleaser& releaser) {
  GradientTreeGrower grower(all, histograms, std::move(seen), options, releaser);
  COPPICE_RETURN_IF_ERROR(grower.Grow());
  return std::move(grower).Finish(schema);
}

std::vector<std::vector<int64_t>> GradientLeafSums(const GradientTree& tree) {
  const size_t outputs = tree.residuals.size();
  std::vector<std::vector<int64_t>> leaves;
  for (size_t leaf = 0; leaf + 1 < tree.grown.begin.size(); ++leaf) {
    const size_t begin = tree.grown.begin[leaf], end = tree.grown.begin[leaf + 1];
    const int64_t count = static_cast<int64_t>(end - begin) * kResidualSteps;
    std::vector<int64_t> sums;
    for (const std::vector<int32_t>& residuals : tree.residuals) {
      int64_t sum = 0;
      for (size_t i = begin; i < end; ++i) sum += residuals[i];
      sums.push_back(sum);
    }
    if (outputs == 1) {
      leaves.push_back({count + sums[0], count - sums[0]});
    } else {
      sums.push_back(count);
      leaves.push_back(std::move(sums));
    }
  }
  return leaves;
}

StatusOr<std::vector<GradientLeaf>> ReleaseGradientLeaves(const GradientTree& tree,
                                                          const GradientLeafOptions& options,
                                                          PrivateReleaser& releaser) {
  const size_t outputs = tree.residuals.size();
  const Sensitivity sensitivity{.l1 = GradientLeafSensitivity(outputs)};
  std::vector<GradientLeaf> leaves;
  for (const std::vector<int64_t>& sums : GradientLeafSums(tree)) {
    COPPICE_ASSIGN_OR_RETURN(const Measurement released,
                             releaser.Measure(sums, sensitivity, options.share));
    GradientLeaf& leaf =
        leaves.emplace_back(GradientLeaf{.values = ValuesOf(released.sums, outputs, options)});
    const auto values = [&](const Measurement& measured) {
      return ValuesOf(measured.sums, outputs, options);
    };
    leaf.noise = releaser.NoiseOf(released, values,
                                  [&] { return NoiseOfValues(released, leaf.values, values); });
  }
  return leaves;
}

}  // namespace coppice::trainers
