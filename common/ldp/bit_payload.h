// The layout of a report of bits: bit i is bit i % 8 of byte i / 8; the bits past the last are
// zero.

#ifndef COPPICE_COMMON_LDP_BIT_PAYLOAD_H_
#define COPPICE_COMMON_LDP_BIT_PAYLOAD_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace coppice {

inline size_t BitPayloadBytes(size_t bits) { return (bits + 7) / 8; }

inline bool GetBit(absl::string_view payload, size_t bit) {
  return ((static_cast<unsigned char>(payload[bit / 8]) >> (bit % 8)) & 1) != 0;
}

inline void FlipBit(std::string& payload, size_t bit) {
  payload[bit / 8] = static_cast<char>(payload[bit / 8] ^ (1 << (bit % 8)));
}

size_t CountOnes(absl::string_view payload);

// Adds each bit of each payload to its sum. Every payload must have sums.size() bits.
// Cost: half a look-up for eight bits.
void AddBits(absl::Span<const absl::string_view> payloads, absl::Span<int64_t> sums);

}  // namespace coppice

#endif  // COPPICE_COMMON_LDP_BIT_PAYLOAD_H_
