#include "server/trainers/dpboost/histograms.h"

#include <algorithm>

namespace coppice::trainers {
namespace {

// A packed word is count * 2^kShift + sum. For a block's rows the sum is at most 2^40 in size and
// the count at most 2^20, so the sum's sign can be recovered and nothing overflows.
constexpr int kShift = 42;
constexpr size_t kRowsTogether = size_t{1} << 20;
constexpr uint64_t kOne = uint64_t{1} << kShift;

// Transposes the table in squares that fit the cache.
template <typename Place>
void SetPlaces(const BinnedRows& rows, const std::vector<size_t>& begin,
               std::vector<Place>& places) {
  constexpr size_t kRowsAtOnce = 256;
  const size_t columns = rows.num_features();
  std::array<uint16_t, kRowsAtOnce> bins;
  places.resize(rows.num_rows() * columns);
  for (size_t first = 0; first < rows.num_rows(); first += kRowsAtOnce) {
    const size_t end = std::min(first + kRowsAtOnce, rows.num_rows());
    for (size_t c = 0; c < columns; ++c) {
      const absl::Span<uint16_t> column = absl::MakeSpan(bins).first(end - first);
      rows.column(c).Get(first, column);
      for (size_t row = first; row < end; ++row) {
        places[row * columns + c] = static_cast<Place>(begin[c] + column[row - first]);
      }
    }
  }
}

template <typename Place>
void AddRows(const std::vector<Place>& places, size_t columns, absl::Span<const uint32_t> rows,
             absl::Span<const int32_t> residuals, uint64_t* packed) {
  constexpr size_t kAhead = 8;  // rows whose places are prefetched
  constexpr size_t kLine = 64 / sizeof(Place);
  for (size_t i = 0; i < rows.size(); ++i) {
    if (i + kAhead < rows.size()) {
      const Place* const ahead = &places[rows[i + kAhead] * columns];
      for (size_t c = 0; c < columns; c += kLine) __builtin_prefetch(ahead + c);
    }
    const Place* const place = &places[rows[i] * columns];
    const uint64_t value = kOne + static_cast<uint64_t>(static_cast<int64_t>(residuals[i]));
    for (size_t c = 0; c < columns; ++c) packed[place[c]] += value;
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

HistogramBuilder::HistogramBuilder(const BinnedRows& rows)
    : columns_(rows.num_features()), begin_{0} {
  for (const FeatureBins& bins : rows.bins()) begin_.push_back(begin_.back() + bins.size());
  packed_.resize(begin_.back());
  if (packed_.size() <= size_t{1} << 16) {
    SetPlaces(rows, begin_, places_);
  } else {
    SetPlaces(rows, begin_, wide_places_);
  }
}

Histogram HistogramBuilder::Build(absl::Span<const uint32_t> rows, const ResidualSpans& residuals) {
  Histogram histogram{.counts = std::vector<int64_t>(packed_.size()),
                      .sums = std::vector<std::vector<int64_t>>(
                          residuals.size(), std::vector<int64_t>(packed_.size()))};
  for (size_t output = 0; output < residuals.size(); ++output) {
    for (size_t first = 0; first < rows.size(); first += kRowsTogether) {
      Add(rows.subspan(first, kRowsTogether), residuals[output].subspan(first, kRowsTogether));
      Unpack(histogram, output);
    }
  }
  return histogram;
}

void HistogramBuilder::Add(absl::Span<const uint32_t> rows, absl::Span<const int32_t> residuals) {
  if (wide_places_.empty()) {
    AddRows(places_, columns_, rows, residuals, packed_.data());
  } else {
    AddRows(wide_places_, columns_, rows, residuals, packed_.data());
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

}  // namespace coppice::trainers
