#include "common/wire/message_reader.h"

#include <algorithm>
#include <limits>

#include "absl/base/casts.h"

namespace coppice {
namespace {

// The length of the UTF-8 character that `text` begins with; 0 if it begins with none.
size_t CharacterBytes(std::string_view text) {
  const auto at = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t first = at(0);
  if (first < 0x80) return 1;
  const size_t size = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < size) return 0;
  for (size_t i = 1; i < size; ++i) {
    if ((at(i) & 0xC0) != 0x80) return 0;
  }
  const bool too_long = (first == 0xE0 && at(1) < 0xA0) || (first == 0xF0 && at(1) < 0x90);
  const bool no_character = (first == 0xED && at(1) > 0x9F) || (first == 0xF4 && at(1) > 0x8F);
  return too_long || no_character ? 0 : size;
}

}  // namespace

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const size_t size = CharacterBytes(text);
    if (size == 0) return false;
    text.remove_prefix(size);
  }
  return true;
}

bool MessageReader::ReadVarint(uint64_t& value) {
  constexpr size_t kMaxBytes = 10;
  value = 0;
  for (size_t i = 0; i < left_.size() && i < kMaxBytes; ++i) {
    const auto byte = static_cast<uint8_t>(left_[i]);
    value |= static_cast<uint64_t>(byte & 0x7F) << (7 * i);  // what exceeds 64 bits is dropped
    if (byte < 0x80) {
      left_.remove_prefix(i + 1);
      return true;
    }
  }
  return false;
}

// A varint of at most 5 bytes, of which 32 bits count.
bool MessageReader::ReadTag(uint32_t& tag) {
  constexpr size_t kMaxBytes = 5;
  const size_t before = left_.size();
  uint64_t value = 0;
  if (!ReadVarint(value) || before - left_.size() > kMaxBytes) return false;
  tag = static_cast<uint32_t>(value);
  return true;
}

// Likewise, and below 2 GiB, less what protobuf keeps for itself.
bool MessageReader::ReadSize(uint32_t& size) {
  constexpr uint64_t kTooLarge = std::numeric_limits<int32_t>::max() - 16;
  constexpr size_t kMaxBytes = 5;
  const size_t before = left_.size();
  uint64_t value = 0;
  if (!ReadVarint(value) || before - left_.size() > kMaxBytes || value > kTooLarge) return false;
  size = static_cast<uint32_t>(value);
  return size <= left_.size();
}

bool MessageReader::ReadFixed(size_t bytes, uint64_t& value) {
  if (left_.size() < bytes) return false;
  value = 0;
  for (size_t i = 0; i < bytes; ++i) {
    value |= static_cast<uint64_t>(static_cast<uint8_t>(left_[i])) << (8 * i);
  }
  left_.remove_prefix(bytes);
  return true;
}

bool MessageReader::ReadValue(uint32_t wire_type) {
  type_ = static_cast<Type>(wire_type);
  switch (type_) {
    case Type::kVarint:
      return ReadVarint(number_);
    case Type::kFixed64:
      return ReadFixed(8, number_);
    case Type::kFixed32:
      return ReadFixed(4, number_);
    case Type::kBytes: {
      uint32_t size = 0;
      if (!ReadSize(size)) return false;
      bytes_ = left_.substr(0, size);
      left_.remove_prefix(size);
      return true;
    }
  }
  return false;  // a group, or no wire type
}

bool MessageReader::Next() {
  if (failed_ || left_.empty()) return false;
  uint32_t tag = 0;
  failed_ = !ReadTag(tag) || tag >> 3 == 0 || !ReadValue(tag & 7);
  field_ = tag >> 3;
  return !failed_;
}

bool MessageReader::Read(bool& value) const {
  if (type_ == Type::kVarint) value = number_ != 0;
  return type_ == Type::kVarint;
}

bool MessageReader::Read(uint64_t& value) const {
  if (type_ == Type::kVarint) value = number_;
  return type_ == Type::kVarint;
}

bool MessageReader::Read(uint32_t& value) const {
  if (type_ == Type::kVarint) value = static_cast<uint32_t>(number_);
  return type_ == Type::kVarint;
}

bool MessageReader::Read(int32_t& value) const {
  if (type_ == Type::kVarint) value = static_cast<int32_t>(number_);
  return type_ == Type::kVarint;
}

bool MessageReader::Read(int64_t& value) const {
  if (type_ == Type::kVarint) value = static_cast<int64_t>(number_);
  return type_ == Type::kVarint;
}

bool MessageReader::Read(double& value) const {
  if (type_ == Type::kFixed64) value = absl::bit_cast<double>(number_);
  return type_ == Type::kFixed64;
}

bool MessageReader::ReadBytes(std::string_view& value) const {
  if (type_ == Type::kBytes) value = bytes_;
  return type_ == Type::kBytes;
}

size_t MessageReader::CountNumbers(size_t width) const {
  if (type_ == (width > 0 ? Type::kFixed64 : Type::kVarint)) return 1;
  if (type_ != Type::kBytes) return 0;
  if (width > 0) return bytes_.size() / width;
  return static_cast<size_t>(std::count_if(
      bytes_.begin(), bytes_.end(), [](char byte) { return static_cast<uint8_t>(byte) < 0x80; }));
}

}  // namespace coppice
