#include "common/ldp/payload/bit_payload.h"

#include <bit>
#include <cstring>
#include <string_view>

#include "common/base/status.h"
#include "common/ldp/payload/widest_registers.h"

namespace coppice {

uint32_t GetNumber(std::string_view payload, size_t width, size_t index) {
  const size_t bit = index * width;
  // It begins inside a byte, so a number of 25 bits spans at most four bytes.
  const std::string_view bytes = payload.substr(bit / 8, sizeof(uint32_t));
  uint32_t word = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    word |= uint32_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  }
  return word >> (bit % 8) & ((uint32_t{1} << width) - 1);
}

void SetNumber(std::string& payload, size_t width, size_t index, uint32_t number) {
  for (size_t bit = 0; bit < width; ++bit) {
    if ((number >> bit & 1) != 0) FlipBit(payload, index * width + bit);
  }
}

Status CheckBits(std::string_view payload, size_t bits) {
  if (payload.size() != BitPayloadBytes(bits)) {
    return InvalidArgumentError("the payload does not have the length of its tree");
  }
  if (bits % 8 != 0 && (static_cast<unsigned char>(payload.back()) >> (bits % 8)) != 0) {
    return InvalidArgumentError("the payload sets bits past its last");
  }
  return OkStatus();
}

COPPICE_WIDEST_REGISTERS
size_t CountOnes(std::string_view payload) {
  size_t ones = 0;
  uint64_t word = 0;
  size_t byte = 0;
  for (; byte + sizeof(word) <= payload.size(); byte += sizeof(word)) {
    std::memcpy(&word, payload.data() + byte, sizeof(word));
    ones += static_cast<size_t>(std::popcount(word));
  }
  for (; byte < payload.size(); ++byte) {
    ones += static_cast<size_t>(std::popcount(static_cast<unsigned char>(payload[byte])));
  }
  return ones;
}

}  // namespace coppice
