#include "common/ldp/bit_payload.h"

#include <cstring>

namespace coppice {
namespace {

constexpr size_t kWordBytes = sizeof(uint64_t);

// The payload's bytes from `byte` on, zeros after its last.
uint64_t WordAt(absl::string_view payload, size_t byte) {
  uint64_t word = 0;
  if (payload.size() - byte >= kWordBytes) {
    std::memcpy(&word, payload.data() + byte, kWordBytes);
  } else {
    std::memcpy(&word, payload.data() + byte, payload.size() - byte);
  }
  return word;
}

}  // namespace

uint32_t GetNumber(absl::string_view payload, size_t width, size_t index) {
  const size_t bit = index * width;
  // It begins inside of a byte, so that a number of 25 bits lies in four.
  const absl::string_view bytes = payload.substr(bit / 8, sizeof(uint32_t));
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

absl::Status CheckBits(absl::string_view payload, size_t bits) {
  if (payload.size() != BitPayloadBytes(bits)) {
    return absl::InvalidArgumentError("the payload does not have the length of its tree");
  }
  if (bits % 8 != 0 && (static_cast<unsigned char>(payload.back()) >> (bits % 8)) != 0) {
    return absl::InvalidArgumentError("the payload sets bits past its last");
  }
  return absl::OkStatus();
}

size_t CountOnes(absl::string_view payload) {
  // Counts in pairs of bits, then fours, then bytes: without the processor's own instruction, which
  // the oldest of its kind lack, that is faster than std::popcount().
  constexpr uint64_t kPairs = 0x5555555555555555;
  constexpr uint64_t kFours = 0x3333333333333333;
  constexpr uint64_t kBytes = 0x0f0f0f0f0f0f0f0f;
  constexpr uint64_t kSumOfBytes = 0x0101010101010101;
  uint64_t ones = 0;
  for (size_t byte = 0; byte < payload.size(); byte += kWordBytes) {
    uint64_t word = WordAt(payload, byte);
    word -= (word >> 1) & kPairs;
    word = (word & kFours) + ((word >> 2) & kFours);
    word = (word + (word >> 4)) & kBytes;
    ones += (word * kSumOfBytes) >> 56;
  }
  return ones;
}

}  // namespace coppice
