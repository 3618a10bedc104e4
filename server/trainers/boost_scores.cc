#include "server/trainers/boost_scores.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <numeric>

#include "absl/strings/str_cat.h"

namespace coppice {
namespace {

// Nodes of a level that splits into all categories may lead to, and sums (8 bytes each) that a
// level may have: twice as many at most come of splits in two after them.
constexpr size_t kMostChildren = 512;
constexpr size_t kMostSumsOfLevel = size_t{1} << 25;
// Of one node: splits in two alone lead to 8 nodes at the last level.
constexpr size_t kMostSumsOfNode = kMostSumsOfLevel / 16;

// A split into all of more categories is a longer row of questions than a tree may have
// (kMaxModelDepth).
constexpr uint32_t kMostCategories = 64;

// Rows at a time: their nodes and residuals stay in the cache while column after column is added,
// and their sums fit into 32 bits (residuals are at most 2^16 in size).
constexpr size_t kBlock = 16'384;
// Sums of so many columns at a time, or memory would grow with the square of a wide table.
constexpr size_t kMostSums = size_t{1} << 20;
// Columns of no more bins than 2^6 are laid out alike.
constexpr int kLeastBinBits = 6;
// Columns that a row is added to together: its node and its residual are then read once for all of
// them.
constexpr size_t kTogether = 4;

// The sums of one column: sums[(output * nodes + node) * bins + bin].
struct ColumnSums {
  uint32_t column = 0;
  size_t bins = 0;
  int bin_bits = 0;
  std::vector<int64_t> sums{};
};

struct BlockRows {
  const uint32_t* node_place;  // node << bin_bits
  const int32_t* residuals;
  size_t count;
};

// Adds to sums[c][node_place + bin of column c].
template <size_t kColumns>
void AddRows(const BlockRows& rows, const uint16_t* const* bin_of, int32_t* const* sums) {
  std::array<const uint16_t*, kColumns> bins;
  std::array<int32_t*, kColumns> into;
  std::copy_n(bin_of, kColumns, bins.begin());
  std::copy_n(sums, kColumns, into.begin());
  const auto add = [&](size_t i) {
    const size_t place = rows.node_place[i];
    const int32_t residual = rows.residuals[i];
    for (size_t c = 0; c < kColumns; ++c) into[c][place + bins[c][i]] += residual;
  };
  // Four rows a turn: counting on all of the columns costs as much as adding one.
  size_t i = 0;
  for (; i + 4 <= rows.count; i += 4) {
    add(i);
    add(i + 1);
    add(i + 2);
    add(i + 3);
  }
  for (; i < rows.count; ++i) add(i);
}

void AddRows(const BlockRows& rows, absl::Span<const uint16_t* const> bin_of,
             int32_t* const* sums) {
  static_assert(kTogether == 4);
  switch (bin_of.size()) {
    case 1:
      return AddRows<1>(rows, bin_of.data(), sums);
    case 2:
      return AddRows<2>(rows, bin_of.data(), sums);
    case 3:
      return AddRows<3>(rows, bin_of.data(), sums);
    default:
      return AddRows<4>(rows, bin_of.data(), sums);
  }
}

// The sums of one block after the other, of a few columns that are laid out alike.
class Summing {
 public:
  Summing(const BinnedRows& rows, const Residuals& residuals, absl::Span<const uint32_t> node_of,
          size_t nodes)
      : rows_(rows),
        residuals_(residuals),
        node_of_(node_of),
        nodes_(nodes),
        node_place_(std::min(kBlock, node_of.size())) {}

  void Add(std::vector<ColumnSums>& columns) {
    for (ColumnSums& column : columns) {
      column.bins = rows_.bins()[column.column].size();
      column.bin_bits = std::max(kLeastBinBits, static_cast<int>(std::bit_width(column.bins - 1)));
      column.sums.assign(residuals_.size() * nodes_ * column.bins, 0);
    }
    for (size_t first = 0; first < node_of_.size(); first += kBlock) {
      AddBlock(first, std::min(kBlock, node_of_.size() - first), columns);
    }
  }

 private:
  void AddBlock(size_t first, size_t count, std::vector<ColumnSums>& columns) {
    int bin_bits = -1;  // of node_place_
    for (size_t begin = 0, end = 0; begin < columns.size(); begin = end) {
      while (end < columns.size() && end < begin + kTogether &&
             columns[end].bin_bits == columns[begin].bin_bits) {
        ++end;
      }
      if (columns[begin].bin_bits != bin_bits) {
        bin_bits = columns[begin].bin_bits;
        const uint32_t* const node_of = &node_of_[first];
        uint32_t* const place = node_place_.data();
        for (size_t i = 0; i < count; ++i) place[i] = node_of[i] << bin_bits;
      }
      AddTogether(first, count, absl::MakeSpan(columns).subspan(begin, end - begin));
    }
  }

  void AddTogether(size_t first, size_t count, absl::Span<ColumnSums> columns) {
    const size_t size = nodes_ << columns[0].bin_bits;
    std::array<const uint16_t*, kTogether> bin_of{};
    std::array<int32_t*, kTogether> sums{};
    for (size_t output = 0; output < residuals_.size(); ++output) {
      of_block_.assign(columns.size() * size, 0);
      for (size_t c = 0; c < columns.size(); ++c) {
        bin_of[c] = &rows_.column(columns[c].column)[first];
        sums[c] = &of_block_[c * size];
      }
      AddRows({node_place_.data(), &residuals_[output][first], count},
              absl::MakeConstSpan(bin_of).first(columns.size()), sums.data());
      for (size_t c = 0; c < columns.size(); ++c) Move(sums[c], output, columns[c]);
    }
  }

  void Move(const int32_t* from, size_t output, ColumnSums& column) const {
    int64_t* to = &column.sums[output * nodes_ * column.bins];
    for (size_t node = 0; node < nodes_; ++node, from += size_t{1} << column.bin_bits) {
      for (size_t bin = 0; bin < column.bins; ++bin) *to++ += from[bin];
    }
  }

  const BinnedRows& rows_;
  const Residuals& residuals_;
  absl::Span<const uint32_t> node_of_;
  size_t nodes_;
  std::vector<uint32_t> node_place_;
  std::vector<int32_t> of_block_;
};

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

size_t SumsOfNode(const std::vector<FeatureBins>& bins, size_t outputs) {
  size_t sums = 1;
  for (const FeatureBins& column : bins) sums += column.size() * outputs;
  return sums;
}

}  // namespace

absl::Status CheckBins(const std::vector<FeatureBins>& bins, size_t outputs) {
  if (SumsOfNode(bins, outputs) <= kMostSumsOfNode) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("categories and cuts of all features together, times classes, are ",
                   SumsOfNode(bins, outputs), "; at most ", kMostSumsOfNode,
                   " fit: take fewer features, or group categories"));
}

std::vector<SplitCandidate> SplitCandidates(const std::vector<FeatureBins>& bins, size_t nodes,
                                            size_t outputs) {
  std::vector<SplitCandidate> candidates;
  const size_t most_children =
      std::min(kMostChildren, kMostSumsOfLevel / SumsOfNode(bins, outputs));
  for (uint32_t c = 0; c < bins.size(); ++c) {
    const bool numeric = bins[c].type == FeatureType::kNumeric;
    for (uint32_t b = 0; b + (numeric ? 1 : 0) < bins[c].ordinary(); ++b) {
      candidates.push_back({numeric ? SplitKind::kNumeric : SplitKind::kCategory, c, b});
    }
    candidates.push_back({SplitKind::kMissing, c, bins[c].missing()});
    const bool splits_in_all = !numeric && bins[c].known > 1 && bins[c].known <= kMostCategories &&
                               nodes * (bins[c].known + 1) <= most_children;
    if (splits_in_all) {
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
  Summing summing(rows, residuals, node_of, nodes);
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
    summing.Add(columns);
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
