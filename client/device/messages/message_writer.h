// Writes protobuf's wire format without protobuf: what SerializeAsString() gives for the same
// values, if fields are written in the order of their numbers.

#ifndef COPPICE_CLIENT_DEVICE_MESSAGES_MESSAGE_WRITER_H_
#define COPPICE_CLIENT_DEVICE_MESSAGES_MESSAGE_WRITER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace coppice {

// Threads    one at a time.
class MessageWriter {
 public:
  // A field that has its default value, 0 or empty, is left out, as proto3 does.
  void Number(uint32_t field, uint64_t value) {
    if (value == 0) return;
    Varint(field << 3);
    Varint(value);
  }
  void Bytes(uint32_t field, std::string_view value) {
    if (!value.empty()) Element(field, value);
  }
  // One element of a repeated field, or a message, which is written also if it is empty.
  void Element(uint32_t field, std::string_view value) {
    Varint(field << 3 | kBytesType);
    Varint(value.size());
    bytes_.append(value.data(), value.size());
  }

  std::string Finish() { return std::move(bytes_); }

 private:
  static constexpr uint32_t kBytesType = 2;

  void Varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_.push_back(static_cast<char>(value | 0x80));
    bytes_.push_back(static_cast<char>(value));
  }

  std::string bytes_;
};

}  // namespace coppice

#endif  // COPPICE_CLIENT_DEVICE_MESSAGES_MESSAGE_WRITER_H_
