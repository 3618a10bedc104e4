#include "server/trainers/core/bin_column.h"

#include <algorithm>
#include <array>

namespace coppice::trainers {
namespace {

constexpr size_t kBits = 8;  // rows whose ninth bits share a byte

// What the ninth bits of eight rows add to their bins, by the byte that holds them: eight additions
// at once, where shifts would be one after the other.
constexpr auto kNinthBits = [] {
  std::array<std::array<uint16_t, kBits>, 256> added{};
  for (size_t byte = 0; byte < added.size(); ++byte) {
    for (size_t bit = 0; bit < kBits; ++bit) {
      added[byte][bit] = static_cast<uint16_t>((byte >> bit & 1) << 8);
    }
  }
  return added;
}();

size_t HighBytes(size_t bins, size_t rows) {
  if (bins <= 256) return 0;
  return bins <= 512 ? (rows + kBits - 1) / kBits : rows;
}

}  // namespace

BinColumn::Form BinColumn::FormOf(size_t bins) {
  if (bins <= 256) return Form::kByte;
  return bins <= 512 ? Form::kNineBits : Form::kTwoBytes;
}

BinColumn::BinColumn(size_t bins, size_t rows)
    : form_(FormOf(bins)), low_(rows), high_(HighBytes(bins, rows)) {}

size_t BinColumn::BytesOf(size_t bins, size_t rows) { return rows + HighBytes(bins, rows); }

void BinColumn::Get(size_t first, absl::Span<uint16_t> bins) const {
  const uint8_t* const low = low_.data() + first;
  size_t i = 0;
  if (form_ == Form::kByte) {
    for (; i < bins.size(); ++i) bins[i] = low[i];
    return;
  }
  if (form_ == Form::kNineBits && first % kBits == 0) {
    const uint8_t* const high = high_.data() + first / kBits;
    for (; i + kBits <= bins.size(); i += kBits) {
      const std::array<uint16_t, kBits>& added = kNinthBits[high[i / kBits]];
      for (size_t bit = 0; bit < kBits; ++bit) {
        bins[i + bit] = static_cast<uint16_t>(low[i + bit] + added[bit]);
      }
    }
  }
  for (; i < bins.size(); ++i) bins[i] = (*this)[first + i];
}

void BinColumn::Set(size_t first, absl::Span<const uint16_t> bins) {
  for (size_t i = 0; i < bins.size(); ++i) low_[first + i] = static_cast<uint8_t>(bins[i]);
  if (form_ == Form::kTwoBytes) {
    for (size_t i = 0; i < bins.size(); ++i) high_[first + i] = static_cast<uint8_t>(bins[i] >> 8);
  } else if (form_ == Form::kNineBits) {
    for (size_t i = 0; i < bins.size(); ++i) {
      const size_t row = first + i;
      high_[row / kBits] =
          static_cast<uint8_t>(high_[row / kBits] | (bins[i] >> 8) << (row % kBits));
    }
  }
}

std::vector<uint32_t> BinColumn::Widened() const {
  std::vector<uint32_t> bins(size());
  for (size_t row = 0; row < bins.size(); ++row) bins[row] = (*this)[row];
  return bins;
}

BinColumn BinColumn::Select(absl::Span<const uint32_t> positions) const {
  constexpr size_t kAtOnce = 1024;
  const size_t bins = form_ == Form::kByte ? 256 : form_ == Form::kNineBits ? 512 : 1 << 16;
  BinColumn selected(bins, positions.size());
  std::array<uint16_t, kAtOnce> some;
  for (size_t first = 0; first < positions.size(); first += kAtOnce) {
    const size_t count = std::min(kAtOnce, positions.size() - first);
    for (size_t i = 0; i < count; ++i) some[i] = (*this)[positions[first + i]];
    selected.Set(first, absl::MakeConstSpan(some).first(count));
  }
  return selected;
}

}  // namespace coppice::trainers
