#include "server/trainers/boost_scores.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>

namespace coppice {
namespace {

// A split into all of more categories is a longer row of questions than a tree may have
// (kMaxModelDepth).
constexpr uint32_t kMostCategories = 64;

// Rows at a time: their nodes and residuals stay in the cache while column after column is added.
constexpr size_t kBlock = 8192;
// Sums of so many columns at a time, or memory would grow with the square of a wide table.
constexpr size_t kMostSums = size_t{1} << 20;

// The sums of one column: sums[(output * nodes + node) * bins + bin].
struct ColumnSums {
  uint32_t column = 0;
  size_t bins = 0;
  std::vector<int64_t> sums{};
};

void AddRows(const uint16_t* bin_of, const uint32_t* node_of, const int32_t* residuals, size_t rows,
             size_t bins, int64_t* sums) {
  for (size_t i = 0; i < rows; ++i) sums[node_of[i] * bins + bin_of[i]] += residuals[i];
}

void SumByBin(const BinnedRows& rows, const Residuals& residuals,
              absl::Span<const uint32_t> node_of, size_t nodes, std::vector<ColumnSums>& columns) {
  for (ColumnSums& column : columns) {
    column.bins = rows.bins()[column.column].size();
    column.sums.assign(residuals.size() * nodes * column.bins, 0);
  }
  for (size_t first = 0; first < node_of.size(); first += kBlock) {
    const size_t count = std::min(kBlock, node_of.size() - first);
    for (ColumnSums& column : columns) {
      for (size_t output = 0; output < residuals.size(); ++output) {
        AddRows(&rows.column(column.column)[first], &node_of[first], &residuals[output][first],
                count, column.bins, &column.sums[output * nodes * column.bins]);
      }
    }
  }
}

// Every category by itself; the last two bins, other values and missing ones, are one child.
int64_t ScoreApart(absl::Span<const int64_t> by_bin) {
  int64_t score = 0;
  for (const int64_t sum : by_bin.first(by_bin.size() - 2)) score += std::abs(sum);
  return score + std::abs(by_bin[by_bin.size() - 2] + by_bin[by_bin.size() - 1]);
}

// Adds to the scores of a column's candidates at one node what one output, whose sums by bin these
// are, brings.
void AddOutput(absl::Span<const SplitCandidate> candidates, absl::Span<const int64_t> by_bin,
               int64_t* scores) {
  const int64_t total = std::accumulate(by_bin.begin(), by_bin.end(), int64_t{0});
  int64_t up_to = 0;
  for (size_t i = 0; i < candidates.size(); ++i) {
    const SplitCandidate& candidate = candidates[i];
    if (candidate.multiway) {
      scores[i] += ScoreApart(by_bin);
      continue;
    }
    int64_t left = by_bin[candidate.bin];
    if (candidate.kind == SplitKind::kNumeric) left = up_to += left;
    scores[i] += std::abs(left) + std::abs(total - left);
  }
}

}  // namespace

std::vector<SplitCandidate> SplitCandidates(const std::vector<FeatureBins>& bins, bool multiway) {
  std::vector<SplitCandidate> candidates;
  for (uint32_t c = 0; c < bins.size(); ++c) {
    const bool numeric = bins[c].type == FeatureType::kNumeric;
    for (uint32_t b = 0; b + (numeric ? 1 : 0) < bins[c].ordinary(); ++b) {
      candidates.push_back({numeric ? SplitKind::kNumeric : SplitKind::kCategory, c, b});
    }
    candidates.push_back({SplitKind::kMissing, c, bins[c].missing()});
    if (multiway && !numeric && bins[c].known > 1 && bins[c].known <= kMostCategories) {
      candidates.push_back({SplitKind::kCategory, c, 0, true});
    }
  }
  return candidates;
}

std::vector<int64_t> ScoreSplits(const BinnedRows& rows, const Residuals& residuals,
                                 absl::Span<const uint32_t> node_of, size_t nodes,
                                 absl::Span<const SplitCandidate> candidates,
                                 double multiway_reduction) {
  std::vector<int64_t> scores(nodes * candidates.size());
  std::vector<ColumnSums> columns;
  for (size_t first = 0, begin = 0; first < candidates.size(); first = begin) {
    // The columns of this round, and their candidates [first, begin).
    columns.clear();
    for (size_t sums = 0; begin < candidates.size() && (columns.empty() || sums < kMostSums);) {
      columns.push_back({.column = candidates[begin].column});
      sums += residuals.size() * nodes * rows.bins()[candidates[begin].column].size();
      while (begin < candidates.size() && candidates[begin].column == columns.back().column)
        ++begin;
    }
    SumByBin(rows, residuals, node_of, nodes, columns);
    size_t at = first;
    for (const ColumnSums& column : columns) {
      size_t end = at;
      while (end < begin && candidates[end].column == column.column) ++end;
      const auto of_column = candidates.subspan(at, end - at);
      for (size_t node = 0; node < nodes; ++node) {
        int64_t* const of_node = &scores[node * candidates.size() + at];
        for (size_t output = 0; output < residuals.size(); ++output) {
          AddOutput(of_column,
                    absl::MakeConstSpan(column.sums)
                        .subspan((output * nodes + node) * column.bins, column.bins),
                    of_node);
        }
        for (size_t i = 0; i < of_column.size(); ++i) {
          if (!of_column[i].multiway) continue;
          of_node[i] -= std::llround(multiway_reduction * static_cast<double>(column.bins - 1 - 2));
        }
      }
      at = end;
    }
  }
  return scores;
}

}  // namespace coppice
