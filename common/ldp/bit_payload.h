// The layout of a report of bits: bit i is bit i % 8 of byte i / 8; the bits past the last are
// zero.

#ifndef COPPICE_COMMON_LDP_BIT_PAYLOAD_H_
#define COPPICE_COMMON_LDP_BIT_PAYLOAD_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "absl/strings/string_view.h"

namespace coppice {

inline size_t BitPayloadBytes(size_t bits) { return (bits + 7) / 8; }

inline bool GetBit(absl::string_view payload, size_t bit) {
  return ((static_cast<unsigned char>(payload[bit / 8]) >> (bit % 8)) & 1) != 0;
}

inline void FlipBit(std::string& payload, size_t bit) {
  payload[bit / 8] = static_cast<char>(payload[bit / 8] ^ (1 << (bit % 8)));
}

// Calls visit(word, first_bit) for each 64 bits, the last word padded with zeros.
template <typename Visit>
void ForEachWord(absl::string_view payload, Visit visit) {
  for (size_t byte = 0; byte < payload.size(); byte += 8) {
    uint64_t word = 0;
    std::memcpy(&word, payload.data() + byte, std::min(size_t{8}, payload.size() - byte));
    if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
    visit(word, byte * 8);
  }
}

}  // namespace coppice

#endif  // COPPICE_COMMON_LDP_BIT_PAYLOAD_H_
