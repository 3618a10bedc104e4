#include "server/curator/partition/split_search.h"

#include <cmath>
#include <numeric>
#include <utility>

#include "common/schema/cut_between.h"

namespace coppice::curator {
namespace {

// rows * impurity of `rows` rows whose class k has count(k) rows.
template <typename Count>
double WeightedImpurity(Criterion criterion, size_t classes, uint64_t rows, const Count& count) {
  if (rows == 0) return 0;
  const double n = static_cast<double>(rows);
  double sum = 0;
  if (criterion == Criterion::kGini) {
    for (size_t k = 0; k < classes; ++k) {
      const double c = static_cast<double>(count(k));
      sum += c * c;
    }
    return n - sum / n;
  }
  for (size_t k = 0; k < classes; ++k) {
    const double c = static_cast<double>(count(k));
    if (c > 0) sum -= c * std::log2(c / n);
  }
  return sum;
}

double WeightedImpurity(Criterion criterion, absl::Span<const uint64_t> counts) {
  return WeightedImpurity(criterion, counts.size(), TotalCount(counts),
                          [counts](size_t k) { return counts[k]; });
}

// Keeps the better of two, the earlier on a tie. Returns whether it took the candidate.
bool Improve(std::optional<Split>& best, std::optional<Split> candidate) {
  if (!candidate.has_value()) return false;
  if (best.has_value() && candidate->decrease <= best->decrease + kTie) return false;
  best = std::move(candidate);
  return true;
}

}  // namespace

uint64_t TotalCount(absl::Span<const uint64_t> counts) {
  return std::accumulate(counts.begin(), counts.end(), uint64_t{0});
}

double Impurity(Criterion criterion, absl::Span<const uint64_t> counts) {
  const uint64_t rows = TotalCount(counts);
  return rows == 0 ? 0 : WeightedImpurity(criterion, counts) / static_cast<double>(rows);
}

double ImpurityDecrease(Criterion criterion, absl::Span<const uint64_t> all,
                        absl::Span<const uint64_t> left) {
  const uint64_t rows = TotalCount(all);
  const double right = WeightedImpurity(criterion, all.size(), rows - TotalCount(left),
                                        [all, left](size_t k) { return all[k] - left[k]; });
  return (WeightedImpurity(criterion, all) - WeightedImpurity(criterion, left) - right) /
         static_cast<double>(rows);
}

SplitSearch::SplitSearch(const Table& rows, Criterion criterion, uint32_t min_leaf)
    : rows_(rows),
      criterion_(criterion),
      min_leaf_(min_leaf),
      all_(rows.schema().num_classes()),
      missing_(all_.size()),
      left_and_missing_(all_.size()) {}

void SplitSearch::SetCell(absl::Span<const uint32_t> cell) {
  cell_ = cell;
  all_.assign(all_.size(), 0);
  for (const uint32_t row : cell_) ++all_[rows_.label(row)];
}

void SplitSearch::CountMissing(uint32_t feature) {
  missing_.assign(missing_.size(), 0);
  const absl::Span<const double> column = rows_.column(feature);
  for (const uint32_t row : cell_) {
    if (IsMissing(column[row])) ++missing_[rows_.label(row)];
  }
  missing_rows_ = TotalCount(missing_);
}

bool SplitSearch::LeavesEnough(uint64_t left_rows) const {
  return left_rows >= min_leaf_ && cell_.size() - left_rows >= min_leaf_;
}

double SplitSearch::Decrease(absl::Span<const uint64_t> left) const {
  return ImpurityDecrease(criterion_, all_, left);
}

std::optional<Split> SplitSearch::Judge(SplitKind kind, uint32_t feature, double threshold,
                                        absl::Span<const uint64_t> left) {
  const uint64_t left_rows = TotalCount(left);
  const uint64_t right_rows = cell_.size() - left_rows - missing_rows_;
  Split split;
  split.node.kind = kind;
  split.node.feature = feature;
  split.node.threshold = threshold;
  split.node.missing_left = left_rows >= right_rows;
  // If a side had only missing values, this would really be a cut by missingness.
  if (left_rows == 0 || right_rows == 0) return std::nullopt;
  if (missing_rows_ == 0) {
    if (!LeavesEnough(left_rows)) return std::nullopt;
    split.decrease = Decrease(left);
    return split;
  }
  for (size_t k = 0; k < left.size(); ++k) left_and_missing_[k] = left[k] + missing_[k];
  const bool may_left = LeavesEnough(left_rows + missing_rows_);
  const bool may_right = LeavesEnough(left_rows);
  if (!may_left && !may_right) return std::nullopt;
  const double if_left = Decrease(left_and_missing_), if_right = Decrease(left);
  if (!may_left || !may_right) {
    split.node.missing_left = may_left;
  } else if (if_left > if_right + kTie || if_right > if_left + kTie) {
    split.node.missing_left = if_left > if_right;
  }
  split.decrease = split.node.missing_left ? if_left : if_right;
  return split;
}

std::optional<Split> SplitSearch::Missing(uint32_t feature) {
  CountMissing(feature);
  if (!LeavesEnough(missing_rows_)) return std::nullopt;
  Split split;
  split.node.kind = SplitKind::kMissing;
  split.node.feature = feature;
  split.decrease = Decrease(missing_);
  return split;
}

std::optional<Split> SplitSearch::Threshold(uint32_t feature, double threshold) {
  CountMissing(feature);
  ClassCounts left(all_.size(), 0);
  const absl::Span<const double> column = rows_.column(feature);
  for (const uint32_t row : cell_) {
    if (column[row] < threshold) ++left[rows_.label(row)];  // A missing value is not below.
  }
  return Judge(SplitKind::kNumeric, feature, threshold, left);
}

std::optional<Split> SplitSearch::BestThreshold(uint32_t feature,
                                                absl::Span<const uint32_t> sorted) {
  CountMissing(feature);
  ClassCounts left(all_.size(), 0);
  std::optional<Split> best;
  std::pair<double, double> winner;
  const absl::Span<const double> column = rows_.column(feature);
  const size_t present = sorted.size() - missing_rows_;
  for (size_t i = 0; i + 1 < present; ++i) {
    ++left[rows_.label(sorted[i])];
    const double value = column[sorted[i]], next = column[sorted[i + 1]];
    if (value == next) continue;
    // Only the winner is rounded, because rounding is slow.
    if (Improve(best, Judge(SplitKind::kNumeric, feature, next, left))) winner = {value, next};
  }
  if (best.has_value()) {
    best->node.threshold =
        CutBetween(rows_.schema().features()[feature], winner.first, winner.second);
  }
  return best;
}

ClassCounts SplitSearch::CountCategories(uint32_t feature) const {
  const size_t classes = all_.size();
  const size_t categories = rows_.schema().features()[feature].values.size() + 1;  // with "other"
  ClassCounts counts(categories * classes, 0);
  const absl::Span<const double> column = rows_.column(feature);
  for (const uint32_t row : cell_) {
    if (IsMissing(column[row])) continue;
    ++counts[static_cast<size_t>(column[row]) * classes + rows_.label(row)];
  }
  return counts;
}

std::optional<Split> SplitSearch::BestCategory(uint32_t feature) {
  CountMissing(feature);
  const ClassCounts counts = CountCategories(feature);
  const size_t classes = all_.size();
  std::optional<Split> best;
  for (size_t c = 0; c * classes < counts.size(); ++c) {
    Improve(best, Judge(SplitKind::kCategory, feature, static_cast<double>(c),
                        absl::MakeConstSpan(counts).subspan(c * classes, classes)));
  }
  return best;
}

std::optional<Split> SplitSearch::MostFrequentCategory(uint32_t feature) {
  CountMissing(feature);
  const ClassCounts counts = CountCategories(feature);
  const size_t classes = all_.size();
  std::optional<Split> best;
  uint64_t most = 0;
  for (size_t c = 0; c * classes < counts.size(); ++c) {
    const auto category = absl::MakeConstSpan(counts).subspan(c * classes, classes);
    const uint64_t rows = TotalCount(category);
    if (rows <= most) continue;
    std::optional<Split> split =
        Judge(SplitKind::kCategory, feature, static_cast<double>(c), category);
    if (!split.has_value()) continue;
    most = rows;
    best = std::move(split);
  }
  return best;
}

}  // namespace coppice::curator
