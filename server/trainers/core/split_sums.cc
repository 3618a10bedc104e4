#include "server/trainers/core/split_sums.h"

#include <cstdlib>

#include "server/trainers/core/split_scores.h"

namespace coppice::trainers {
namespace {

// The sums of one side; see the header.
using Sums = std::vector<int64_t>;

// Sums by bin, `width` numbers per bin.
struct Histogram {
  size_t width = 1;
  std::vector<int64_t> bins;
  Sums total;

  absl::Span<const int64_t> Bin(uint32_t bin) const {
    return absl::MakeConstSpan(bins).subspan(bin * width, width);
  }
};

void Add(absl::Span<const int64_t> more, Sums& sums) {
  for (size_t i = 0; i < sums.size(); ++i) sums[i] += more[i];
}

Histogram Count(const NodeRows& node, uint32_t feature) {
  Histogram histogram{.width = 1,
                      .bins = std::vector<int64_t>(node.all.bins()[feature].size()),
                      .total = {static_cast<int64_t>(node.rows.size())}};
  const BinColumn& column = node.all.column(feature);
  for (const uint32_t row : node.rows) ++histogram.bins[column[row]];
  return histogram;
}

Histogram SumByBin(const NodeRows& node, uint32_t feature) {
  const bool regression = node.all.regression();
  Histogram histogram;
  histogram.width = regression ? 3 : node.all.num_classes();
  histogram.bins.resize(node.all.bins()[feature].size() * histogram.width);
  const BinColumn& column = node.all.column(feature);
  for (const uint32_t row : node.rows) {
    int64_t* const sums = histogram.bins.data() + column[row] * histogram.width;
    if (regression) {
      const int64_t target = node.all.targets()[row];
      ++sums[0];
      sums[1] += target;
      sums[2] += target * target;
    } else if (const uint32_t label = node.all.labels()[row]; label != kUnlabelled) {
      ++sums[label];
    }
  }
  histogram.total.assign(histogram.width, 0);
  for (uint32_t bin = 0; bin < node.all.bins()[feature].size(); ++bin) {
    Add(histogram.Bin(bin), histogram.total);
  }
  return histogram;
}

// Calls `visit` with the sums left of each split. Cuts of one feature increase, so their sums grow.
template <typename Visit>
void ForEachSplit(const Histogram& histogram, absl::Span<const BinSplit> splits, Visit visit) {
  Sums up_to(histogram.width);
  uint32_t next = 0;
  for (const BinSplit& split : splits) {
    if (split.kind != SplitKind::kNumeric) {
      visit(histogram.Bin(split.bin));
      continue;
    }
    for (; next <= split.bin; ++next) Add(histogram.Bin(next), up_to);
    visit(absl::MakeConstSpan(up_to));
  }
}

int64_t TermOf(SplitScore score, absl::Span<const int64_t> sums) {
  switch (score) {
    case SplitScore::kMiscount:
      return MiscountTerm(sums);
    case SplitScore::kGini:
      return GiniTerm(sums);
    case SplitScore::kSquaredError:
      return SquaredErrorTerm(sums[0], sums[1], sums[2]);
  }
  return 0;
}

}  // namespace

uint64_t RangeOf(SplitScore score) {
  switch (score) {
    case SplitScore::kMiscount:
      return kMiscountRange;
    case SplitScore::kGini:
      return kGiniRange;
    case SplitScore::kSquaredError:
      return SquaredErrorRange(kTargetSteps);
  }
  return 0;  // every selection refuses 0
}

std::vector<int64_t> CountsLeft(const NodeRows& node, absl::Span<const BinSplit> splits) {
  std::vector<int64_t> counts;
  if (splits.empty()) return counts;
  counts.reserve(splits.size());
  ForEachSplit(Count(node, splits[0].feature), splits,
               [&](absl::Span<const int64_t> left) { counts.push_back(left[0]); });
  return counts;
}

std::vector<int64_t> MedianScores(const NodeRows& node, absl::Span<const BinSplit> splits) {
  std::vector<int64_t> scores = CountsLeft(node, splits);
  for (int64_t& score : scores) {
    score = -std::abs(2 * score - static_cast<int64_t>(node.rows.size()));
  }
  return scores;
}

std::vector<int64_t> ScoreSplits(const NodeRows& node, absl::Span<const BinSplit> splits,
                                 SplitScore score) {
  std::vector<int64_t> scores;
  if (splits.empty()) return scores;
  scores.reserve(splits.size());
  const Histogram histogram = SumByBin(node, splits[0].feature);
  Sums right(histogram.width);
  ForEachSplit(histogram, splits, [&](absl::Span<const int64_t> left) {
    for (size_t i = 0; i < right.size(); ++i) right[i] = histogram.total[i] - left[i];
    scores.push_back(TermOf(score, left) + TermOf(score, right));
  });
  return scores;
}

}  // namespace coppice::trainers
