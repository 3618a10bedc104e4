// The layout of a report of bits: bit i is bit i % 8 of byte i / 8; the bits past the last are
// zero. Numbers of `width` bits each follow one another, low bits first.

#ifndef COPPICE_COMMON_LDP_PAYLOAD_BIT_PAYLOAD_H_
#define COPPICE_COMMON_LDP_PAYLOAD_BIT_PAYLOAD_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/status.h"

namespace coppice {

inline size_t BitPayloadBytes(size_t bits) { return (bits + 7) / 8; }

inline bool GetBit(std::string_view payload, size_t bit) {
  return ((static_cast<unsigned char>(payload[bit / 8]) >> (bit % 8)) & 1) != 0;
}

inline void FlipBit(std::string& payload, size_t bit) {
  payload[bit / 8] = static_cast<char>(payload[bit / 8] ^ (1 << (bit % 8)));
}

// Reads the number at `index`; width is at most 25, and the number must lie in the payload.
uint32_t GetNumber(std::string_view payload, size_t width, size_t index);
// Writes a number over zeros.
void SetNumber(std::string& payload, size_t width, size_t index, uint32_t number);

// InvalidArgument unless the payload has exactly the bytes that this many bits need, and no bit
// past the last is set.
Status CheckBits(std::string_view payload, size_t bits);

size_t CountOnes(std::string_view payload);

}  // namespace coppice

#endif  // COPPICE_COMMON_LDP_PAYLOAD_BIT_PAYLOAD_H_
