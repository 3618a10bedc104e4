#include "server/trainers/histograms.h"

#include <algorithm>
#include <array>

namespace coppice {
namespace {

// A packed word is count * 2^kShift + sum. Of a block's rows, the sum is at most 2^40 in size and
// the count at most 2^20, so the sum's sign can be told and nothing overflows.
constexpr int kShift = 42;
constexpr size_t kBlock = size_t{1} << 20;
constexpr uint64_t kOne = uint64_t{1} << kShift;

constexpr size_t kColumnsAtOnce = 4;

template <size_t kColumns>
void AddColumns(const std::array<const uint16_t*, kColumnsAtOnce>& columns,
                const std::array<uint64_t*, kColumnsAtOnce>& into, absl::Span<const uint32_t> rows,
                absl::Span<const int32_t> residuals) {
  for (size_t i = 0; i < rows.size(); ++i) {
    const uint32_t row = rows[i];
    const uint64_t value = kOne + static_cast<uint64_t>(static_cast<int64_t>(residuals[i]));
    for (size_t c = 0; c < kColumns; ++c) into[c][columns[c][row]] += value;
  }
}

}  // namespace

void Histogram::Subtract(const Histogram& part) {
  for (size_t bin = 0; bin < counts.size(); ++bin) counts[bin] -= part.counts[bin];
  for (size_t output = 0; output < sums.size(); ++output) {
    std::vector<int64_t>& mine = sums[output];
    const std::vector<int64_t>& theirs = part.sums[output];
    for (size_t bin = 0; bin < mine.size(); ++bin) mine[bin] -= theirs[bin];
  }
}

HistogramBuilder::HistogramBuilder(const BinnedRows& rows, size_t outputs)
    : rows_(rows), outputs_(outputs), begin_{0} {
  for (const FeatureBins& bins : rows.bins()) begin_.push_back(begin_.back() + bins.size());
  packed_.resize(begin_.back());
}

Histogram HistogramBuilder::Build(absl::Span<const uint32_t> rows, const ResidualSpans& residuals) {
  Histogram histogram{
      .counts = std::vector<int64_t>(packed_.size()),
      .sums = std::vector<std::vector<int64_t>>(outputs_, std::vector<int64_t>(packed_.size()))};
  for (size_t output = 0; output < outputs_; ++output) {
    for (size_t first = 0; first < rows.size(); first += kBlock) {
      Add(rows.subspan(first, kBlock), residuals[output].subspan(first, kBlock));
      Unpack(histogram, output);
    }
  }
  return histogram;
}

void HistogramBuilder::Add(absl::Span<const uint32_t> rows, absl::Span<const int32_t> residuals) {
  const size_t count = rows_.num_features();
  std::array<const uint16_t*, kColumnsAtOnce> columns{};
  std::array<uint64_t*, kColumnsAtOnce> into{};
  for (size_t first = 0; first < count; first += kColumnsAtOnce) {
    const size_t now = std::min(kColumnsAtOnce, count - first);
    for (size_t c = 0; c < now; ++c) {
      columns[c] = rows_.column(first + c).data();
      into[c] = packed_.data() + begin_[first + c];
    }
    if (now == kColumnsAtOnce) {
      AddColumns<kColumnsAtOnce>(columns, into, rows, residuals);
      continue;
    }
    for (size_t c = 0; c < now; ++c) AddColumns<1>({columns[c]}, {into[c]}, rows, residuals);
  }
}

void HistogramBuilder::Unpack(Histogram& histogram, size_t output) {
  int64_t* const counts = histogram.counts.data();
  int64_t* const sums = histogram.sums[output].data();
  for (size_t bin = 0; bin < packed_.size(); ++bin) {
    const int64_t count = static_cast<int64_t>(packed_[bin] + kOne / 2) >> kShift;
    // Rows are counted once, with the first output.
    if (output == 0) counts[bin] += count;
    sums[bin] += static_cast<int64_t>(packed_[bin]) - (count << kShift);
    packed_[bin] = 0;
  }
}

}  // namespace coppice
