// Adds reports of bits up, position by position (a positional population count).
//
// The sums are bit-sliced: sixteen reports at a time go through a tree of full adders that work on
// 512 positions side by side, so that a report costs about one adder a vector register; counts
// leave that form once in 240 reports. Source: Harley and Seal's counter, positional as in
// Klarqvist, Mula and Lemire, "Efficient computation of positional population counts using SIMD
// instructions" (2021). The time is that of reading the payloads (docs/research/performance.md).
//
// Threads    a pure function.

#ifndef COPPICE_COMMON_LDP_PAYLOAD_BIT_SUMS_H_
#define COPPICE_COMMON_LDP_PAYLOAD_BIT_SUMS_H_

#include <cstdint>

#include "absl/types/span.h"
#include "common/ldp/payload/contribution.h"

namespace coppice {

// Adds each bit of each payload to its sum, whatever the column. Every payload must have
// sums.size() bits, laid out as bit_payload.h says.
void AddBits(absl::Span<const Contribution> reports, absl::Span<int64_t> sums);

}  // namespace coppice

#endif  // COPPICE_COMMON_LDP_PAYLOAD_BIT_SUMS_H_
