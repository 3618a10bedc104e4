#include "common/ldp/integer_payload.h"

#include <cstddef>

#include "absl/strings/str_cat.h"

namespace coppice {
namespace {

constexpr int kMaxVarintBytes = 5;

uint32_t ZigZag(int32_t value) {
  return (static_cast<uint32_t>(value) << 1) ^ static_cast<uint32_t>(value >> 31);
}

int32_t UnZigZag(uint32_t code) {
  return static_cast<int32_t>(code >> 1) ^ -static_cast<int32_t>(code & 1);
}

absl::Status BadInteger(absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("the payload ", why));
}

}  // namespace

std::string EncodeIntegers(absl::Span<const int32_t> values) {
  std::string payload;
  payload.reserve(values.size() + values.size() / 8);
  for (const int32_t value : values) {
    uint32_t code = ZigZag(value);
    for (; code >= 0x80; code >>= 7) payload.push_back(static_cast<char>(code | 0x80));
    payload.push_back(static_cast<char>(code));
  }
  return payload;
}

absl::Status DecodeIntegers(absl::string_view payload, int64_t bound, absl::Span<int32_t> values) {
  const auto* next = reinterpret_cast<const uint8_t*>(payload.data());
  const uint8_t* const end = next + payload.size();
  for (int32_t& value : values) {
    if (next == end) return BadInteger("is too short");
    uint32_t code = *next++;
    if (code >= 0x80) [[unlikely]] {
      code &= 0x7f;
      int bytes = 1;
      uint8_t byte = 0x80;
      while (byte >= 0x80) {
        if (next == end) return BadInteger("is too short");
        if (bytes == kMaxVarintBytes) return BadInteger("holds an overlong integer");
        byte = *next++;
        code |= static_cast<uint32_t>(byte & 0x7f) << (7 * bytes++);
      }
      if (byte == 0 || (bytes == kMaxVarintBytes && byte > 0x0f)) {
        return BadInteger("holds an overlong integer");
      }
    }
    value = UnZigZag(code);
    if (value > bound || value < -bound) {
      return BadInteger("holds a value that no honest device sends");
    }
  }
  if (next != end) return BadInteger("is too long");
  return absl::OkStatus();
}

}  // namespace coppice
