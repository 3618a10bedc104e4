#include "common/ldp/payload/integer_payload.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <string_view>

#include "absl/container/inlined_vector.h"
#include "common/base/part_of.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"

namespace coppice {
namespace {

uint32_t ZigZag(int32_t value) {
  return (static_cast<uint32_t>(value) << 1) ^ static_cast<uint32_t>(value >> 31);
}

int32_t UnZigZag(uint32_t code) {
  return static_cast<int32_t>(code >> 1) ^ -static_cast<int32_t>(code & 1);
}

Status BadPayload(std::string_view why) {
  return InvalidArgumentError(StrCat("the payload ", why));
}

constexpr size_t kStride = 16;

bool AllSingleBytes(const uint8_t* bytes) {
  uint8_t all = 0;
  for (size_t j = 0; j < kStride; ++j) all = static_cast<uint8_t>(all | bytes[j]);
  return all < 0x80;
}

// Reads one varint in its shortest form; moves `next` past it.
StatusOr<uint32_t> NextCode(const uint8_t*& next, const uint8_t* end) {
  uint32_t code = 0;
  for (size_t bytes = 0; bytes < kMaxIntegerBytes; ++bytes) {
    if (next == end) return BadPayload("is too short");
    const uint8_t byte = *next++;
    code |= static_cast<uint32_t>(byte & 0x7f) << (7 * bytes);
    if (byte >= 0x80) continue;
    const bool overlong =
        (bytes > 0 && byte == 0) || (bytes == kMaxIntegerBytes - 1 && byte > 0x0f);
    if (overlong) break;
    return code;
  }
  return BadPayload("holds an overlong integer");
}

// Sums of absolute values.
struct Sizes {
  int64_t largest = 0;
  int64_t total = 0;
};

Sizes SizesOf(absl::Span<const int32_t> values) {
  Sizes sizes;
  for (const int32_t value : values) {
    const int64_t size = std::abs(int64_t{value});
    sizes.largest = std::max(sizes.largest, size);
    sizes.total += size;
  }
  return sizes;
}

// SizesOf() for integers of one byte each, as nearly all are: one pass with vector instructions.
// False if some integer is longer.
bool SizesOfSingleBytes(std::string_view payload, Sizes& sizes) {
  uint8_t largest = 0;
  uint32_t total = 0;
  for (const char byte : payload) {
    const auto code = static_cast<uint8_t>(byte);
    largest = std::max(largest, code);
    total += (code + 1u) >> 1;  // the absolute value of what zigzags to `code`
  }
  sizes = {.largest = (largest + 1) >> 1, .total = total};
  return largest < 0x80;
}

}  // namespace

std::string EncodeIntegers(absl::Span<const int32_t> values) {
  std::string payload;
  payload.reserve(values.size());  // nearly always each takes one byte
  AppendIntegers(values, payload);
  return payload;
}

void AppendIntegers(absl::Span<const int32_t> values, std::string& payload) {
  std::array<char, kStride * kMaxIntegerBytes> bytes;
  while (!values.empty()) {
    const absl::Span<const int32_t> block = PartOf(values, 0, kStride);
    size_t size = 0;
    for (const int32_t value : block) {
      uint32_t code = ZigZag(value);
      for (; code >= 0x80; code >>= 7) bytes[size++] = static_cast<char>(code | 0x80);
      bytes[size++] = static_cast<char>(code);
    }
    payload.append(bytes.data(), size);
    values.remove_prefix(block.size());
  }
}

Status DecodeIntegers(std::string_view payload, absl::Span<int32_t> values) {
  const auto* next = reinterpret_cast<const uint8_t*>(payload.data());
  const uint8_t* const end = next + payload.size();
  for (size_t i = 0; i < values.size();) {
    // Noise is small: usually the next integers take one byte each.
    if (values.size() - i >= kStride && end - next >= static_cast<ptrdiff_t>(kStride) &&
        AllSingleBytes(next)) {
      for (size_t j = 0; j < kStride; ++j) values[i + j] = UnZigZag(next[j]);
      next += kStride;
      i += kStride;
      continue;
    }
    COPPICE_ASSIGN_OR_RETURN(const uint32_t code, NextCode(next, end));
    values[i++] = UnZigZag(code);
  }
  if (next != end) return BadPayload("is too long");
  return OkStatus();
}

size_t MaxBytesWithin(const IntegerLimits& limits) {
  size_t bytes = limits.count;
  // The least absolute values that take a second, third, ... byte.
  for (int64_t least = 64; least <= limits.each; least <<= 7) {
    bytes += std::min(limits.count, static_cast<size_t>(limits.total / least));
  }
  return bytes;
}

Status CheckIntegers(std::string_view payload, const IntegerLimits& limits) {
  Sizes sizes;
  if (payload.size() != limits.count || !SizesOfSingleBytes(payload, sizes)) {
    absl::InlinedVector<int32_t, 1024> values(limits.count);
    COPPICE_RETURN_IF_ERROR(DecodeIntegers(payload, absl::MakeSpan(values)));
    sizes = SizesOf(values);
  }
  if (sizes.largest > limits.each || sizes.total > limits.total) {
    return BadPayload("holds values that no honest device sends");
  }
  return OkStatus();
}

void AddIntegers(absl::Span<const Contribution> reports, absl::Span<int64_t> sums) {
  // An integer of one byte is at least -64: sixteen bits hold the sum of kFull of them, and are
  // added four times as fast as the sums' sixty-four.
  constexpr size_t kFull = INT16_MAX / 64;
  absl::InlinedVector<int16_t, 1024> counts(sums.size());
  absl::InlinedVector<int32_t, 1024> values;
  size_t room = kFull;
  const auto flush = [&] {
    for (size_t i = 0; i < sums.size(); ++i) sums[i] += counts[i];
    std::fill(counts.begin(), counts.end(), int16_t{0});
    room = kFull;
  };
  for (const Contribution& report : reports) {
    const std::string_view payload = report.payload;
    if (payload.size() == sums.size()) {  // so each takes one byte
      const auto* const bytes = reinterpret_cast<const uint8_t*>(payload.data());
      for (size_t i = 0; i < counts.size(); ++i) {
        counts[i] = static_cast<int16_t>(counts[i] + UnZigZag(bytes[i]));
      }
      if (--room == 0) flush();
      continue;
    }
    values.resize(sums.size());
    if (!DecodeIntegers(payload, absl::MakeSpan(values)).ok()) continue;
    for (size_t i = 0; i < sums.size(); ++i) sums[i] += values[i];
  }
  flush();
}

}  // namespace coppice
