#include "common/ldp/bit_payload.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

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

// Eight counters of eight bits each, side by side: counter j in bits 8j to 8j + 7.
using EightCounts = uint64_t;

// The bits of each byte, one in each counter.
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

// a + b + c = sum + 2 carry, in each of 64 bits.
struct Added {
  uint64_t sum;
  uint64_t carry;
};
Added AddThree(uint64_t a, uint64_t b, uint64_t c) {
  const uint64_t differ = a ^ b;
  return {.sum = differ ^ c, .carry = (a & b) | (differ & c)};
}

// Seven payloads are first added bit by bit to numbers of three bits, which halves the look-ups.
constexpr size_t kTogether = 7;
constexpr size_t kBlock = 36 * kTogether;  // a counter holds 255
using Seven = std::array<absl::string_view, kTogether>;

void AddSeven(const Seven& payloads, absl::Span<EightCounts> counts) {
  for (size_t byte = 0; byte < payloads.front().size(); byte += kWordBytes) {
    const auto word = [&](size_t i) { return WordAt(payloads[i], byte); };
    const Added a = AddThree(word(0), word(1), word(2));
    const Added b = AddThree(a.sum, word(3), word(4));
    const Added c = AddThree(b.sum, word(5), word(6));
    const Added twos = AddThree(a.carry, b.carry, c.carry);
    std::array<std::array<uint8_t, kWordBytes>, 3> bytes;  // of ones, twos and fours
    std::memcpy(bytes[0].data(), &c.sum, kWordBytes);
    std::memcpy(bytes[1].data(), &twos.sum, kWordBytes);
    std::memcpy(bytes[2].data(), &twos.carry, kWordBytes);
    for (size_t i = 0; i < kWordBytes; ++i) {
      counts[byte + i] +=
          kSpread[bytes[0][i]] + 2 * kSpread[bytes[1][i]] + 4 * kSpread[bytes[2][i]];
    }
  }
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

void AddBits(absl::Span<const Contribution> reports, absl::Span<int64_t> sums) {
  const size_t bytes = BitPayloadBytes(sums.size());
  const std::string zeros(bytes, '\0');
  std::vector<EightCounts> counts((bytes + kWordBytes - 1) / kWordBytes * kWordBytes);
  while (!reports.empty()) {
    std::fill(counts.begin(), counts.end(), 0);
    const auto block = reports.subspan(0, kBlock);
    for (size_t i = 0; i < block.size(); i += kTogether) {
      Seven seven;
      seven.fill(zeros);
      const auto next = block.subspan(i, kTogether);
      std::transform(next.begin(), next.end(), seven.begin(),
                     [](const Contribution& report) { return report.payload; });
      AddSeven(seven, absl::MakeSpan(counts));
    }
    for (size_t bit = 0; bit < sums.size(); ++bit) {
      sums[bit] += static_cast<int64_t>((counts[bit / 8] >> (8 * (bit % 8))) & 0xff);
    }
    reports.remove_prefix(block.size());
  }
}

}  // namespace coppice
