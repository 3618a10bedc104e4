// The Hadamard matrix whose size is a power of two: entry (i, j) is +1 or -1 by the parity of the
// ones that i and j share. It is symmetric; its columns are orthogonal.

#ifndef COPPICE_COMMON_LDP_WALSH_HADAMARD_H_
#define COPPICE_COMMON_LDP_WALSH_HADAMARD_H_

#include <bit>
#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"

namespace coppice {

inline bool IsNegativeEntry(uint64_t row, uint64_t column) {
  return (std::popcount(row & column) & 1) != 0;
}

// Replaces `values`, whose number is a power of two, by the matrix times them. n log n additions.
inline void WalshHadamard(absl::Span<int64_t> values) {
  for (size_t half = 1; half < values.size(); half *= 2) {
    for (size_t block = 0; block < values.size(); block += 2 * half) {
      for (size_t i = block; i < block + half; ++i) {
        const int64_t a = values[i];
        const int64_t b = values[i + half];
        values[i] = a + b;
        values[i + half] = a - b;
      }
    }
  }
}

}  // namespace coppice

#endif  // COPPICE_COMMON_LDP_WALSH_HADAMARD_H_
