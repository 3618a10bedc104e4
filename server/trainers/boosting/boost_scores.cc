#include "server/trainers/boosting/boost_scores.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <utility>

#include "common/base/status.h"
#include "common/base/text.h"
#include "server/trainers/core/row_ranges.h"

namespace coppice::trainers {
namespace {

// The most nodes after a level with splits into all categories, and the most sums (8 bytes each) of
// a level: splits in two after it at most double them.
constexpr size_t kMaxChildren = 512;
constexpr size_t kMaxSumsOfLevel = size_t{1} << 25;
// For one node: splits in two alone lead to 8 nodes at the last level.
constexpr size_t kMaxSumsOfNode = kMaxSumsOfLevel / 16;

// Rows per block: their nodes and residuals stay in the cache while column after column is added,
// and their sums fit into 32 bits (residuals are at most 2^16 in size).
constexpr size_t kBlock = 16'384;
// Sums of columns at a time: without this limit memory would grow with the square of a table's
// width.
constexpr size_t kMaxSums = size_t{1} << 20;
// Columns of at most 2^6 bins have the same layout.
constexpr int kMinBinBits = 6;
constexpr int kByteBits = 8;  // of columns whose bins are bytes (bin_column.h)
// Columns that a row is added to together: its node and its residual are then read once for all.
constexpr size_t kTogether = 4;

// The sums of a joint column: sums[(output * nodes + node) * bins + bin].
struct ColumnSums {
  const JointColumn* column = nullptr;
  int bin_bits = 0;
  std::vector<int64_t> sums{};

  absl::Span<const int64_t> of(size_t place) const {
    return absl::MakeConstSpan(sums).subspan(place * column->bins, column->bins);
  }
};

struct BlockRows {
  const uint32_t* node_place;  // node << bin_bits
  const int32_t* residuals;
  size_t count;
};

// Adds to sums[c][node_place + bin of column c].
template <size_t kColumns, typename Bin>
void AddRows(const BlockRows& rows, const Bin* const* bin_of, int32_t* const* sums) {
  std::array<const Bin*, kColumns> bins;
  std::array<int32_t*, kColumns> into;
  std::copy_n(bin_of, kColumns, bins.begin());
  std::copy_n(sums, kColumns, into.begin());
  const auto add = [&](size_t i) {
    const size_t place = rows.node_place[i];
    const int32_t residual = rows.residuals[i];
    // Written out column by column, whatever the compiler's level: as a loop this takes twice as
    // long where it is not unrolled.
    [&]<size_t... kEach>(std::index_sequence<kEach...>) {
      ((into[kEach][place + bins[kEach][i]] += residual), ...);
    }
    (std::make_index_sequence<kColumns>());
  };
  // Four rows per turn: counting the loop would cost as much as adding one row.
  size_t i = 0;
  for (; i + 4 <= rows.count; i += 4) {
    add(i);
    add(i + 1);
    add(i + 2);
    add(i + 3);
  }
  for (; i < rows.count; ++i) add(i);
}

template <typename Bin>
void AddRows(const BlockRows& rows, absl::Span<const Bin* const> bin_of, int32_t* const* sums) {
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

// Sums one block after the other, for a few columns with the same layout.
class Summing {
 public:
  Summing(const Residuals& residuals, absl::Span<const uint32_t> node_of, size_t nodes)
      : residuals_(residuals),
        node_of_(node_of),
        nodes_(nodes),
        node_place_(std::min(kBlock, node_of.size())) {}

  // Of the rows `begin` to `end - 1`.
  void Add(size_t begin, size_t end, std::vector<ColumnSums>& columns) {
    for (ColumnSums& column : columns) {
      const size_t bins = column.column->bins;
      column.bin_bits = std::max(kMinBinBits, static_cast<int>(std::bit_width(bins - 1)));
      column.sums.assign(residuals_.size() * nodes_ * bins, 0);
    }
    for (size_t first = begin; first < end; first += kBlock) {
      AddBlock(first, std::min(kBlock, end - first), columns);
    }
  }

 private:
  void AddBlock(size_t first, size_t count, std::vector<ColumnSums>& columns) {
    int bin_bits = -1;  // those of node_place_
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

  // Columns of one layout are all of at most 256 bins, or all of more.
  void AddTogether(size_t first, size_t count, absl::Span<ColumnSums> columns) {
    if (columns[0].bin_bits <= kByteBits) {
      std::array<const uint8_t*, kTogether> bin_of{};
      for (size_t c = 0; c < columns.size(); ++c) {
        bin_of[c] = columns[c].column->bin_of_row->bytes() + first;
      }
      return AddBins<uint8_t>(first, count, columns, bin_of);
    }
    std::array<const uint16_t*, kTogether> bin_of{};
    unpacked_.resize(kTogether * kBlock);
    for (size_t c = 0; c < columns.size(); ++c) {
      const absl::Span<uint16_t> bins = absl::MakeSpan(unpacked_).subspan(c * kBlock, count);
      columns[c].column->bin_of_row->Get(first, bins);
      bin_of[c] = bins.data();
    }
    AddBins<uint16_t>(first, count, columns, bin_of);
  }

  template <typename Bin>
  void AddBins(size_t first, size_t count, absl::Span<ColumnSums> columns,
               const std::array<const Bin*, kTogether>& bin_of) {
    const size_t size = nodes_ << columns[0].bin_bits;
    std::array<int32_t*, kTogether> sums{};
    for (size_t output = 0; output < residuals_.size(); ++output) {
      of_block_.assign(columns.size() * size, 0);
      for (size_t c = 0; c < columns.size(); ++c) sums[c] = &of_block_[c * size];
      AddRows<Bin>({node_place_.data(), &residuals_[output][first], count},
                   absl::MakeConstSpan(bin_of).first(columns.size()), sums.data());
      for (size_t c = 0; c < columns.size(); ++c) Move(sums[c], output, columns[c]);
    }
  }

  void Move(const int32_t* from, size_t output, ColumnSums& column) const {
    const size_t bins = column.column->bins;
    int64_t* to = &column.sums[output * nodes_ * bins];
    for (size_t node = 0; node < nodes_; ++node, from += size_t{1} << column.bin_bits) {
      for (size_t bin = 0; bin < bins; ++bin) *to++ += from[bin];
    }
  }

  const Residuals& residuals_;
  absl::Span<const uint32_t> node_of_;
  size_t nodes_;
  std::vector<uint32_t> node_place_;
  std::vector<int32_t> of_block_;
  std::vector<uint16_t> unpacked_;  // bins of a block, for columns of more than a byte
};

// Scores every category by itself; the last two bins, other and missing values, are one child.
int64_t ScoreApart(absl::Span<const int64_t> by_bin) {
  int64_t score = 0;
  for (const int64_t sum : by_bin.first(by_bin.size() - 2)) score += std::abs(sum);
  return score + std::abs(by_bin[by_bin.size() - 2] + by_bin[by_bin.size() - 1]);
}

// Adds one output's contribution to the scores of a column's candidates at one node; `by_bin` are
// the output's sums.
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

// Scores the splits of one joint column after the other.
class Scoring {
 public:
  // `candidates` must be sorted by column, and every column must have some.
  Scoring(absl::Span<const SplitCandidate> candidates, size_t outputs, size_t nodes,
          size_t num_columns, double multiway_reduction)
      : candidates_(candidates),
        outputs_(outputs),
        nodes_(nodes),
        multiway_reduction_(multiway_reduction),
        first_(num_columns + 1, candidates.size()),
        scores_(nodes * candidates.size()) {
    for (size_t i = candidates.size(); i-- > 0;) first_[candidates[i].column] = i;
  }

  void Add(const ColumnSums& joint) {
    for (const JointColumn::Member& member : joint.column->members) {
      for (size_t node = 0; node < nodes_; ++node) AddNode(joint, member, node);
    }
  }

  std::vector<int64_t> Take() && { return std::move(scores_); }

 private:
  void AddNode(const ColumnSums& joint, const JointColumn::Member& member, size_t node) {
    const size_t first = first_[member.column];
    const auto of_column = candidates_.subspan(first, first_[member.column + 1] - first);
    int64_t* const scores = &scores_[node * candidates_.size() + first];
    for (size_t output = 0; output < outputs_; ++output) {
      by_bin_.assign(member.bins, 0);
      AddSumsOfMember(member, joint.of(output * nodes_ + node), absl::MakeSpan(by_bin_));
      AddOutput(of_column, by_bin_, scores);
    }
    const auto children = static_cast<double>(member.bins - 1);
    for (size_t i = 0; i < of_column.size(); ++i) {
      if (of_column[i].multiway) scores[i] -= std::llround(multiway_reduction_ * (children - 2));
    }
  }

  absl::Span<const SplitCandidate> candidates_;
  size_t outputs_, nodes_;
  double multiway_reduction_;
  std::vector<size_t> first_;  // a column's first candidate; then the number of candidates
  std::vector<int64_t> scores_;
  std::vector<int64_t> by_bin_;  // scratch
};

// Sums columns over all rows, a range of rows on each thread.
class SummingInRanges {
 public:
  SummingInRanges(const Residuals& residuals, absl::Span<const uint32_t> node_of, size_t nodes,
                  uint32_t threads)
      : rows_(node_of.size()),
        threads_(threads),
        of_range_(NumRowRanges(rows_, threads), Summing(residuals, node_of, nodes)) {}

  void Add(std::vector<ColumnSums>& columns) {
    std::vector<std::vector<ColumnSums>> later(of_range_.size() - 1, columns);
    ForRowRanges(rows_, threads_, [&](size_t range, size_t first, size_t end) {
      of_range_[range].Add(first, end, range == 0 ? columns : later[range - 1]);
    });
    for (const std::vector<ColumnSums>& more : later) {
      for (size_t c = 0; c < columns.size(); ++c) {
        for (size_t i = 0; i < columns[c].sums.size(); ++i) columns[c].sums[i] += more[c].sums[i];
      }
    }
  }

 private:
  const size_t rows_;
  const uint32_t threads_;
  std::vector<Summing> of_range_;
};

size_t SumsOfNode(const std::vector<FeatureBins>& bins, size_t outputs) {
  size_t sums = 1;
  for (const FeatureBins& column : bins) sums += column.size() * outputs;
  return sums;
}

}  // namespace

Status CheckBins(const std::vector<FeatureBins>& bins, size_t outputs) {
  if (SumsOfNode(bins, outputs) <= kMaxSumsOfNode) return OkStatus();
  return InvalidArgumentError(
      StrCat("categories and cuts of all features together, times classes, are ",
             SumsOfNode(bins, outputs), "; at most ", kMaxSumsOfNode,
             " are allowed: use fewer features, or group categories"));
}

std::vector<SplitCandidate> SplitCandidates(const std::vector<FeatureBins>& bins, size_t nodes,
                                            size_t outputs) {
  std::vector<SplitCandidate> candidates;
  const size_t most_children = std::min(kMaxChildren, kMaxSumsOfLevel / SumsOfNode(bins, outputs));
  for (uint32_t c = 0; c < bins.size(); ++c) {
    const bool numeric = bins[c].type == FeatureType::kNumeric;
    for (uint32_t b = 0; b + (numeric ? 1 : 0) < bins[c].ordinary(); ++b) {
      candidates.push_back({numeric ? SplitKind::kNumeric : SplitKind::kCategory, c, b});
    }
    candidates.push_back({SplitKind::kMissing, c, bins[c].missing()});
    const bool splits_in_all = !numeric && bins[c].known > 1 &&
                               bins[c].known <= kMaxSplitCategories &&
                               nodes * (bins[c].known + 1) <= most_children;
    if (splits_in_all) {
      candidates.push_back({SplitKind::kCategory, c, 0, true});
    }
  }
  return candidates;
}

std::vector<int64_t> ScoreSplits(const JointColumns& columns, const Residuals& residuals,
                                 absl::Span<const uint32_t> node_of, size_t nodes,
                                 absl::Span<const SplitCandidate> candidates,
                                 double multiway_reduction, uint32_t threads) {
  Scoring scoring(candidates, residuals.size(), nodes, columns.rows().num_features(),
                  multiway_reduction);
  SummingInRanges summing(residuals, node_of, nodes, threads);
  absl::Span<const JointColumn> left = columns.all();
  std::vector<ColumnSums> round;
  while (!left.empty()) {
    round.clear();
    for (size_t sums = 0; !left.empty() && (round.empty() || sums < kMaxSums);) {
      round.push_back({.column = &left[0]});
      sums += residuals.size() * nodes * left[0].bins;
      left.remove_prefix(1);
    }
    summing.Add(round);
    for (const ColumnSums& joint : round) scoring.Add(joint);
  }
  return std::move(scoring).Take();
}

}  // namespace coppice::trainers
