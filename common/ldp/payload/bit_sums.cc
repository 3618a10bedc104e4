#include "common/ldp/payload/bit_sums.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstring>
#include <vector>

#include "common/base/part_of.h"
#include "common/ldp/payload/bit_payload.h"
#include "common/ldp/payload/widest_registers.h"

namespace coppice {
namespace {

constexpr size_t kTogether = 16;
constexpr size_t kPlanes = 8;              // a counter holds 255
constexpr size_t kBlock = 15 * kTogether;  // reports, so 240 at most in a counter

// One bit of each of 512 counters, which are added in parallel in the processor's own registers.
using Plane = uint64_t __attribute__((vector_size(64)));
constexpr size_t kColumnBytes = sizeof(Plane);
struct alignas(64) Counters {
  Plane planes[kPlanes] = {};  // by weight; a typedef for the array would lose their alignment
};

// a + b + c = sum + 2 carry at each position; the sum replaces a.
[[gnu::always_inline]] inline void AddThree(Plane& a, const Plane& b, const Plane& c,
                                            Plane& carry) {
  const Plane differ = a ^ b;
  carry = (a & b) | (differ & c);
  a = differ ^ c;
}

// One column from each of sixteen payloads.
using Together = std::array<const char*, kTogether>;

// Adds `Reports` columns from `first` on to the planes of weight below `Reports`, and returns the
// carry out of them in `carry`.
template <size_t Reports>
[[gnu::always_inline]] inline void AddTree(const Together& columns, size_t first,
                                           Counters& counters, Plane& carry) {
  Plane a, b;
  if constexpr (Reports == 2) {
    std::memcpy(&a, columns[first], kColumnBytes);
    std::memcpy(&b, columns[first + 1], kColumnBytes);
  } else {
    AddTree<Reports / 2>(columns, first, counters, a);
    AddTree<Reports / 2>(columns, first + Reports / 2, counters, b);
  }
  AddThree(counters.planes[std::bit_width(Reports) - 2], a, b, carry);
}

COPPICE_WIDEST_REGISTERS
void AddColumn(const Together& columns, Counters& sum) {
  Counters counters = sum;
  Plane carry;
  AddTree<kTogether>(columns, 0, counters, carry);
  for (size_t p = std::bit_width(kTogether) - 1; p < kPlanes; ++p) {
    AddThree(counters.planes[p], carry, Plane{}, carry);
  }
  sum = counters;
}

// Zeros for missing reports, and after the last byte of a payload that ends inside a column.
struct Padding {
  std::array<std::array<char, kColumnBytes>, kTogether> columns{};
};

// Adds at most sixteen payloads of `bytes` bytes each.
void AddTogether(absl::Span<const Contribution> reports, size_t bytes, Padding& padding,
                 absl::Span<Counters> sums) {
  Together at;
  for (size_t column = 0; column < sums.size(); ++column) {
    const size_t begin = column * kColumnBytes;
    for (size_t i = 0; i < kTogether; ++i) {
      at[i] = padding.columns[i].data();
      if (i >= reports.size()) {
        padding.columns[i] = {};
      } else if (bytes - begin >= kColumnBytes) {
        at[i] = reports[i].payload.data() + begin;
      } else {
        std::memcpy(padding.columns[i].data(), reports[i].payload.data() + begin, bytes - begin);
      }
    }
    AddColumn(at, sums[column]);
  }
}

// Eight counters of eight bits each: counter j in bits 8j to 8j + 7.
using EightCounts = uint64_t;

// For each byte, its bits with one bit per counter.
constexpr std::array<EightCounts, 256> MakeSpread() {
  std::array<EightCounts, 256> spread{};
  for (size_t byte = 0; byte < spread.size(); ++byte) {
    for (size_t bit = 0; bit < 8; ++bit) {
      spread[byte] |= static_cast<EightCounts>((byte >> bit) & 1) << (8 * bit);
    }
  }
  return spread;
}
constexpr std::array<EightCounts, 256> kSpread = MakeSpread();

// The counters of eight positions, taken from byte `byte` of each plane.
EightCounts CountsAt(const Counters& counters, size_t byte) {
  EightCounts counts = 0;
  for (size_t p = 0; p < kPlanes; ++p) {
    counts += kSpread[reinterpret_cast<const uint8_t*>(&counters.planes[p])[byte]] << p;
  }
  return counts;
}

void AddCounts(const Counters& counters, absl::Span<int64_t> sums) {
  for (size_t begin = 0; begin < sums.size(); begin += 8) {
    const EightCounts counts = CountsAt(counters, begin / 8);
    const size_t end = std::min(begin + 8, sums.size());
    for (size_t i = begin; i < end; ++i) {
      sums[i] += static_cast<int64_t>((counts >> (8 * (i - begin))) & 0xff);
    }
  }
}

}  // namespace

void AddBits(absl::Span<const Contribution> reports, absl::Span<int64_t> sums) {
  const size_t bytes = BitPayloadBytes(sums.size());
  std::vector<Counters> columns((bytes + kColumnBytes - 1) / kColumnBytes);
  Padding padding;
  for (; !reports.empty(); reports.remove_prefix(std::min(kBlock, reports.size()))) {
    std::fill(columns.begin(), columns.end(), Counters{});
    const auto block = PartOf(reports, 0, kBlock);
    for (size_t i = 0; i < block.size(); i += kTogether) {
      AddTogether(PartOf(block, i, kTogether), bytes, padding, absl::MakeSpan(columns));
    }
    for (size_t column = 0; column < columns.size(); ++column) {
      AddCounts(columns[column], PartOf(sums, 8 * column * kColumnBytes, 8 * kColumnBytes));
    }
  }
}

}  // namespace coppice
