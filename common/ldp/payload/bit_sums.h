// Adds up reports of bits, position by position (a positional population count).
//
// The sums are bit-sliced: sixteen reports at a time pass full adders that work on 512 positions in
// parallel, so that a report costs about one adder per vector register; counts leave that form once
// per 240 reports. The time is that of reading the payloads (docs/research/performance.md).
//
// Source     Harley and Seal's counter, positional as in Klarqvist, Mula and Lemire, "Efficient
//            computation of positional population counts using SIMD instructions" (2021).

#ifndef COPPICE_COMMON_LDP_PAYLOAD_BIT_SUMS_H_
#define COPPICE_COMMON_LDP_PAYLOAD_BIT_SUMS_H_

#include <cstdint>

#include "absl/types/span.h"
#include "common/ldp/payload/contribution.h"

namespace coppice {

// Adds each bit of each payload to its sum, whatever the column. Every payload must have
// sums.size() bits, in the layout of bit_payload.h.
void AddBits(absl::Span<const Contribution> reports, absl::Span<int64_t> sums);

}  // namespace coppice

#endif  // COPPICE_COMMON_LDP_PAYLOAD_BIT_SUMS_H_
