// Writes protobuf's wire format without protobuf: the bytes of SerializeAsString() for the same
// values, if fields are written in the order of their numbers.

#ifndef COPPICE_COMMON_WIRE_MESSAGE_WRITER_H_
#define COPPICE_COMMON_WIRE_MESSAGE_WRITER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "absl/base/casts.h"

namespace coppice {

// Threads    not thread-safe.
class MessageWriter {
 public:
  // These leave out a field with its default value, 0 or empty, as proto3 does.
  void Number(uint32_t field, uint64_t value) {
    if (value == 0) return;
    Varint(field << 3);
    Varint(value);
  }
  void Double(uint32_t field, double value) {
    const auto bits = absl::bit_cast<uint64_t>(value);
    if (bits == 0) return;
    Varint(field << 3 | kFixed64Type);
    for (int shift = 0; shift < 64; shift += 8) bytes_.push_back(static_cast<char>(bits >> shift));
  }
  void Bytes(uint32_t field, std::string_view value) {
    if (!value.empty()) Element(field, value);
  }
  // One element of a repeated field, or a message: written even if it is empty.
  void Element(uint32_t field, std::string_view value) {
    Varint(field << 3 | kBytesType);
    Varint(value.size());
    bytes_.append(value.data(), value.size());
  }

  std::string Finish() { return std::move(bytes_); }

 private:
  static constexpr uint32_t kFixed64Type = 1;
  static constexpr uint32_t kBytesType = 2;

  void Varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_.push_back(static_cast<char>(value | 0x80));
    bytes_.push_back(static_cast<char>(value));
  }

  std::string bytes_;
};

}  // namespace coppice

#endif  // COPPICE_COMMON_WIRE_MESSAGE_WRITER_H_
